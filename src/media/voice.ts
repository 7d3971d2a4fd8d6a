import { createReadStream } from "node:fs";
import type { Transcriber } from "../core/agent.ts";
import type { MediaBlock } from "../core/blocks.ts";
import { bytesWords, durationWords } from "../core/words.ts";
import { type Decoded, hear, transcriptOf, withDecoded } from "./listen.ts";
import { formatName } from "./documents/formats.ts";
import { BYTES_A_SECOND } from "./pcm.ts";
import { overMinutes } from "./minutes.ts";
import type { MediaPart } from "./part.ts";
import type { Reading } from "./reading.ts";
import { type Fetched, type Taken, setAside, unusable } from "./taken.ts";

/** A voice note or other sound: what is said in it, where somebody writes it down; else itself, for a model that hears. */
export async function takeAudio(fetched: Fetched, by: Reading, signal: AbortSignal): Promise<Taken> {
  const { called, durationSeconds: declared } = fetched;
  const file = { ...fetched.file, mimeType: plainType(fetched.file.mimeType) };
  const { transcriber, limits } = by;
  if (!transcriber && !by.senses.audio) {
    const block: MediaBlock = { type: "audio", ...file, ...timed(declared) };
    return setAside(called, "unavailable", "media.voice_unavailable", {}, block);
  }
  const work = async (decoded: Decoded): Promise<Taken> => {
    if (decoded.is === "broken") return unusable(called, "unreadable", "media.broken");
    if (decoded.is === "sound" && decoded.more && !by.part)
      return tooLong(called, declared, limits.audioSeconds);
    const seconds = decoded.is === "sound" ? decoded.seconds : declared;
    const block: MediaBlock = { type: "audio", ...file, ...timed(seconds), ...noteOf(decoded, by.part) };
    // Of silence nothing is written down.
    const isHeard = decoded.is !== "sound" || !decoded.silent;
    const over = isHeard ? await by.minutes?.take(seconds ?? 0) : undefined;
    if (over) return overMinutes(called, over);
    return transcriber
      ? await written(block, called, transcriber, decoded, by, signal)
      : await heardByModel(block, called, decoded, by);
  };
  const decoding = (): Promise<Taken> => withDecoded(file, limits.audioSeconds, by, signal, work);
  return transcriber ? await by.listening(decoding) : await decoding();
}

/** Longer than what is listened to, as far as that is known. */
export function tooLong(called: string, seconds: number | undefined, limit: number): Taken {
  const most = durationWords(limit);
  const told = seconds !== undefined && seconds > limit ? durationWords(seconds) : most;
  const length = told === most ? `over ${most}` : told;
  return unusable(called, "too_large", "media.voice_too_long", { length, limit: most });
}

async function written(
  block: MediaBlock,
  called: string,
  transcriber: Transcriber,
  decoded: Decoded,
  by: Reading,
  signal: AbortSignal,
): Promise<Taken> {
  const original = { path: await by.blobs.here(block.blob), mimeType: block.mimeType, bytes: block.bytes };
  // Of a part there is only what was decoded.
  const heard = await hear(decoded, by.part ? undefined : original, transcriber, by, signal);
  if ("said" in heard) {
    const extract = await transcriptOf(heard.said, by.blobs);
    return { blocks: [{ ...block, extract }], outcome: "transcribed" };
  }
  switch (heard.no) {
    case "words":
      return unusable(called, "unreadable", "media.voice_empty");
    case "decoder":
      return unusable(called, "unsupported", "media.voice_unsupported", {
        format: formatName(block.mimeType),
      });
    case "answer":
      return unusable(called, "unavailable", "media.voice_failed");
  }
}

/** What a model is sent of one sound: some 10 min as WAV. */
const HEARD_BYTES = 20_000_000;
/** What models take as it is; the other of the two is what we make. */
const HEARD_TYPES = new Set(["audio/mpeg", "audio/wav"]);

async function heardByModel(
  block: MediaBlock,
  called: string,
  decoded: Decoded,
  by: Reading,
): Promise<Taken> {
  if (decoded.is !== "sound")
    return unusable(called, "unsupported", "media.voice_unsupported", { format: formatName(block.mimeType) });
  if (decoded.silent) return unusable(called, "unreadable", "media.voice_empty");
  if (!by.part && HEARD_TYPES.has(block.mimeType) && block.bytes <= HEARD_BYTES)
    return { blocks: [block], outcome: "seen" };
  const { wav, seconds } = decoded;
  if (wav.bytes > HEARD_BYTES) return tooLong(called, seconds, Math.floor(HEARD_BYTES / BYTES_A_SECOND));
  const { ref, bytes } = await by.blobs.write(createReadStream(wav.path), HEARD_BYTES);
  const made = `made from ${block.mimeType}, ${bytesWords(block.bytes)}`;
  const note = block.note === undefined ? made : `${made}, ${block.note}`;
  return { blocks: [{ ...block, mimeType: "audio/wav", blob: ref, bytes, note }], outcome: "seen" };
}

/** One name for what has several. */
function plainType(mimeType: string): string {
  switch (mimeType) {
    case "audio/x-m4a":
    case "audio/m4a":
      return "audio/mp4";
    case "audio/x-wav":
    case "audio/wave":
    case "audio/vnd.wave":
      return "audio/wav";
    case "audio/mp3":
      return "audio/mpeg";
    case "audio/x-flac":
      return "audio/flac";
    default:
      return mimeType;
  }
}

function timed(seconds: number | undefined): Pick<MediaBlock, "durationSeconds"> {
  return seconds === undefined ? {} : { durationSeconds: Math.round(seconds * 10) / 10 };
}

function noteOf(decoded: Decoded, part: MediaPart | undefined): Pick<MediaBlock, "note"> {
  if (part) return { note: `what is heard from ${durationWords(part.from)} on alone` };
  return decoded.is === "sound" && decoded.cutOff ? { note: "the end is missing" } : {};
}
