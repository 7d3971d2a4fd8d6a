import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError } from "../../src/core/errors.ts";

/** A file on its way in. Nothing of it counts until `keep`. */
export type Upload = {
  readonly bytes: number;
  readonly sha256: string;
  /** Durable under its final name when it resolves. */
  keep(ref: string): Promise<void>;
  discard(): Promise<void>;
};

const PART = ".part";

/** What people sent, one file each, in a private folder. A ref is a file's name: letters, digits, "_", "-", "." only. */
export class Uploads {
  readonly #folder: string;
  #count = 0;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async open(stateDir: string): Promise<Uploads> {
    const folder = join(stateDir, "uploads");
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // What a crash left half written belongs to nobody.
    for (const name of await readdir(folder))
      if (name.endsWith(PART)) await rm(join(folder, name), { force: true });
    return new Uploads(folder);
  }

  /** Writes to disk as it comes. Gives nothing, and leaves nothing, when there are more than `limit` bytes. */
  async write(source: AsyncIterable<Uint8Array>, limit: number): Promise<Upload | undefined> {
    this.#count += 1;
    const part = join(this.#folder, `${process.pid}-${this.#count}${PART}`);
    const hash = createHash("sha256");
    let bytes = 0;
    let whole = false;
    const file = await open(part, "wx", 0o600);
    try {
      for await (const chunk of source) {
        bytes += chunk.length;
        if (bytes > limit) return undefined;
        hash.update(chunk);
        await file.writeFile(chunk);
      }
      await file.sync();
      whole = true;
    } finally {
      await file.close();
      if (!whole) await rm(part, { force: true });
    }
    return {
      bytes,
      sha256: hash.digest("hex"),
      keep: async (ref) => {
        await rename(part, this.#path(ref));
        await syncFolder(this.#folder);
      },
      discard: () => rm(part, { force: true }),
    };
  }

  /** @throws GatewayError "media.unavailable". */
  async read(ref: string, signal?: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const path = this.#path(ref);
    try {
      await stat(path);
    } catch (cause) {
      throw new GatewayError("media.unavailable", "this upload is no longer on disk; please send it again", {
        cause,
      });
    }
    return createReadStream(path, signal ? { signal } : {});
  }

  #path(ref: string): string {
    if (!/^[\w-]+(?:\.[\w-]+)*$/.test(ref))
      throw new GatewayError("media.unavailable", "this is not the name of an upload; please send it again");
    return join(this.#folder, ref);
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
