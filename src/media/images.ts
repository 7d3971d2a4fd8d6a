import type { Sharp } from "sharp";
import type { MediaBlock } from "../core/blocks.ts";
import type { FileBlobs } from "../store/blobs.ts";
import type { MediaLimits } from "./limits.ts";
import { formatName } from "./documents/formats.ts";
import { type Picture, readPicture } from "./pictures.ts";
import { withoutMetadata } from "./strip.ts";
import { type Fetched, type File, type Taken, unusable } from "./taken.ts";

export type ImageJob = { readonly fetched: Fetched; readonly limits: MediaLimits };

/** What providers take: 5 MB of base64 text and 8,000 pixels a side. */
const MODEL_BASE64_BYTES = 5_242_880;
const MODEL_BYTES = Math.floor(MODEL_BASE64_BYTES / 4) * 3;
const MODEL_SIDE = 8_000;

/**
 * A picture that every model takes: upright JPEG, PNG, WebP or still GIF in sRGB, without metadata, within 5 MB of
 * base64 and 8,000 pixels a side. What is one already keeps its image data byte for byte; everything else that decodes
 * is encoded anew, scaled down as far as it must be.
 */
export async function takeImage({ fetched, limits }: ImageJob, blobs: FileBlobs): Promise<Taken> {
  const { file, called } = fetched;
  let made: Made | undefined;
  try {
    const picture = await readPicture(blobs.pathOf(file.blob), file.mimeType);
    if (!picture)
      return unusable(called, "unsupported", "media.unsupported", { format: formatName(file.mimeType) });
    const { width, height } = picture;
    if (width * height > limits.imagePixels) {
      return unusable(called, "too_large", "media.too_many_pixels", {
        sides: `${width} × ${height}`,
        limit: limits.imagePixels / 1_000_000,
      });
    }
    made = await make(picture, file, blobs);
  } catch {
    return unusable(called, "unreadable", "media.broken");
  }
  const { data, ...of } = made;
  const block: MediaBlock = {
    type: "image",
    ...file,
    ...of,
    blob: await blobs.put(data),
    bytes: data.length,
  };
  return { blocks: [block], outcome: "seen" };
}

type Made = {
  readonly data: Uint8Array;
  readonly mimeType: string;
  readonly width: number;
  readonly height: number;
  readonly note?: string;
};

async function make(picture: Picture, file: File, blobs: FileBlobs): Promise<Made> {
  const open = await picture.load();
  const background = await backgroundOf(open); // decodes it all, whatever becomes of it
  const mimeType = file.mimeType === "image/apng" ? "image/png" : file.mimeType;
  if (
    picture.plain &&
    background === undefined &&
    longest(picture) <= MODEL_SIDE &&
    file.bytes < 2 * MODEL_BYTES
  ) {
    const data = withoutMetadata(await blobs.read(file.blob), mimeType);
    const { width, height, part } = picture;
    if (data && data.length <= MODEL_BYTES)
      return { data, mimeType, width, height, ...(part === undefined ? {} : { note: part }) };
  }
  const encoded = await encode(open, picture, background);
  const scaled = longest(encoded) < longest(picture);
  const notes = [
    picture.part,
    scaled ? `scaled down from ${picture.width} × ${picture.height}` : undefined,
    background === DARK ? "light on nothing, shown on a dark ground" : undefined,
  ].filter((note) => note !== undefined);
  return { ...encoded, ...(notes.length > 0 ? { note: notes.join("; ") } : {}) };
}

const LIGHT = "#ffffff";
const DARK = "#303030";
const GLANCE_SIDE = 64;

/**
 * What is put behind a picture that one can see through: white, unless what is in it is so light that it would be gone.
 * Undefined where nothing shows through.
 */
async function backgroundOf(open: () => Sharp): Promise<string | undefined> {
  const { data, info } = await open()
    .toColourspace("srgb")
    .resize({ width: GLANCE_SIDE, height: GLANCE_SIDE, fit: "inside", withoutEnlargement: true })
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { channels } = info;
  if (channels !== 2 && channels !== 4) return undefined;
  let [light, seen, clear] = [0, 0, false];
  for (let at = 0; at < data.length; at += channels) {
    const alpha = data[at + channels - 1] ?? 0;
    clear ||= alpha < 250;
    seen += alpha;
    for (let part = 0; part < channels - 1; part += 1)
      light += ((data[at + part] ?? 0) * alpha) / (channels - 1);
  }
  if (!clear) return undefined;
  return seen > 0 && light / seen > 215 ? DARK : LIGHT;
}

const QUALITY = 85;
const ENCODED_PIXELS = 16_000_000; // of a photograph no more than these are within the bytes, and they cost memory
const PNG_TRIED_BELOW_PIXELS = 8_000_000; // it takes long, and a drawing of this size is a photograph after all

async function encode(open: () => Sharp, picture: Picture, background: string | undefined): Promise<Made> {
  const most = Math.sqrt(ENCODED_PIXELS / (picture.width * picture.height));
  let side = Math.floor(Math.min(MODEL_SIDE, longest(picture) * Math.min(1, most)));
  for (;;) {
    const at = (): Sharp => {
      const fitted = open().resize({ width: side, height: side, fit: "inside", withoutEnlargement: true });
      return (background === undefined ? fitted : fitted.flatten({ background })).toColourspace("srgb");
    };
    const jpeg = await at()
      .jpeg({ quality: QUALITY, chromaSubsampling: picture.drawn ? "4:4:4" : "4:2:0" })
      .toBuffer({ resolveWithObject: true });
    let best = { data: jpeg.data, mimeType: "image/jpeg" };
    const { width, height } = jpeg.info;
    if (picture.drawn && width * height < PNG_TRIED_BELOW_PIXELS) {
      const data = await at().removeAlpha().png({ compressionLevel: 9 }).toBuffer();
      if (data.length < best.data.length) best = { data, mimeType: "image/png" };
    }
    if (best.data.length <= MODEL_BYTES) return { ...best, width, height };
    side = Math.floor(side * Math.min(0.9, Math.sqrt(MODEL_BYTES / best.data.length)));
  }
}

function longest({ width, height }: { readonly width: number; readonly height: number }): number {
  return Math.max(width, height);
}
