import { createHash, randomUUID } from "node:crypto";
import { constants, createReadStream, renameSync, statSync, unlinkSync } from "node:fs";
import {
  chmod,
  copyFile,
  link,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Blobs } from "../core/agent.ts";
import type { BlobRef } from "../core/blocks.ts";
import type { BlobReader } from "../core/host.ts";
import { asError, GatewayError, systemCode } from "../core/errors.ts";
import { bytesWords } from "../core/words.ts";

/** What a stream became. `head` holds its first bytes, at most 4,100: enough for every signature that file-type knows. */
export type WrittenBlob = { readonly ref: BlobRef; readonly bytes: number; readonly head: Uint8Array };

const HEAD_BYTES = 4_100; // file-type: minimumBytes
/** How a blob, or a copy of one, is called until it is whole. */
const PARTIAL = ".partial-";

/**
 * Content-addressed media in a private folder: `<folder>/ab/cd…` named by SHA-256. A blob is written whole under
 * another name, synced, and only then given its own, so that what a reference names is always complete.
 */
export class FileBlobs implements Blobs, BlobReader {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async put(bytes: Uint8Array): Promise<BlobRef> {
    async function* once(): AsyncIterable<Uint8Array> {
      yield bytes;
    }
    return (await this.write(once(), Number.POSITIVE_INFINITY)).ref;
  }

  /**
   * Takes a stream in, hashing on the way; it is never in memory as a whole.
   * @throws GatewayError "media.too_large" when more than `capBytes` come; what was written is removed.
   */
  async write(source: AsyncIterable<Uint8Array>, capBytes: number): Promise<WrittenBlob> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const partial = join(this.#folder, `${PARTIAL}${randomUUID()}`);
    const file = await open(partial, "wx", 0o600);
    try {
      const hash = createHash("sha256");
      const head: Uint8Array[] = [];
      let bytes = 0;
      for await (const chunk of source) {
        if (bytes < HEAD_BYTES) head.push(chunk.slice(0, HEAD_BYTES - bytes));
        bytes += chunk.length;
        if (bytes > capBytes) throw tooLarge(bytes, capBytes);
        hash.update(chunk);
        await file.writeFile(chunk);
      }
      await file.sync();
      await file.close();
      const digest = hash.digest("hex");
      await this.#settle(partial, digest);
      return { ref: `sha256:${digest}`, bytes, head: Buffer.concat(head) };
    } catch (error) {
      await file.close().catch(() => {});
      await rm(partial, { force: true });
      throw error;
    }
  }

