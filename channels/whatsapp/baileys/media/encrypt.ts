import { createCipheriv, createHash, createHmac } from "node:crypto";
import { CIPHER, MAC_BYTES, type MediaKeys, sealedBytes } from "./media-keys.ts";

/** What a message says of its file, so that whoever gets it can tell that it is whole. */
export type Measured = {
  readonly bytes: number;
  readonly sealedBytes: number;
  readonly sha256: Uint8Array;
  readonly sealedSha256: Uint8Array;
};

/** A file as it goes over the line: the same bytes each time for the same keys. In bounded memory. */
export async function* encrypted(
  source: AsyncIterable<Uint8Array>,
  { iv, cipherKey, macKey }: MediaKeys,
): AsyncGenerator<Uint8Array> {
  const cipher = createCipheriv(CIPHER, cipherKey, iv);
  const mac = createHmac("sha256", macKey).update(iv);
  for await (const chunk of source) {
    const sealed = cipher.update(chunk);
    mac.update(sealed);
    if (sealed.length > 0) yield sealed;
  }
  const last = cipher.final();
  yield Buffer.concat([last, mac.update(last).digest().subarray(0, MAC_BYTES)]);
}

/** Reads a file through once: its address at the servers is the hash of what is only then sent. */
export async function measure(source: AsyncIterable<Uint8Array>, keys: MediaKeys): Promise<Measured> {
  const hash = createHash("sha256");
  const sealedHash = createHash("sha256");
  let bytes = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  }
  for await (const sealed of encrypted(counted(), keys)) sealedHash.update(sealed);
  return {
    bytes,
    sealedBytes: sealedBytes(bytes),
    sha256: hash.digest(),
    sealedSha256: sealedHash.digest(),
  };
}
