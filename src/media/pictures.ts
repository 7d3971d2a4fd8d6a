import { open, readFile } from "node:fs/promises";
import type { Sharp } from "sharp";
import { type Bitmap, readBmp, readIcon } from "./dib.ts";
import { loadSharp } from "./sharp.ts";
import { pngFrames } from "./strip.ts";

/** A picture whose header was read and of which nothing is decoded yet. */
export type Picture = {
  /** As it declares them, before it is turned upright. */
  readonly width: number;
  readonly height: number;
  /** Which of how many it is, in words for the model; undefined where it is the only one. */
  readonly part: string | undefined;
  /** Lines and letters rather than a photograph: every edge counts. */
  readonly drawn: boolean;
  /** What models take as it stands, but for its size: JPEG, PNG, WebP or GIF, upright, 8 bits, RGB or grey. */
  readonly plain: boolean;
  /** Decodes it, upright, once for each call of what it gives. */
  load(): Promise<() => Sharp>;
};

/** Undefined where pictures of this kind are not read. @throws Error where this one is broken. */
export async function readPicture(path: string, mimeType: string): Promise<Picture | undefined> {
  switch (mimeType) {
    case "image/jpeg":
    case "image/png":
    case "image/apng":
    case "image/webp":
    case "image/gif":
    case "image/tiff":
    case "image/avif":
      return await bySharp(path, mimeType);
    case "image/svg+xml":
      return await bySvg(await readFile(path));
    case "image/heic":
      return await byHeic(await readFile(path));
    case "image/bmp":
      return byBitmap(readBmp(await readFile(path)));
    case "image/x-icon":
      return await byIcon(await readFile(path));
    default:
      return undefined;
  }
}

const TAKEN_BY_MODELS = new Set<string | undefined>(["jpeg", "png", "webp", "gif"]);
const DRAWN = new Set<string | undefined>(["png", "gif", "tiff", "svg"]);
// A drawing without a size of its own is small; letters in it are to be read.
const DRAWN_SIDE = 1_024;
const DPI = 72; // librsvg: a pixel for each unit
const MOST_DPI = 100_000; // sharp: density

/** `source` is a path, so that a large file is not in memory as well, or bytes that are there anyway. */
async function bySharp(source: string | Uint8Array, mimeType: string): Promise<Picture> {
  const sharp = await loadSharp();
  const { format, width, height, orientation, pages, space, depth } = await sharp(source, {
    limitInputPixels: false, // the bound on pixels is ours to tell, with the numbers
  }).metadata();
  const head = await headOf(source);
  const frames = mimeType === "image/apng" ? pngFrames(head) : (pages ?? 1);
  const plainPixels = depth === "uchar" && (space === "srgb" || space === "b-w");
  // An animated WebP cannot be cut down to a still one without being encoded anew.
  const single = frames === 1 || format === "png" || format === "gif";
  return {
    width,
    height,
    part: frames > 1 ? `first of ${frames} ${format === "tiff" ? "pages" : "frames"}` : undefined,
    drawn: DRAWN.has(format),
    plain:
      TAKEN_BY_MODELS.has(format) &&
      (orientation ?? 1) === 1 &&
      plainPixels &&
      single &&
      !(format === "gif" && isOnOtherScreen(head, width, height)),
    async load() {
      const ended = format === "jpeg" ? await withEnd(source) : undefined;
      if (ended) return () => sharp(ended, { ...STRICT, failOn: "warning" }).autoOrient();
      return () => sharp(source, { ...STRICT, pages: 1 }).autoOrient();
    },
  };
}

/** Readers differ in whether a GIF is as large as its screen or as its picture: the bounds hold for both. */
function isOnOtherScreen(head: Uint8Array, width: number, height: number): boolean {
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  return view.getUint16(6, true) !== width || view.getUint16(8, true) !== height;
}

