import { hkdfSync } from "node:crypto";

/** What a file is to WhatsApp, which goes into its keys and the path of its upload. */
export type MediaSort = "image" | "video" | "audio" | "document" | "sticker";

export type MediaKeys = {
  readonly iv: Uint8Array;
  readonly cipherKey: Uint8Array;
  readonly macKey: Uint8Array;
};

/** A file goes as AES-256-CBC with so much of an HMAC-SHA-256 over IV and ciphertext behind it. */
export const MAC_BYTES = 10;
export const CIPHER = "aes-256-cbc";
const BLOCK_BYTES = 16;

const NAMES: Readonly<Record<MediaSort, string>> = {
  image: "Image",
  sticker: "Image",
  video: "Video",
  audio: "Audio",
  document: "Document",
};

/** The keys of one file, of the 32 bytes that its message holds. */
export function mediaKeys(sort: MediaSort, mediaKey: Uint8Array): MediaKeys {
  const info = `WhatsApp ${NAMES[sort]} Keys`;
  const all = new Uint8Array(hkdfSync("sha256", mediaKey, new Uint8Array(32), info, 112));
  return { iv: all.subarray(0, 16), cipherKey: all.subarray(16, 48), macKey: all.subarray(48, 80) };
}

/** How many bytes go over the line for a file of so many. */
export function sealedBytes(bytes: number): number {
  return (Math.floor(bytes / BLOCK_BYTES) + 1) * BLOCK_BYTES + MAC_BYTES;
}