  /** A new private folder for work on a blob. Who asks removes it; where they are killed, `sweep` does. */
  async scratch(): Promise<string> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    return await mkdtemp(join(this.#folder, PARTIAL));
  }

  async read(ref: BlobRef): Promise<Uint8Array> {
    try {
      return await readFile(await this.here(ref));
    } catch (error) {
      throw missing(ref, error);
    }
  }

  async *open(ref: BlobRef): AsyncIterable<Uint8Array> {
    try {
      yield* createReadStream(await this.here(ref)) as AsyncIterable<Uint8Array>; // no encoding is set, so chunks are buffers
    } catch (error) {
      throw missing(ref, error);
    }
  }

  async #settle(partial: string, digest: string): Promise<void> {
    const target = this.#path(`sha256:${digest}`);
    await mkdir(join(target, ".."), { recursive: true, mode: 0o700 });
    const known = await stat(target).catch(() => undefined);
    await chmod(partial, 0o600);
    // Also in the place of the same bytes: they are as young as this from now on. At once, so that `remove` is before it or
    // behind it.
    renameSync(partial, target);
    if (known) return;
    // The name itself must survive a power cut, and that is the folder's data.
    const folder = await open(join(target, ".."), "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  /**
   * Copies a blob to `path`, which appears whole or not at all, with the time of now. Gives false, and leaves it, when
   * another file has the name; where the same bytes are there already, they are written anew.
   * @throws GatewayError "blob.missing".
   */
  async copyTo(ref: BlobRef, path: string): Promise<boolean> {
    const source = await this.here(ref);
    const there = await this.#compare(ref, path);
    if (there === "other") return false;
    const partial = join(dirname(path), `${PARTIAL}${randomUUID()}`);
    try {
      // No clone: on some systems that takes the time of the blob over, and a file that came just now would be old.
      await copyFile(source, partial, constants.COPYFILE_EXCL);
      await chmod(partial, 0o600);
      await syncFile(partial);
      if (there === "same") await rename(partial, path);
      else await link(partial, path); // unlike a rename, this never replaces what came there meanwhile
      return true;
    } catch (error) {
      if (systemCode(error) === "EEXIST") return (await this.#compare(ref, path)) === "same";
      throw (await stat(source).catch(() => undefined)) ? error : missing(ref, error);
    } finally {
      await rm(partial, { force: true });
    }
  }

  /** Whether a file at `path` has the bytes of a blob. A link or a folder there is something else. */
  async #compare(ref: BlobRef, path: string): Promise<"same" | "other" | "absent"> {
    const there = await lstat(path).catch((error: unknown) => {
      if (systemCode(error) === "ENOENT") return undefined;
      throw error;
    });
    if (there === undefined) return "absent";
    const blob = await stat(this.#path(ref)).catch((error: unknown) => {
      throw missing(ref, error);
    });
    if (!there.isFile() || there.size !== blob.size) return "other";
    const hash = createHash("sha256");
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    await pipeline(file.createReadStream(), hash); // closes it
    return `sha256:${hash.digest("hex")}` === ref ? "same" : "other";
  }

  /** Removes halves of blobs and scratch folders, whose maker was killed, that are older than `before` (epoch ms); gives how many. */
  async sweep(before: number): Promise<number> {
    let removed = 0;
    for (const name of await readdir(this.#folder).catch(() => [])) {
      if (!name.startsWith(PARTIAL)) continue;
      const path = join(this.#folder, name);
      const found = await stat(path).catch(() => undefined); // it may be whole by now
      if (found === undefined || found.mtimeMs >= before) continue;
      await rm(path, { recursive: true, force: true });
      removed += 1;
    }
    return removed;
  }

  /** Blobs that were put last before `before` (epoch ms), in lists of at most `atOnce`. */
  async *olderThan(before: number, atOnce: number): AsyncIterable<readonly BlobRef[]> {
    for (const start of await readdir(this.#folder).catch(() => [])) {
      if (!/^[0-9a-f]{2}$/.test(start)) continue;
      let old: BlobRef[] = [];
      for (const rest of await readdir(join(this.#folder, start))) {
        const found = await stat(join(this.#folder, start, rest)).catch(() => undefined); // it may be removed by now
        if (!found?.isFile() || found.mtimeMs >= before) continue;
        old.push(`sha256:${start}${rest}`);
        if (old.length < atOnce) continue;
        yield old;
        old = [];
      }
      if (old.length > 0) yield old;
    }
  }

  /** Removes a blob, unless it was put at `before` (epoch ms) or later; whether it is gone by that. */
  async remove(ref: BlobRef, before = Infinity): Promise<boolean> {
    const path = this.#path(ref);
    const aside = join(this.#folder, `${PARTIAL}${randomUUID()}`);
    try {
      // Nothing of this process is put between the look and the deed.
      if (statSync(path).mtimeMs >= before) return false;
      renameSync(path, aside);
      if (statSync(aside).mtimeMs >= before) {
        // Another process has put it right then.
        renameSync(aside, path);
        return false;
      }
      unlinkSync(aside);
      return true;
    } catch (error) {
      if (systemCode(error) === "ENOENT") return false;
      throw error;
    }
  }

  /**
   * Where a blob's bytes lie on this machine, brought there if need be. They must not be written to.
   * @throws GatewayError "blob.missing".
   */
  async here(ref: BlobRef): Promise<string> {
    return this.#path(ref);
  }

  /** Makes a blob that another process of this machine has put known wherever this one's are. */
  async share(_ref: BlobRef): Promise<void> {}

  /** As `here` of a blob that is on this machine already. */
  pathOf(ref: BlobRef): string {
    return this.#path(ref);
  }

  #path(ref: BlobRef): string {
    const digest = ref.slice("sha256:".length);
    if (!/^[0-9a-f]{64}$/.test(digest)) throw missing(ref, new Error("not a SHA-256 in hex"));
    return join(this.#folder, digest.slice(0, 2), digest.slice(2));
  }
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function tooLarge(bytes: number, capBytes: number): GatewayError {
  return new GatewayError(
    "media.too_large",
    `over ${bytesWords(capBytes)} (stopped after ${bytesWords(bytes)})`,
  );
}

export function missing(ref: string, cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause;
  return new GatewayError(
    "blob.missing",
    `the data folder holds no media under ${ref}: ${asError(cause).message}`,
    {
      cause,
    },
  );
}
