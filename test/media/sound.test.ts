import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { takeSound } from "../../src/media/sound.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { FFMPEG, made, NO_FFMPEG } from "../support/ffmpeg.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures/media");
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "perch-sound-test-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function decode(bytes: Uint8Array, mimeType: string, { seconds = 60, ffmpeg = "" } = {}) {
  const blobs = new FileBlobs(join(folder, "blobs"));
  const file = { mimeType, blob: await blobs.put(bytes), bytes: bytes.length };
  const into = join(folder, "sound.wav");
  const sound = await takeSound({ file, into, seconds, ffmpeg: ffmpeg === "" ? undefined : ffmpeg }, blobs);
  return { sound, wav: sound.is === "sound" ? await readFile(into) : Buffer.alloc(0) };
}

/** How often a tone crosses zero upwards in a second of a WAV of ours: its frequency. */
function hertzOf(wav: Buffer): number {
  const samples = Array.from({ length: (wav.length - 44) / 2 }, (_zero, at) => wav.readInt16LE(44 + at * 2));
  const crossings = samples.filter((sample, at) => sample >= 0 && (samples[at - 1] ?? 0) < 0).length;
  return Math.round(crossings / (samples.length / 16_000));
}

/** Half a second of a tone of 440 Hz at half of full scale, as a WAV of any form. */
function wavOf({
  rate,
  channels,
  bits,
  float = false,
}: {
  rate: number;
  channels: number;
  bits: number;
  float?: boolean;
}) {
  const frames = rate / 2;
  const bytes = bits / 8;
  const data = Buffer.alloc(frames * channels * bytes);
  for (let at = 0; at < frames * channels; at += 1) {
    const value = Math.sin((Math.floor(at / channels) / rate) * 440 * 2 * Math.PI) / 2;
    if (float) data.writeFloatLE(value, at * bytes);
    else if (bits === 8) data.writeUInt8(Math.round(128 + value * 127), at);
    else data.writeIntLE(Math.round(value * (2 ** (bits - 1) - 1)), at * bytes, bytes);
  }
  const header = Buffer.alloc(44);
  header.write("RIFF\0\0\0\0WAVEfmt ", 0, "latin1");
  header.writeUInt32LE(36 + data.length, 4);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(float ? 3 : 1, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt16LE(bits, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(data.length, 40);
  return Buffer.concat([header, data]);
}

describe("without ffmpeg", () => {
  it.each([
    { rate: 16_000, channels: 1, bits: 16 },
    { rate: 44_100, channels: 2, bits: 16 },
    { rate: 48_000, channels: 2, bits: 24 },
    { rate: 8_000, channels: 1, bits: 8 },
    { rate: 96_000, channels: 1, bits: 32 },
    { rate: 22_050, channels: 6, bits: 32, float: true },
  ])("a WAV of %j becomes one of 16 kHz that sounds the same", async (form) => {
    const { sound, wav } = await decode(wavOf(form), "audio/wav");
    if (sound.is !== "sound") throw new Error(sound.is);
    expect(sound.seconds).toBeCloseTo(0.5, 2);
    expect(sound.peak).toBeGreaterThan(0.45);
    expect(sound.peak).toBeLessThan(0.52);
    expect(Math.abs(hertzOf(wav) - 440)).toBeLessThanOrEqual(4);
    expect(wav.readUInt32LE(40)).toBe(wav.length - 44);
  });

  it("reads as much of a WAV as there is, whatever its header says", async () => {
    const whole = wavOf({ rate: 16_000, channels: 1, bits: 16 });
    whole.writeUInt32LE(0xffffffff, 40);
    const { sound } = await decode(whole.subarray(0, 44 + 8_000), "audio/wav");
    expect(sound).toMatchObject({ is: "sound", seconds: 0.25 });
  });

  it.each([
    [
      "a WAV in a form that we do not read",
      wavOf({ rate: 16_000, channels: 1, bits: 16 }).fill(6, 20, 21),
      "audio/wav",
    ],
    ["a WAV without sound or form", Buffer.from("RIFF\0\0\0\0WAVE", "latin1"), "audio/wav"],
    ["an M4A", Buffer.from("\0\0\0\x18ftypM4A ", "latin1"), "audio/mp4"],
    [
      "an Ogg that is no Opus",
      Buffer.from(`OggS${"\0".repeat(22)}\x01\x1e\x01vorbis${"\0".repeat(23)}`, "latin1"),
      "audio/ogg",
    ],
  ])("%s is unknown", async (_what, bytes, mimeType) => {
    expect((await decode(bytes, mimeType)).sound).toEqual({ is: "unknown" });
  });

  it.each([
    ["Ogg", "audio/ogg"],
    ["an MP3", "audio/mpeg"],
  ])("noise that calls itself %s holds no sound, and ends", async (_what, mimeType) => {
    const noise = Buffer.from(Array.from({ length: 300_000 }, (_zero, at) => (at * at * 31 + at * 7) % 251));
    const { sound } = await decode(noise, mimeType);
    expect(sound.is === "sound" ? sound.seconds : 0).toBeLessThan(1);
  });
});

const machines = FFMPEG === undefined ? [""] : ["", FFMPEG];

describe.each(machines)("with ffmpeg %j", (ffmpeg) => {
  it.each([
    ["voice_known.ogg", "audio/ogg"],
    ["audio/voice_known.mp3", "audio/mpeg"],
  ])("%s becomes 5.8 s of the same loudness", async (name, mimeType) => {
    const { sound } = await decode(await readFile(join(FIXTURES, name)), mimeType, { ffmpeg });
    if (sound.is !== "sound") throw new Error(sound.is);
    expect(sound.seconds).toBeCloseTo(5.81, 1);
    expect(sound.peak).toBeGreaterThan(0.5);
    expect(sound).toMatchObject({ more: false, cutOff: false });
  });

  it("decodes no more than was asked for", async () => {
    const { sound, wav } = await decode(await readFile(join(FIXTURES, "voice_known.ogg")), "audio/ogg", {
      ffmpeg,
      seconds: 2,
    });
    expect(sound).toMatchObject({ is: "sound", more: true });
    expect(wav.length).toBeLessThanOrEqual(44 + 3 * 32_000);
  });
});

describe.skipIf(NO_FFMPEG)("ffmpeg", () => {
  const ffmpeg = FFMPEG ?? ""; // skipped without
  it("reads no other file and no address that the file names", async () => {
    const other = join(FIXTURES, "voice_known.ogg");
    for (const text of [
      `#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n${other}\n#EXT-X-ENDLIST\n`,
      `ffconcat version 1.0\nfile '${other}'\n`,
      `v=0\no=- 0 0 IN IP4 127.0.0.1\nm=audio 9 RTP/AVP 0\n`,
    ]) {
      const { sound } = await decode(Buffer.from(text), "audio/mp4", { ffmpeg });
      expect(sound).toEqual({ is: "broken" });
    }
  });

  it("takes no gigabyte for a sound that says it has a billion samples a second", async () => {
    const wav = await readFile(join(FIXTURES, "audio/voice_known.wav"));
    wav.writeUInt32LE(1_291_861_632, 24);
    // Where it gets what it asks for, it ends well and without a sound.
    expect((await decode(wav, "audio/wav", { ffmpeg })).sound).toEqual({ is: "broken" });
  });

  it("and our own decoder read a note of two minutes to the same length", async () => {
    const note = join(FIXTURES, "voice_known.ogg");
    const long = await made(".ogg", ["-stream_loop", "20", "-i", note, "-c:a", "libopus", "-b:a", "8k"]);
    const sounds = [];
    for (const which of ["", ffmpeg]) {
      const { sound } = await decode(long, "audio/ogg", { seconds: 1_800, ffmpeg: which });
      if (sound.is === "sound") sounds.push(Math.round(sound.seconds));
    }
    expect(sounds).toEqual([122, 122]);
  });
});
