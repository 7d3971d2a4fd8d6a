import type { MediaKind } from "../core/blocks.ts";
import { sniff } from "./sniff.ts";

/** What bytes that go out are: type and kind by signature, and the sides of a picture in pixels where they are known. */
export type Described = {
  readonly mimeType: string;
  readonly kind: MediaKind;
  readonly width?: number;
  readonly height?: number;
};

const HEAD_BYTES = 4_100; // file-type: minimumBytes

export async function describe(bytes: Uint8Array, filename: string): Promise<Described> {
  const found = await sniff(bytes.subarray(0, HEAD_BYTES), { filename, bytes: bytes.length });
  if (found.kind !== "image") return found;
  const { default: sharp } = await import("sharp");
  try {
    const { width, height } = await sharp(bytes).metadata();
    return { ...found, width, height };
  } catch {
    return { ...found, kind: "file" }; // what does not decode is sent as the file that it is
  }
}
