import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Blobs } from "../core/agent.ts";
import type { BlobRef } from "../core/blocks.ts";
import type { BlobReader } from "../core/channel.ts";
import { asError, GatewayError } from "../core/errors.ts";

/** What a stream became. `head` holds its first bytes, at most 4,100: enough for every signature that file-type knows. */
export type WrittenBlob = { readonly ref: BlobRef; readonly bytes: number; readonly head: Uint8Array };

const HEAD_BYTES = 4_100; // file-type: minimumBytes

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
    const partial = join(this.#folder, `partial-${randomUUID()}`);
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

  async read(ref: BlobRef): Promise<Uint8Array> {
    try {
      return await readFile(this.#path(ref));
    } catch (error) {
      throw missing(ref, error);
    }
  }

  async *open(ref: BlobRef): AsyncIterable<Uint8Array> {
    try {
      yield* createReadStream(this.#path(ref)) as AsyncIterable<Uint8Array>; // no encoding is set, so chunks are buffers
    } catch (error) {
      throw missing(ref, error);
    }
  }

  async #settle(partial: string, digest: string): Promise<void> {
    const target = this.#path(`sha256:${digest}`);
    await mkdir(join(target, ".."), { recursive: true, mode: 0o700 });
    if (await stat(target).catch(() => undefined)) {
      await rm(partial);
      return;
    }
    await chmod(partial, 0o600);
    await rename(partial, target);
    // The name itself must survive a power cut, and that is the folder's data.
    const folder = await open(join(target, ".."), "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  #path(ref: BlobRef): string {
    const digest = ref.slice("sha256:".length);
    if (!/^[0-9a-f]{64}$/.test(digest)) throw missing(ref, new Error("not a SHA-256 in hex"));
    return join(this.#folder, digest.slice(0, 2), digest.slice(2));
  }
}

function tooLarge(bytes: number, capBytes: number): GatewayError {
  return new GatewayError(
    "media.too_large",
    `over ${megabytes(capBytes)} (stopped after ${megabytes(bytes)})`,
  );
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MB`;
}

function missing(ref: string, cause: unknown): GatewayError {
  return new GatewayError(
    "blob.missing",
    `the data folder holds no media under ${ref}: ${asError(cause).message}`,
    {
      cause,
    },
  );
}
