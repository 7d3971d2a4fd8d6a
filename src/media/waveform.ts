import { type FileHandle, open } from "node:fs/promises";
import type { FileBlobs } from "../store/blobs.ts";
import { WAV_HEADER_BYTES } from "./pcm.ts";
import { type SoundJob, takeSound } from "./sound.ts";

/** Measures how loud a recording is from its beginning to its end. */
export type WaveformJob = SoundJob & { readonly steps: number };

/** `levels` has one number of 0–100 for each step, the loudest 100; silence is 0 throughout. */
export type Curve = { readonly levels: readonly number[]; readonly seconds: number };

/** Undefined of what is not decoded here, holds no sound, or is longer than the job's `seconds`. */
export async function makeWaveform(job: WaveformJob, blobs: FileBlobs): Promise<Curve | undefined> {
  const sound = await takeSound(job, blobs);
  if (sound.is !== "sound" || sound.seconds === 0 || sound.more) return undefined;
  const file = await open(job.into);
  try {
    return { levels: normalised(await loudness(file, job.steps)), seconds: sound.seconds };
  } finally {
    await file.close();
  }
}

const BYTES_A_SAMPLE = 2;
const CHUNK_BYTES = 64 * 1024;

/** The root mean square of each of so many equal parts of a WAV of ours. */
async function loudness(file: FileHandle, steps: number): Promise<readonly number[]> {
  const samples = ((await file.stat()).size - WAV_HEADER_BYTES) / BYTES_A_SAMPLE;
  const parts = Array.from({ length: steps }, () => ({ squares: 0, count: 0 }));
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let sample = 0; sample < samples;) {
    const at = WAV_HEADER_BYTES + sample * BYTES_A_SAMPLE;
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, at);
    if (bytesRead < BYTES_A_SAMPLE) break;
    for (let byte = 0; byte + BYTES_A_SAMPLE <= bytesRead; byte += BYTES_A_SAMPLE) {
      const part = parts[Math.floor((sample * steps) / samples)];
      sample += 1;
      if (!part) continue;
      part.squares += chunk.readInt16LE(byte) ** 2;
      part.count += 1;
    }
  }
  return parts.map(({ squares, count }) => (count === 0 ? 0 : Math.sqrt(squares / count)));
}

function normalised(levels: readonly number[]): readonly number[] {
  const loudest = Math.max(...levels);
  // A step of 16 bits is noise, and no recording.
  return levels.map((level) => (loudest <= 1 ? 0 : Math.round((level / loudest) * 100)));
}
