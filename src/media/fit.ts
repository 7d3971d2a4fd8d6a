import { extname } from "node:path";
import type { OutputInfo, Sharp } from "sharp";
import type { MediaBlock } from "../core/blocks.ts";
import type { ChannelLimits, MediaForm, Showing } from "../core/channel.ts";
import type { FileBlobs } from "../store/blobs.ts";
import { endingOf } from "./endings.ts";
import { readPicture } from "./pictures.ts";
import { loadSharp } from "./sharp.ts";
import type { File } from "./taken.ts";

/** A picture that is to be sent, and what the platform shows. */
export type FitJob = {
  readonly file: File;
  readonly shows: ChannelLimits["shows"];
  readonly imagePixels: number;
};

/** A medium as it goes out. */
export type Fitted = { readonly as: MediaForm; readonly media: MediaBlock };

/**
 * A picture in the best form that the platform has for it. What it shows goes as it is. What it would refuse for its
 * format is encoded anew at the same size, and a drawing rasterised; what it would refuse or shrink for its size, what
 * would lose pages or movement, and what cannot be decoded goes as a file, whole.
 */
export async function fitImage({ file, shows, imagePixels }: FitJob, blobs: FileBlobs): Promise<Fitted> {
  const path = blobs.pathOf(file.blob);
  try {
    const look = await lookAt(path, file.mimeType);
    if (!look) return asFile(file);
    const { width, height, frames } = look;
    const form = frames > 1 && MOVING.has(file.mimeType) ? "animation" : "image";
    const showing = shows[form];
    // A picture of more pixels than are decoded here is not put before people's programs either.
    if (!showing || !sidesFit(look, showing) || width * height > imagePixels) return asFile(file, look);
    const isKnown = showing.types.includes(file.mimeType) && (look.plain || showing.plain !== true);
    if (isKnown && file.bytes <= showing.bytes) return { as: form, media: block(file, look, "image") };
    const isWhole = frames === 1 || form === "animation";
    if (isKnown || !isWhole || width * height * frames > imagePixels) return asFile(file, look);
    return (await encoded(path, file, look, form, showing, blobs)) ?? asFile(file, look);
  } catch {
    return asFile(file);
  }
}

/** A file that is offered for download. */
export function asFile(file: File, sides: Partial<Sides> = {}): Fitted {
  return { as: "file", media: block(file, sides, "file") };
}

type Sides = { readonly width: number; readonly height: number };

type Look = Sides & {
  readonly frames: number;
  /** 8 bits a colour, and no CMYK. */
  readonly plain: boolean;
  /** Lines, letters or transparency, which JPEG would spoil. */
  readonly crisp: boolean;
};

/** Formats whose frames are a movement; those of others are pages. */
const MOVING: ReadonlySet<string> = new Set(["image/gif", "image/webp"]);
/** Formats whose header tells more than readPicture does of them. */
const WITH_HEADER: ReadonlySet<string> = new Set(
  ["avif", "gif", "jpeg", "png", "tiff", "webp"].map((type) => `image/${type}`),
);

/** What the header says, upright; undefined of a picture that is not read here. */
async function lookAt(path: string, mimeType: string): Promise<Look | undefined> {
  const picture = await readPicture(path, mimeType);
  if (!picture) return undefined;
  const { width, height, part, drawn } = picture;
  const own = { width, height, frames: part === undefined ? 1 : 2, plain: true, crisp: drawn };
  if (!WITH_HEADER.has(mimeType)) return own;
  const sharp = await loadSharp();
  const header = await sharp(path, { limitInputPixels: false }).metadata(); // the bound is held before decoding
  return {
    width: header.autoOrient.width,
    height: header.autoOrient.height,
    frames: header.pages ?? 1,
    plain: header.depth === "uchar" && header.space !== "cmyk",
    crisp: drawn || header.hasAlpha,
  };
}

function sidesFit({ width, height }: Sides, { sides, ratio }: Showing): boolean {
  if (ratio !== undefined && Math.max(width, height) > ratio * Math.min(width, height)) return false;
  return sides === undefined || width + height <= sides;
}

/** The picture in a format that is shown, if there is one in which it is not too large. */
async function encoded(
  path: string,
  file: File,
  look: Look,
  form: "image" | "animation",
  showing: Showing,
  blobs: FileBlobs,
): Promise<Fitted | undefined> {
  const open =
    form === "animation" ? await loadAll(path) : await (await readPicture(path, file.mimeType))?.load();
  const stills = look.crisp ? ["image/png", "image/jpeg"] : ["image/jpeg", "image/png"];
  for (const mimeType of form === "animation" ? ["image/gif"] : stills) {
    if (!open || !showing.types.includes(mimeType)) continue;
    const { data, info } = await into(open(), mimeType);
    if (data.length > showing.bytes) continue;
    const made = { ...file, mimeType, blob: await blobs.put(data), bytes: data.length };
    const sides = { width: info.width, height: info.pageHeight ?? info.height };
    return { as: form, media: block(renamed(made), sides, "image") };
  }
  return undefined;
}

async function loadAll(path: string): Promise<() => Sharp> {
  const sharp = await loadSharp();
  return () => sharp(path, { animated: true, failOn: "error", limitInputPixels: false }); // the bound is held
}

function into(picture: Sharp, mimeType: string): Promise<{ data: Uint8Array; info: OutputInfo }> {
  const inRgb = picture.toColourspace("srgb");
  const made =
    mimeType === "image/gif"
      ? inRgb.gif()
      : mimeType === "image/png"
        ? inRgb.png()
        : inRgb.flatten({ background: "#fff" }).jpeg({ quality: 92 });
  return made.toBuffer({ resolveWithObject: true });
}

function renamed(file: File): File {
  const { filename = "picture", mimeType } = file;
  return {
    ...file,
    filename: filename.slice(0, filename.length - extname(filename).length) + endingOf(mimeType),
  };
}

function block(
  { mimeType, blob, bytes, filename }: File,
  { width, height }: Partial<Sides>,
  type: MediaBlock["type"],
): MediaBlock {
  return {
    type,
    mimeType,
    blob,
    bytes,
    ...(filename === undefined ? {} : { filename }),
    ...(width === undefined ? {} : { width }),
    ...(height === undefined ? {} : { height }),
  };
}
