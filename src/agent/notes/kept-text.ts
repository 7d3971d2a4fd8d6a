import { constants } from "node:fs";
import { open } from "node:fs/promises";

/** What was made of a text, and by what it is known that the file is the same. */
export type Kept<Made> = { readonly mark: string; readonly made: Made };

/**
 * What `make` makes of a text file, made anew only where the file has changed since `before`. At most `mostBytes` are read;
 * `make` is told how many there are. Undefined where there is no regular file, or a link; nothing is waited for.
 */
export async function readWhenChanged<Made>(
  path: string,
  before: Kept<Made> | undefined,
  mostBytes: number,
  make: (text: string, bytes: number) => Made,
): Promise<Kept<Made> | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const handle = await open(path, O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0)).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const found = await handle.stat({ bigint: true });
    if (!found.isFile()) return undefined;
    const mark = `${found.dev}.${found.ino}.${found.size}.${found.mtimeNs}.${found.ctimeNs}`;
    if (before?.mark === mark) return before;
    const head = Buffer.alloc(Math.min(Number(found.size), mostBytes));
    const { bytesRead } = await handle.read(head, 0, head.length, 0);
    // The last character may be half of one.
    const text = new TextDecoder().decode(head.subarray(0, bytesRead), { stream: true });
    return { mark, made: make(text, Number(found.size)) };
  } catch {
    return undefined;
  } finally {
    await handle.close();
  }
}
