import type { FileBlobs } from "../store/blobs.ts";
import { type Decoder, ownDecoder } from "./decoders.ts";
import { ffmpeg } from "./ffmpeg.ts";
import { oggPages } from "./ogg.ts";
import { RATE, WavWriter } from "./pcm.ts";
import type { File } from "./taken.ts";

/** Brings the sound of a file to a WAV of one channel of 16 bits at 16 kHz. */
export type SoundJob = {
  readonly file: File;
  /** Absolute path of the WAV; its folder is there, and whoever asks removes it. */
  readonly into: string;
  /** At most so much is decoded. */
  readonly seconds: number;
  /** So many are passed over, and no more than `seconds` are decoded after them. */
  readonly from?: number;
  readonly ffmpeg: string | undefined;
};

export type Sound =
  | {
      readonly is: "sound";
      readonly seconds: number;
      /** Of full scale, 0 to 1: what never rises above a whisper of noise is silence. */
      readonly peak: number;
      /** There is more than was asked for. */
      readonly more: boolean;
      /** The file ends in the middle. */
      readonly cutOff: boolean;
    }
  /** Nothing here decodes this kind. */
  | { readonly is: "unknown" }
  | { readonly is: "broken" };

const CPU_SECONDS = 60;
/** So much more is let pass: platforms round lengths, and beyond it there is known to be more. */
const MARGIN_SECONDS = 1;

export async function takeSound(job: SoundJob, blobs: FileBlobs): Promise<Sound> {
  const { mimeType, blob } = job.file;
  const path = blobs.pathOf(blob);
  const { from = 0 } = job;
  const most = job.from === undefined ? job.seconds + MARGIN_SECONDS : job.seconds;
  const decoders: readonly { readonly decode: Decoder; readonly skip: number }[] = [
    ...(job.ffmpeg === undefined ? [] : [{ decode: byFfmpeg(job.ffmpeg, from, most), skip: 0 }]),
    ...[ownDecoder(mimeType) ?? []].flat().map((decode) => ({ decode, skip: from })),
  ];
  let known = false;
  for (const { decode, skip } of decoders) {
    const wav = await WavWriter.open(job.into, most, skip);
    try {
      // One that finds no sound may only be the wrong one for it.
      known = (await decode(path, wav)) || known;
    } finally {
      await wav.close();
    }
    const seconds = wav.samples / RATE;
    if (seconds > 0) {
      const cutOff = mimeType === "audio/ogg" && (await isCutOff(path));
      return { is: "sound", seconds, peak: wav.peak, more: wav.full, cutOff };
    }
  }
  if (known) return { is: "sound", seconds: 0, peak: 0, more: false, cutOff: false };
  return { is: job.ffmpeg === undefined ? "unknown" : "broken" };
}

function byFfmpeg(program: string, from: number, seconds: number): Decoder {
  return async (path, into) => {
    const odd = { byte: Buffer.alloc(0) };
    return await ffmpeg({
      program,
      path,
      ...(from === 0 ? {} : { input: ["-ss", String(from)] }),
      cpuSeconds: CPU_SECONDS,
      output: `-loglevel error -map 0:a:0 -t ${seconds} -ac 1 -ar ${RATE} -f s16le`.split(" "),
      async take(chunk) {
        const bytes = Buffer.concat([odd.byte, chunk]); // a copy of its own: samples lie at even places in it
        const whole = bytes.length - (bytes.length % 2);
        odd.byte = bytes.subarray(whole);
        await into.writeSamples(new Int16Array(Uint8Array.from(bytes.subarray(0, whole)).buffer));
        return !into.full;
      },
    });
  };
}

async function isCutOff(path: string): Promise<boolean> {
  for await (const page of oggPages(path)) if (page === "cut off") return true;
  return false;
}
