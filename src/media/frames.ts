import type { Still } from "../core/blocks.ts";
import type { FileBlobs } from "../store/blobs.ts";
import { ffmpeg, probe } from "./ffmpeg.ts";
import { PpmReader, type RawPicture } from "./ppm.ts";
import type { MediaPart } from "./part.ts";
import type { File } from "./taken.ts";

/** Takes pictures out of a video, spread over its length. */
export type FramesJob = {
  readonly file: File;
  readonly ffmpeg: string;
  /** Without it only what the file says of itself is read. */
  readonly stills: boolean;
  readonly part?: MediaPart;
};

export type Frames =
  | {
      readonly is: "video";
      readonly seconds?: number;
      readonly width: number;
      readonly height: number;
      readonly stills: readonly Still[];
      /** What of it the stills show, where that is not all of it or not at the usual pace. */
      readonly note?: string;
      readonly sound: boolean;
    }
  /** No moving picture in it. */
  | { readonly is: "sound" }
  | { readonly is: "too_large"; readonly width: number; readonly height: number; readonly limit: number }
  | { readonly is: "broken" };

const LONGEST_SIDE = 4_096;
const CPU_SECONDS = 10; // of decoding, in all
const MOST_STILLS = 64;
const STILLS_BYTES = 4_000_000;
/** Half a frame a second; longer videos are gone through in larger steps, the shortest have a middle. */
const STEP_SECONDS = 2;
const FIT = "scale='min(1920,iw)':'min(1080,ih)':force_original_aspect_ratio=decrease";
/** Fewer key frames than this are no picture of a long video: it is then decoded as far as there is time. */
const FEW = 8;

export async function takeFrames(job: FramesJob, blobs: FileBlobs): Promise<Frames> {
  const path = blobs.pathOf(job.file.blob);
  const { seconds, sides, sound } = await probe(job.ffmpeg, path, CPU_SECONDS);
  if (!sides) return { is: sound ? "sound" : "broken" };
  const { width, height } = sides;
  if (Math.max(width, height) > LONGEST_SIDE) return { is: "too_large", width, height, limit: LONGEST_SIDE };
  const known = { is: "video", ...(seconds === undefined ? {} : { seconds }), width, height, sound } as const;
  if (!job.stills) return { ...known, stills: [] };
  const { part } = job;
  const length = lengthOf(seconds, part);
  const step = stepOf(length);
  const long = step > STEP_SECONDS;
  const of = { step, seconds: length, ...(part === undefined ? {} : { part }) };
  // Only key frames of a long one: there is no time for more.
  const quick = long ? await sample(job.ffmpeg, path, of, CPU_SECONDS, ["-skip_frame", "nokey"]) : NONE;
  const left = CPU_SECONDS - Math.ceil(quick.cpuSeconds);
  const { taken } =
    quick.taken.length >= FEW || left < 1 ? quick : await sample(job.ffmpeg, path, of, left, []);
  if (taken.length === 0) return sound ? { ...known, stills: [] } : { is: "broken" };
  const stills: Still[] = [];
  for (const { at, jpeg, ...size } of taken) {
    stills.push({ blob: await blobs.put(jpeg), bytes: jpeg.length, ...size, label: markOf(at) });
  }
  const note =
    part === undefined
      ? noteOf(taken.length, taken.at(-1)?.at ?? 0, step, seconds)
      : `${framesIn(taken.length)}, from ${markOf(part.from)} on alone`;
  return { ...known, ...turned(sides, stills), stills, ...(note === undefined ? {} : { note }) };
}

/** How much of it is gone through. */
function lengthOf(seconds: number | undefined, part: MediaPart | undefined): number | undefined {
  if (part === undefined) return seconds;
  const rest = seconds === undefined ? undefined : Math.max(0, seconds - part.from);
  return rest === undefined ? part.count : Math.min(part.count ?? rest, rest);
}

function stepOf(seconds: number | undefined): number {
  if (seconds === undefined || seconds <= 0) return STEP_SECONDS;
  return Math.max(Math.min(STEP_SECONDS, seconds / 2), seconds / MOST_STILLS);
}

type Taken = {
  readonly at: number;
  readonly jpeg: Uint8Array;
  readonly width: number;
  readonly height: number;
};

type Sample = { readonly taken: readonly Taken[]; readonly cpuSeconds: number };

const NONE: Sample = { taken: [], cpuSeconds: 0 };

