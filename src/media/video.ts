import type { MediaBlock } from "../core/blocks.ts";
import { durationWords } from "../core/words.ts";
import type { Frames } from "./frames.ts";
import { type Decoded, hear, transcriptOf, withDecoded } from "./listen.ts";
import { overMinutes } from "./minutes.ts";
import type { Reading } from "./reading.ts";
import { type Fetched, setAside, type Taken, tooLarge, unusable } from "./taken.ts";
import { takeAudio } from "./voice.ts";

/** Larger ones are not opened, whatever the settings let in. */
const LARGEST_BYTES = 1_000_000_000;

/** A video, a video note, or an animation: pictures from all over it, and what is said in it. */
export async function takeVideo(fetched: Fetched, by: Reading, signal: AbortSignal): Promise<Taken> {
  const { file, called, durationSeconds: declared } = fetched;
  const { ffmpeg } = by.programs;
  const timed = declared === undefined ? {} : { durationSeconds: declared };
  const asItCame: MediaBlock = { type: "video", ...file, ...timed };
  if (ffmpeg === undefined) return setAside(called, "unsupported", "media.video_unsupported", {}, asItCame);
  if (file.bytes > LARGEST_BYTES) return tooLarge(called, file.bytes, LARGEST_BYTES);
  const part = by.part === undefined ? {} : { part: by.part };
  const job = { file, ffmpeg, stills: by.senses.images, ...part };
  const frames = await by.workshop.run("frames", job, signal);
  switch (frames.is) {
    case "broken":
      return unusable(called, "unreadable", "media.broken");
    case "too_large":
      return unusable(called, "too_large", "media.too_large", {
        size: `${frames.width} × ${frames.height} pixels`,
        limit: `${frames.limit} pixels a side`,
      });
    case "sound":
      // A container of videos says nothing of what is in it.
      return await takeAudio({ ...fetched, file: { ...file, mimeType: asSound(file.mimeType) } }, by, signal);
    case "video":
      return await shown(asItCame, frames, called, by, signal);
  }
}

async function shown(
  asItCame: MediaBlock,
  frames: Frames & { readonly is: "video" },
  called: string,
  by: Reading,
  signal: AbortSignal,
): Promise<Taken> {
  const { seconds, width, height, stills } = frames;
  const over = await by.minutes?.take(by.part?.count ?? seconds ?? asItCame.durationSeconds ?? 0);
  if (over) return overMinutes(called, over);
  const heard = frames.sound ? await heardIn(asItCame, by, signal) : {};
  if (stills.length === 0 && heard.extract === undefined)
    return setAside(called, "unsupported", "media.video_unsupported", {}, asItCame);
  const notes = [frames.note, heard.note].filter((note) => note !== undefined);
  const block: MediaBlock = {
    ...asItCame,
    ...(seconds === undefined ? {} : { durationSeconds: Math.round(seconds * 10) / 10 }),
    width,
    height,
    ...(stills.length === 0 ? {} : { stills }),
    ...(heard.extract === undefined ? {} : { extract: heard.extract }),
    ...(notes.length === 0 ? {} : { note: notes.join("; ") }),
  };
  return { blocks: [block], outcome: stills.length === 0 ? "transcribed" : "seen" };
}

/** What is said in it, as far as that can be had; the pictures are worth showing without. */
async function heardIn(
  file: MediaBlock,
  by: Reading,
  signal: AbortSignal,
): Promise<Pick<MediaBlock, "extract" | "note">> {
  const { transcriber, limits } = by;
  if (!transcriber) return { note: "its sound is not listened to" };
  const work = async (decoded: Decoded): Promise<Pick<MediaBlock, "extract" | "note">> => {
    const heard = await hear(decoded, undefined, transcriber, by, signal);
    if (!("said" in heard))
      return heard.no === "words" ? {} : { note: "its sound could not be written down" };
    const more = !by.part && decoded.is === "sound" && decoded.more;
    return {
      extract: await transcriptOf(heard.said, by.blobs),
      ...(more ? { note: `transcript of the first ${durationWords(limits.audioSeconds)} only` } : {}),
    };
  };
  return await by.listening(() => withDecoded(file, limits.audioSeconds, by, signal, work));
}

function asSound(mimeType: string): string {
  return mimeType.replace(/^video\//, "audio/");
}
