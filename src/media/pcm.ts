import { type FileHandle, open } from "node:fs/promises";

/** What speech recognition works on; everything is brought to it. */
export const RATE = 16_000;
export const WAV_HEADER_BYTES = 44;
const BYTES_A_SAMPLE = 2;
export const BYTES_A_SECOND = RATE * BYTES_A_SAMPLE;

/** The header of a WAV of one channel of 16-bit samples at 16 kHz. */
export function wavHeader(dataBytes: number): Uint8Array {
  const header = Buffer.alloc(WAV_HEADER_BYTES);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(WAV_HEADER_BYTES - 8 + dataBytes, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20); // PCM
  header.writeUInt16LE(1, 22); // channels
  header.writeUInt32LE(RATE, 24);
  header.writeUInt32LE(BYTES_A_SECOND, 28);
  header.writeUInt16LE(BYTES_A_SAMPLE, 32);
  header.writeUInt16LE(BYTES_A_SAMPLE * 8, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(dataBytes, 40);
  return header;
}

/** Writes sound to a WAV as it is decoded, so that it is never in memory as a whole, and keeps its length and level. */
export class WavWriter {
  readonly #file: FileHandle;
  readonly #most: number;
  readonly #resampler = new Resampler();
  /** Samples that are still to be passed over. */
  #skip: number;
  samples = 0;
  /** Of full scale, 0 to 1. */
  peak = 0;

  private constructor(file: FileHandle, most: number, skip: number) {
    this.#file = file;
    this.#most = most;
    this.#skip = skip;
  }

  /** Replaces what is at `path`. Takes at most `seconds` of sound, after the first `skip` seconds. */
  static async open(path: string, seconds: number, skip = 0): Promise<WavWriter> {
    const file = await open(path, "w", 0o600);
    await file.write(wavHeader(0));
    return new WavWriter(file, Math.ceil(seconds * RATE), Math.round(skip * RATE));
  }

  /** Nothing more is taken. */
  get full(): boolean {
    return this.samples >= this.#most;
  }

  /** Channels of equal length, -1 to 1, at any rate. */
  async write(channels: readonly Float32Array[], rate: number): Promise<void> {
    const input = mixed(channels);
    if (input.length === 0) return; // a decoder that has found nothing knows no rate either
    const mono = this.#resampler.push(input, rate);
    const samples = new Int16Array(mono.length);
    for (let at = 0; at < mono.length; at += 1) {
      samples[at] = Math.round(Math.max(-1, Math.min(1, mono[at] ?? 0)) * 32_767);
    }
    await this.writeSamples(samples);
  }

  /** Samples that are of our kind already. */
  async writeSamples(samples: Int16Array): Promise<void> {
    const passed = Math.min(this.#skip, samples.length);
    this.#skip -= passed;
    const taken = samples.subarray(passed, passed + this.#most - this.samples);
    for (const sample of taken) this.peak = Math.max(this.peak, Math.abs(sample) / 32_768);
    this.samples += taken.length;
    await this.#file.writeFile(Buffer.from(taken.buffer, taken.byteOffset, taken.byteLength));
  }

  async close(): Promise<void> {
    try {
      await this.#file.write(wavHeader(this.samples * BYTES_A_SAMPLE), 0, WAV_HEADER_BYTES, 0);
    } finally {
      await this.#file.close();
    }
  }
}

function mixed(channels: readonly Float32Array[]): Float32Array {
  const [first = new Float32Array()] = channels;
  if (channels.length < 2) return first;
  return first.map((_sample, at) => {
    let sum = 0;
    for (const channel of channels) sum += channel[at] ?? 0;
    return sum / channels.length;
  });
}

/**
 * Brings one channel to 16 kHz: each sample is the mean of what it stands for, which also keeps out what is too high
 * for 16 kHz well enough for speech; upwards, samples are repeated.
 */
class Resampler {
  #rate = RATE;
  /** Of the sample that is being made. */
  #sum = 0;
  #weight = 0;

  push(input: Float32Array, rate: number): Float32Array {
    if (rate !== this.#rate) {
      this.#rate = rate;
      this.#sum = 0;
      this.#weight = 0;
    }
    if (rate === RATE) return input;
    const step = rate / RATE; // input samples that make one of ours
    const output = new Float32Array(Math.ceil((input.length + 1) / step) + 1);
    let made = 0;
    for (const sample of input) {
      let left = 1;
      while (this.#weight + left >= step) {
        const part = step - this.#weight;
        output[made] = (this.#sum + sample * part) / step;
        made += 1;
        left -= part;
        this.#sum = 0;
        this.#weight = 0;
      }
      this.#sum += sample * left;
      this.#weight += left;
    }
    return output.subarray(0, made);
  }
}