const [START_OF_SCAN, END_OF_IMAGE] = [Buffer.from([0xff, 0xda]), Buffer.from([0xff, 0xd9])];

/**
 * A JPEG with the end mark that cameras leave out: whether all that comes before it is there shows when it is decoded.
 * Undefined where there is one.
 */
async function withEnd(source: string | Uint8Array): Promise<Uint8Array | undefined> {
  const bytes = typeof source === "string" ? await readFile(source) : Buffer.from(source);
  // In the data of a scan neither can stand; an end before its start is that of a thumbnail.
  if (bytes.lastIndexOf(END_OF_IMAGE) > bytes.lastIndexOf(START_OF_SCAN)) return undefined;
  return Buffer.concat([bytes, END_OF_IMAGE]);
}

// The bound on pixels was held before; a truncated file must be found here and not at the provider.
const STRICT = { limitInputPixels: false, failOn: "error", sequentialRead: true } as const;

const HEAD_BYTES = 65_536;

async function headOf(source: string | Uint8Array): Promise<Uint8Array> {
  if (typeof source !== "string") return source;
  const file = await open(source);
  try {
    const { buffer, bytesRead } = await file.read(new Uint8Array(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** From bytes: a drawing that has no path of its own has no files beside it that it could name. */
async function bySvg(bytes: Uint8Array): Promise<Picture> {
  const sharp = await loadSharp();
  const { width, height } = await sharp(bytes, { limitInputPixels: false }).metadata();
  const scale = Math.max(1, DRAWN_SIDE / Math.max(width, height));
  const density = Math.min(DPI * scale, MOST_DPI);
  return {
    width: Math.round((width * density) / DPI),
    height: Math.round((height * density) / DPI),
    part: undefined,
    drawn: true,
    plain: false,
    load: async () => () => sharp(bytes, { ...STRICT, density }),
  };
}

// heic-decode knows these brands; others are the same container with several layers.
const HEIC_BRANDS = new Set(["mif1", "msf1", "heic", "heix", "hevc", "hevx"]);

async function byHeic(bytes: Uint8Array): Promise<Picture> {
  const { default: decode } = await import("heic-decode");
  const sharp = await loadSharp();
  const buffer = new Uint8Array(bytes);
  if (!HEIC_BRANDS.has(Buffer.from(buffer.subarray(8, 12)).toString("latin1")))
    buffer.set(Buffer.from("heic"), 8);
  // Its types leave out what a container that was only read has.
  const images = (await decode.all({ buffer })) as unknown as HeicImages;
  const [image] = images;
  images.dispose();
  if (!image) throw new Error("the container holds no picture");
  const { width, height } = image;
  return {
    width,
    height,
    part: images.length > 1 ? `first of ${images.length} pictures` : undefined,
    drawn: false,
    plain: false,
    async load() {
      // libheif turns it upright; what EXIF says of that is for programs that do not.
      const { data } = await decode({ buffer });
      return () => sharp(data, { raw: { width, height, channels: 4 } });
    },
  };
}

type HeicImages = readonly { readonly width: number; readonly height: number }[] & { dispose(): void };

async function byIcon(bytes: Uint8Array): Promise<Picture | undefined> {
  const icon = readIcon(bytes);
  if (!icon) throw new Error("the icon holds no picture");
  const { picture, of } = icon;
  const found = picture instanceof Uint8Array ? await bySharp(picture, "image/png") : byBitmap(picture);
  return found && { ...found, plain: false, part: of > 1 ? `largest of ${of} pictures` : undefined };
}

function byBitmap(bitmap: Bitmap | undefined): Picture | undefined {
  if (!bitmap) return undefined;
  const { width, height } = bitmap;
  return {
    width,
    height,
    part: undefined,
    drawn: true,
    plain: false,
    async load() {
      const sharp = await loadSharp();
      const data = bitmap.decode();
      return () => sharp(data, { raw: { width, height, channels: 4 } });
    },
  };
}
