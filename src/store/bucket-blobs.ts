import { stat } from "node:fs/promises";
import type { BlobRef } from "../core/blocks.ts";
import { FileBlobs, missing, type WrittenBlob } from "./blobs.ts";
import type { Bucket } from "./bucket.ts";

/** What a machine keeps of the bucket's media at hand, since they were last brought or put there. */
const KEPT_MS = 3 * 24 * 3_600_000;

/**
 * Blobs in a bucket that many machines share. The folder of this machine holds those that were used lately; what is put is
 * in the bucket before its reference is given.
 */
export class BucketBlobs extends FileBlobs {
  readonly #bucket: Bucket;

  constructor(folder: string, bucket: Bucket) {
    super(folder);
    this.#bucket = bucket;
  }

  override async write(source: AsyncIterable<Uint8Array>, capBytes: number): Promise<WrittenBlob> {
    const written = await super.write(source, capBytes);
    await this.#upload(written.ref);
    return written;
  }

  override async here(ref: BlobRef): Promise<string> {
    const path = this.pathOf(ref);
    if (await stat(path).catch(() => undefined)) return path;
    const bytes = await this.#bucket.get(keyOf(ref));
    if (!bytes) throw missing(ref, new Error("it is not in the bucket"));
    const brought = await super.write(bytes, Infinity);
    if (brought.ref === ref) return path;
    await super.remove(brought.ref);
    throw missing(ref, new Error("the bucket holds other bytes under it"));
  }

  override async share(ref: BlobRef): Promise<void> {
    if ((await this.#bucket.putAt(keyOf(ref))) === undefined) await this.#upload(ref);
  }

  override async remove(ref: BlobRef, before = Infinity): Promise<boolean> {
    const putAt = await this.#bucket.putAt(keyOf(ref));
    if (putAt === undefined || putAt >= before) return false;
    await super.remove(ref);
    await this.#bucket.remove(keyOf(ref));
    return true;
  }

  override async *olderThan(before: number, atOnce: number): AsyncIterable<readonly BlobRef[]> {
    for await (const page of this.#bucket.list()) {
      const old = page.flatMap(({ key, putAt }) => (putAt < before ? refOf(key) : []));
      for (let from = 0; from < old.length; from += atOnce) yield old.slice(from, from + atOnce);
    }
  }

  /** And what this machine has not used for days: it stays in the bucket. */
  override async sweep(before: number): Promise<number> {
    let removed = await super.sweep(before);
    // `before` is a day ago.
    for await (const old of super.olderThan(before - KEPT_MS, 100))
      for (const ref of old) removed += (await super.remove(ref, before - KEPT_MS)) ? 1 : 0;
    return removed;
  }

  async #upload(ref: BlobRef): Promise<void> {
    const path = this.pathOf(ref);
    const { size } = await stat(path);
    await this.#bucket.put(keyOf(ref), { path, bytes: size, sha256: ref.slice("sha256:".length) });
  }
}

function keyOf(ref: BlobRef): string {
  const digest = ref.slice("sha256:".length);
  return `${digest.slice(0, 2)}/${digest.slice(2)}`;
}

function refOf(key: string): readonly BlobRef[] {
  const digest = key.replace("/", "");
  return /^[0-9a-f]{64}$/.test(digest) ? [`sha256:${digest}`] : [];
}
