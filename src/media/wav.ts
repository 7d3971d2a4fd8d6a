import { type FileHandle, open } from "node:fs/promises";
import type { WavWriter } from "./pcm.ts";

const PCM = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xfffe;
const CHUNK_FRAMES = 16_384;

type Format = {
  readonly kind: number;
  readonly channels: number;
  readonly rate: number;
  readonly bits: number;
};

/** Reads a WAV of whole numbers of 8 to 32 bits or floats of 32. False for any other. */
export async function readWav(path: string, into: WavWriter): Promise<boolean> {
  const file = await open(path);
  try {
    const riff = await bytesAt(file, 0, 12);
    if (riff.toString("latin1", 0, 4) !== "RIFF" || riff.toString("latin1", 8, 12) !== "WAVE") return false;
    let format: Format | undefined;
    for (let at = 12; ;) {
      const head = await bytesAt(file, at, 8);
      if (head.length < 8) return false;
      const name = head.toString("latin1", 0, 4);
      const length = head.readUInt32LE(4);
      if (name === "fmt ") format = formatIn(await bytesAt(file, at + 8, Math.min(length, 40)));
      if (name === "data") {
        if (format === undefined) return false;
        await readSamples(file, at + 8, length, format, into);
        return true;
      }
      at += 8 + length + (length % 2);
    }
  } finally {
    await file.close();
  }
}

/** Undefined where we do not read it. */
function formatIn(bytes: Buffer): Format | undefined {
  if (bytes.length < 16) return undefined;
  const tag = bytes.readUInt16LE(0);
  const kind = tag === EXTENSIBLE && bytes.length >= 26 ? bytes.readUInt16LE(24) : tag;
  const format = {
    kind,
    channels: bytes.readUInt16LE(2),
    rate: bytes.readUInt32LE(4),
    bits: bytes.readUInt16LE(14),
  };
  const readable =
    (kind === PCM && [8, 16, 24, 32].includes(format.bits)) || (kind === FLOAT && format.bits === 32);
  const sane =
    format.channels >= 1 && format.channels <= 16 && format.rate >= 1_000 && format.rate <= 384_000;
  return readable && sane ? format : undefined;
}

async function readSamples(
  file: FileHandle,
  from: number,
  length: number,
  format: Format,
  into: WavWriter,
): Promise<void> {
  const { channels, rate, bits } = format;
  const sampleBytes = bits / 8;
  const frameBytes = sampleBytes * channels;
  for (let at = 0; at < length && !into.full;) {
    const bytes = await bytesAt(file, from + at, Math.min(frameBytes * CHUNK_FRAMES, length - at));
    const frames = Math.floor(bytes.length / frameBytes);
    if (frames === 0) return;
    const data = Array.from({ length: channels }, (_none, channel) =>
      Float32Array.from({ length: frames }, (_zero, frame) =>
        sampleAt(bytes, frame * frameBytes + channel * sampleBytes, format),
      ),
    );
    await into.write(data, rate);
    at += frames * frameBytes;
  }
}

function sampleAt(bytes: Buffer, at: number, { kind, bits }: Format): number {
  if (kind === FLOAT) {
    const value = bytes.readFloatLE(at);
    return Number.isFinite(value) ? value : 0;
  }
  if (bits === 8) return (bytes.readUInt8(at) - 128) / 128;
  return bytes.readIntLE(at, bits / 8) / 2 ** (bits - 1);
}

/** Fewer where the file ends. */
async function bytesAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, at);
  return buffer.subarray(0, bytesRead);
}
