import type { MediaBlock } from "../core/blocks.ts";
import { GatewayError } from "../core/errors.ts";
import type { FileBlobs } from "../store/blobs.ts";
import type { Fetched } from "./taken.ts";

// Anthropic and OpenAI refuse images above 5 MB of base64 text and above 8,000 px a side.
const MODEL_BASE64_BYTES = 5_242_880;
const MODEL_SIDE = 8_000;
const MODEL_BYTES = Math.floor(MODEL_BASE64_BYTES / 4) * 3;
// What a re-encoded picture is scaled to: providers scale down to about this themselves.
const FITTED_SIDE = 2_048;
/** Pixels that a picture may declare before anything is decoded: 50 megapixels. */
const MOST_PIXELS = 50_000_000;

const AS_IT_IS = new Set(["image/jpeg", "image/png", "image/webp"]);

/**
 * A picture that every model takes: upright JPEG, PNG or WebP within 5 MB of base64 and 8,000 px a side. What fits is
 * left as it is; what does not is scaled down and encoded anew; the first frame stands for an animation.
 * @throws GatewayError "media.unreadable" for what does not decode, "media.too_large" for a declared size that is a trap.
 */
export async function takeImage(fetched: Fetched, blobs: FileBlobs): Promise<MediaBlock> {
  const { default: sharp } = await import("sharp");
  const bytes = await blobs.read(fetched.blob);
  const open = () => sharp(bytes, { limitInputPixels: MOST_PIXELS, failOn: "error", pages: 1 });
  try {
    // The header alone: the bound on pixels is ours to tell, with the numbers.
    const { width, height, orientation, pages } = await sharp(bytes, { limitInputPixels: false }).metadata();
    if (width * height > MOST_PIXELS) {
      throw new GatewayError(
        "media.too_large",
        `${width} × ${height} pixels, over ${MOST_PIXELS / 1e6} megapixels`,
      );
    }
    const upright = (orientation ?? 1) === 1;
    const fits = fetched.bytes <= MODEL_BYTES && Math.max(width, height) <= MODEL_SIDE;
    if (upright && fits && (pages ?? 1) === 1 && AS_IT_IS.has(fetched.mimeType)) {
      await open().stats(); // decodes it: a truncated file must be found here and not at the provider
      return { type: "image", ...fetched, width, height };
    }
    const { data, info } = await open()
      .autoOrient()
      .flatten({ background: "#fff" })
      .resize({ width: FITTED_SIDE, height: FITTED_SIDE, fit: "inside", withoutEnlargement: true })
      .toColourspace("srgb")
      .jpeg({ quality: 85 })
      .toBuffer({ resolveWithObject: true });
    return {
      type: "image",
      ...fetched,
      mimeType: "image/jpeg",
      blob: await blobs.put(data),
      bytes: data.length,
      width: info.width,
      height: info.height,
    };
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError("media.unreadable", "the picture does not decode", { cause });
  }
}
