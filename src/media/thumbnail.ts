import type { Sharp } from "sharp";
import type { FileBlobs } from "../store/blobs.ts";
import { ffmpeg, probe } from "./ffmpeg.ts";
import { readPicture } from "./pictures.ts";
import { PpmReader } from "./ppm.ts";
import { loadSharp } from "./sharp.ts";
import type { File } from "./taken.ts";

/** Makes a small JPEG of a picture, or of the beginning of a video. */
export type ThumbnailJob = {
  readonly file: File;
  /** Pixels that its longest side has at most. */
  readonly side: number;
  /** Without it nothing is made of videos. */
  readonly ffmpeg: string | undefined;
  readonly imagePixels: number;
};

/** `jpeg` in base64, for it is kept nowhere; sides of the original in pixels, as one sees them. */
export type SmallPicture = {
  readonly jpeg: string;
  readonly width: number;
  readonly height: number;
  /** Of a video that says how long it is. */
  readonly seconds?: number;
};

const QUALITY = 70;
const CPU_SECONDS = 5;

/** Undefined of what is neither, or too large to be looked at. @throws Error where it is broken. */
export async function makeThumbnail(job: ThumbnailJob, blobs: FileBlobs): Promise<SmallPicture | undefined> {
  const path = blobs.pathOf(job.file.blob);
  return job.file.mimeType.startsWith("video/") ? await ofVideo(job, path) : await ofPicture(job, path);
}

async function ofPicture(
  { file, side, imagePixels }: ThumbnailJob,
  path: string,
): Promise<SmallPicture | undefined> {
  const picture = await readPicture(path, file.mimeType);
  if (!picture || picture.width * picture.height > imagePixels) return undefined;
  const open = await picture.load();
  const { autoOrient } = await open().metadata();
  return { jpeg: await small(open(), side), width: autoOrient.width, height: autoOrient.height };
}

async function ofVideo(
  { side, ffmpeg: program, imagePixels }: ThumbnailJob,
  path: string,
): Promise<SmallPicture | undefined> {
  if (program === undefined) return undefined;
  const { sides, seconds } = await probe(program, path, CPU_SECONDS);
  if (!sides || sides.width * sides.height > imagePixels) return undefined;
  const reader = new PpmReader();
  const frames: { readonly jpeg: string; readonly lies: boolean }[] = [];
  await ffmpeg({
    program,
    path,
    cpuSeconds: CPU_SECONDS,
    output: "-loglevel error -map 0:V:0 -frames:v 1 -c:v ppm -f image2pipe".split(" "),
    async take(chunk) {
      for (const { data, width, height } of reader.push(chunk)) {
        const sharp = await loadSharp();
        const raw = sharp(data, { raw: { width, height, channels: 3 } });
        frames.push({ jpeg: await small(raw, side), lies: width > height });
      }
      return frames.length === 0;
    },
  });
  const [first] = frames;
  if (!first) return undefined;
  // A phone held upright writes a lying picture and a mark to turn it, which ffmpeg has done with the frame.
  const turned = first.lies !== sides.width > sides.height;
  const seen = turned ? { width: sides.height, height: sides.width } : sides;
  return { jpeg: first.jpeg, ...seen, ...(seconds === undefined ? {} : { seconds }) };
}

async function small(picture: Sharp, side: number): Promise<string> {
  const jpeg = await picture
    .resize({ width: side, height: side, fit: "inside", withoutEnlargement: true })
    .toColourspace("srgb")
    .flatten({ background: "#fff" })
    .jpeg({ quality: QUALITY })
    .toBuffer();
  return jpeg.toString("base64");
}