async function sample(
  program: string,
  path: string,
  {
    step,
    seconds,
    part,
  }: { readonly step: number; readonly seconds: number | undefined; readonly part?: MediaPart },
  cpuSeconds: number,
  input: readonly string[],
): Promise<Sample> {
  // What ffmpeg says of the pictures and the pictures themselves come by ways of their own, each in order.
  const times: number[] = [];
  const jpegs: (Omit<Taken, "at"> | undefined)[] = [];
  const reader = new PpmReader();
  const room = { bytes: STILLS_BYTES, size: 0 };
  let left = seconds === undefined ? MOST_STILLS : Math.min(MOST_STILLS, Math.ceil(seconds / step) + 1);
  let used = cpuSeconds; // one that was ended may not say what it has used
  await ffmpeg({
    program,
    path,
    input: ["-benchmark", ...input, ...cutOf(part)],
    cpuSeconds,
    output: [
      ...`-map 0:V:0 -frames:v ${MOST_STILLS} -r 1 -c:v ppm -f image2pipe -vf`.split(" "),
      // What is chosen is counted in whole seconds behind, so that every version of ffmpeg puts out each just once.
      `select='isnan(prev_selected_t)+gte(t-prev_selected_t,${step.toFixed(3)})',showinfo,${FIT},settb=1/1000,setpts=N*1000`,
    ],
    told(line) {
      const at = /^\[\w*showinfo\w* @ \S+\] n: *\d+ .*?\bpts_time:(-?[\d.]+)/.exec(line);
      if (at) times.push(Math.max(0, Number(at[1])));
      const bench = /^bench: utime=([\d.]+)s stime=([\d.]+)s/.exec(line);
      if (bench) used = Number(bench[1]) + Number(bench[2]);
    },
    async take(chunk) {
      for (const picture of reader.push(chunk)) {
        jpegs.push(await fitted(picture, room, Math.max(left, 1)));
        left -= 1;
      }
      return true;
    },
  });
  const taken = jpegs.flatMap((jpeg, index) => {
    const at = times[index];
    // Behind a place that was looked for, ffmpeg counts from there.
    return jpeg === undefined || at === undefined ? [] : [{ ...jpeg, at: at + (part?.from ?? 0) }];
  });
  return { taken, cpuSeconds: used };
}

/** Options of an input of which a part is read. */
function cutOf(part: MediaPart | undefined): readonly string[] {
  if (part === undefined) return [];
  return ["-ss", String(part.from), ...(part.count === undefined ? [] : ["-t", String(part.count)])];
}

const QUALITY = 85;
/** The longest side of a picture, from the usual to the least that shows anything. */
const SIDES = [1_920, 1_280, 960, 640, 480, 320] as const;

/** A JPEG in its share of the room; undefined where even the smallest is larger. */
async function fitted(
  { data, width, height }: RawPicture,
  room: { bytes: number; size: number },
  left: number,
): Promise<Omit<Taken, "at"> | undefined> {
  const { default: sharp } = await import("sharp");
  for (; room.size < SIDES.length; room.size += 1) {
    const side = SIDES[room.size] as number; // within the list
    const made = await sharp(data, { raw: { width, height, channels: 3 } })
      .resize({ width: side, height: side, fit: "inside", withoutEnlargement: true })
      .jpeg({ quality: QUALITY })
      .toBuffer({ resolveWithObject: true });
    if (made.data.length > room.bytes / left) continue;
    room.bytes -= made.data.length;
    return { jpeg: made.data, width: made.info.width, height: made.info.height };
  }
  room.size = SIDES.length - 1;
  return undefined;
}

/** The sides as one sees them: a phone held upright writes a lying picture and a mark to turn it. */
function turned(
  { width, height }: { readonly width: number; readonly height: number },
  [still]: readonly Still[],
): { readonly width: number; readonly height: number } {
  const turn =
    still !== undefined && width > height !== still.width > still.height && still.width !== still.height;
  return turn ? { width: height, height: width } : { width, height };
}

function noteOf(count: number, last: number, step: number, seconds: number | undefined): string | undefined {
  const frames = framesIn(count);
  if (seconds !== undefined && seconds - last > 2 * step + 1)
    return `${frames}, of the first ${markOf(last)} of ${markOf(seconds)} only`;
  if (step > STEP_SECONDS) return `${frames}, one every ${Math.round(step)} s`;
  return undefined;
}

function framesIn(count: number): string {
  return count === 1 ? "1 frame" : `${count} frames`;
}

/** "0:02", "0:00.7", "1:02:03". */
function markOf(seconds: number): string {
  const tenths = Math.round(seconds * 10);
  const whole = Math.floor(tenths / 10);
  const [h, m, s] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60, whole % 60];
  const mark = h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
  return tenths % 10 === 0 ? mark : `${mark}.${tenths % 10}`;
}

function two(part: number): string {
  return String(part).padStart(2, "0");
}
