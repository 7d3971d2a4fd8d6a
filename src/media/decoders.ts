import { open } from "node:fs/promises";
import { oggPages } from "./ogg.ts";
import { RATE, type WavWriter } from "./pcm.ts";
import { readWav } from "./wav.ts";

/**
 * Decodes a file as far as `into` takes it. Says false, and has written nothing, when the file is not of its kind.
 * A fault in the middle ends it: what was decoded before is kept.
 */
export type Decoder = (path: string, into: WavWriter) => Promise<boolean>;

/** What is decoded without another program. */
export function ownDecoder(mimeType: string): Decoder | undefined {
  switch (mimeType) {
    case "audio/ogg":
    case "audio/opus":
      return decodeOpus;
    case "audio/mpeg":
      return decodeMp3;
    case "audio/wav":
      return readWav;
    default:
      return undefined;
  }
}

/** Pages are handed over together up to this size; more is only more memory. */
const GROUP_BYTES = 16 * 1024;

async function decodeOpus(path: string, into: WavWriter): Promise<boolean> {
  const { OggOpusDecoder } = await import("ogg-opus-decoder");
  // It takes the rate; its types do not know of it.
  const options = { sampleRate: RATE } as ConstructorParameters<typeof OggOpusDecoder>[0];
  const decoder = new OggOpusDecoder(options);
  await decoder.ready;
  /** False when it can not go on. */
  const take = async (pages: readonly Uint8Array[]): Promise<boolean> => {
    const decoded = await unlessBroken(() => decoder.decode(Buffer.concat(pages)));
    if (decoded) await into.write(decoded.channelData, RATE);
    return decoded !== undefined && !into.full;
  };
  try {
    let group: Uint8Array[] = [];
    let bytes = 0;
    let first = true;
    for await (const page of oggPages(path)) {
      if (page === "cut off") break; // of half a page the decoder makes seconds of silence
      if (first && !Buffer.from(page).includes("OpusHead")) return false;
      first = false;
      group.push(page);
      bytes += page.length;
      if (bytes < GROUP_BYTES) continue;
      if (!(await take(group))) return true;
      group = [];
      bytes = 0;
    }
    if (!(await take(group))) return true;
    const last = await unlessBroken(() => decoder.flush());
    if (last) await into.write(last.channelData, RATE);
    return true;
  } finally {
    decoder.free();
  }
}

/** So many broken frames are skipped: pictures and tags in the middle of a file are some. */
const FAULTS_SKIPPED = 100;

async function decodeMp3(path: string, into: WavWriter): Promise<boolean> {
  const { MPEGDecoder } = await import("mpg123-decoder");
  const decoder = new MPEGDecoder();
  await decoder.ready;
  const file = await open(path);
  try {
    let faults = 0;
    while (!into.full && faults <= FAULTS_SKIPPED) {
      const chunk = new Uint8Array(GROUP_BYTES);
      const { bytesRead } = await file.read(chunk, 0, chunk.length);
      if (bytesRead === 0) break;
      const decoded = await unlessBroken(() => decoder.decode(chunk.subarray(0, bytesRead)));
      if (!decoded) break;
      faults += decoded.errors.length;
      await into.write(decoded.channelData, decoded.sampleRate);
    }
    return true;
  } finally {
    await file.close();
    decoder.free();
  }
}

/** What decoding gives, at once or later; undefined where it throws. */
async function unlessBroken<T>(decode: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await decode();
  } catch {
    return undefined;
  }
}
