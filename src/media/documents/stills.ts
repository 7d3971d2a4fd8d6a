import type { Sharp } from "sharp";
import type { Still } from "../../core/blocks.ts";
import type { FileBlobs } from "../../store/blobs.ts";
import { loadSharp } from "../sharp.ts";

/** Providers scale what is longer down to about this themselves. */
export const STILL_SIDE = 2_048;

/** A picture out of a document; undefined where it does not decode, or has more pixels than may be decoded. */
export async function stillOf(
  bytes: Uint8Array,
  label: string,
  mostPixels: number,
  blobs: FileBlobs,
): Promise<Still | undefined> {
  const sharp = await loadSharp();
  try {
    const image = sharp(bytes, { limitInputPixels: mostPixels })
      .autoOrient()
      .flatten({ background: "#fff" })
      .resize({ width: STILL_SIDE, height: STILL_SIDE, fit: "inside", withoutEnlargement: true });
    return await keepStill(image, label, blobs);
  } catch {
    return undefined;
  }
}

export async function keepStill(image: Sharp, label: string, blobs: FileBlobs): Promise<Still> {
  const { data, info } = await image
    .toColourspace("srgb")
    .jpeg({ quality: 85 })
    .toBuffer({ resolveWithObject: true });
  return { blob: await blobs.put(data), bytes: data.length, width: info.width, height: info.height, label };
}
