import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Extract } from "../core/blocks.ts";
import type { Transcriber } from "../core/agent.ts";
import type { FileBlobs } from "../store/blobs.ts";
import { extractOf } from "./documents/inline.ts";
import type { Reading } from "./reading.ts";
import type { Recording } from "./recording.ts";
import type { File } from "./taken.ts";
import { takes, transcribe } from "./transcribe.ts";

/** A sound, decoded for as long as somebody works on it. */
export type Decoded =
  | {
      readonly is: "sound";
      readonly wav: { readonly path: string; readonly bytes: number };
      readonly seconds: number;
      readonly more: boolean;
      readonly cutOff: boolean;
      /** Nothing that could be a word: too short, or no louder than the noise of a still room. */
      readonly silent: boolean;
    }
  | { readonly is: "unknown" }
  | { readonly is: "broken" };

/** OpenAI refuses anything shorter; no word is. */
const SHORTEST_SECONDS = 0.1;
/** Of full scale: −60 dB. Speech recognition hears "Thank you." in silence. */
const SILENT_PEAK = 0.001;

/** Decodes at most `seconds` of a sound into a private folder, which is gone when `work` has ended. */
export async function withDecoded<T>(
  file: File,
  seconds: number,
  by: Reading,
  signal: AbortSignal,
  work: (decoded: Decoded) => Promise<T>,
): Promise<T> {
  const folder = await by.blobs.scratch();
  try {
    const path = join(folder, "sound.wav");
    const { part } = by;
    const job = {
      file,
      into: path,
      seconds: Math.min(seconds, part?.count ?? seconds),
      ...(part === undefined ? {} : { from: part.from }),
      ffmpeg: by.programs.ffmpeg,
    };
    const sound = await by.workshop.run("sound", job, signal);
    if (sound.is !== "sound") return await work(sound);
    const { peak, ...rest } = sound;
    const { size: bytes } = await stat(path);
    const silent = sound.seconds < SHORTEST_SECONDS || peak < SILENT_PEAK;
    return await work({ ...rest, wav: { path, bytes }, silent });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export type Heard = { readonly said: string } | { readonly no: "words" | "decoder" | "answer" };

/** Has a sound written down, in `by.listening`. */
export async function hear(
  decoded: Decoded,
  original: Recording["original"],
  transcriber: Transcriber,
  by: Reading,
  signal: AbortSignal,
): Promise<Heard> {
  if (decoded.is === "sound" && decoded.silent) return { no: "words" };
  const recording = {
    ...(decoded.is === "sound" ? { wav: decoded.wav, seconds: decoded.seconds } : {}),
    ...(original === undefined ? {} : { original }),
  };
  if (!takes(transcriber, recording)) return { no: "decoder" };
  const text = await transcribe(recording, transcriber, by, signal);
  if (text === undefined) return { no: "answer" };
  const said = clean(text);
  return saysSomething(said) ? { said } : { no: "words" };
}

/** Speech recognition writes "[BLANK_AUDIO]", "(silence)", "♪" or "..." where nobody speaks. */
function saysSomething(said: string): boolean {
  return /[\p{L}\p{N}]/u.test(said.replaceAll(/\[[^[\]]*\]|\([^()]*\)|\*[^*]*\*/g, ""));
}

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for; tabs and line ends stay
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

function clean(text: string): string {
  return text.toWellFormed().replaceAll("\r\n", "\n").replaceAll(CONTROLS, "").trim();
}

/** A transcript as the text of its medium; of a very long one the head and the tail are shown. */
export async function transcriptOf(said: string, blobs: FileBlobs): Promise<Extract> {
  const bytes = Buffer.from(said);
  return await extractOf("transcript", bytes, await blobs.put(bytes), blobs);
}
