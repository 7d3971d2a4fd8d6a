import { createDecipheriv, createHash, createHmac, timingSafeEqual } from "node:crypto";
import { GatewayError } from "../../../../src/core/errors.ts";
import { CIPHER, MAC_BYTES, type MediaKeys, sealedBytes } from "./media-keys.ts";

/** What a file must turn out to be, as far as its message says so. */
export type Expected = {
  readonly bytes?: number;
  readonly sha256?: Uint8Array;
  readonly sealedSha256?: Uint8Array;
};

/** The shortest that can be a file: one block and what vouches for it. */
const LEAST_BYTES = sealedBytes(0);

/**
 * Opens a file as it comes over the line, in bounded memory. It is known to be the sender's at its end only: whoever
 * takes the bytes must drop them all when the last step throws, as the blob store does.
 * @throws GatewayError "media.too_large" as soon as more comes than was announced, "media.unavailable" for an empty
 * answer, "media.unreadable" for anything but what was sent. What the source throws.
 */
export async function* decrypted(
  source: AsyncIterable<Uint8Array>,
  { iv, cipherKey, macKey }: MediaKeys,
  expected: Expected,
): AsyncGenerator<Uint8Array> {
  const most = expected.bytes === undefined ? Infinity : sealedBytes(expected.bytes);
  const decipher = createDecipheriv(CIPHER, cipherKey, iv);
  const mac = createHmac("sha256", macKey).update(iv);
  const sealedHash = createHash("sha256");
  const hash = createHash("sha256");
  let came = 0;
  let bytes = 0;
  let tail: Uint8Array = Buffer.alloc(0); // the last bytes are the MAC, wherever chunks end
  for await (const chunk of source) {
    came += chunk.length;
    if (came > most) throw tooLarge(expected.bytes ?? 0);
    sealedHash.update(chunk);
    const all = Buffer.concat([tail, chunk]);
    const ciphertext = all.subarray(0, Math.max(0, all.length - MAC_BYTES));
    tail = all.subarray(ciphertext.length);
    mac.update(ciphertext);
    const plain = decipher.update(ciphertext);
    hash.update(plain);
    bytes += plain.length;
    if (plain.length > 0) yield plain;
  }
  if (came === 0) throw new GatewayError("media.unavailable", "WhatsApp gave an empty file; send it again");
  const vouched = mac.digest().subarray(0, MAC_BYTES);
  if (came < LEAST_BYTES || !same(vouched, tail)) throw unreadable("its authentication code");
  if (expected.sealedSha256 && !same(sealedHash.digest(), expected.sealedSha256))
    throw unreadable("the checksum of its encrypted form");
  const last = end(decipher);
  hash.update(last);
  bytes += last.length;
  if (expected.sha256 && !same(hash.digest(), expected.sha256)) throw unreadable("its checksum");
  if (expected.bytes !== undefined && bytes !== expected.bytes) throw unreadable("its length");
  if (last.length > 0) yield last;
}

function end(decipher: { final(): Buffer }): Uint8Array {
  try {
    return decipher.final();
  } catch {
    throw unreadable("its padding");
  }
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function unreadable(what: string): GatewayError {
  return new GatewayError(
    "media.unreadable",
    `what WhatsApp gave is not the file that was sent: ${what} differs; send it again`,
  );
}

function tooLarge(bytes: number): GatewayError {
  return new GatewayError(
    "media.too_large",
    `the file is larger than the ${bytes} bytes that its message announced; send it again`,
  );
}
