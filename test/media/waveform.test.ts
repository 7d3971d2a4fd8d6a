import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { MediaBlock } from "../../src/core/blocks.ts";
import { systemClock } from "../../src/core/clock.ts";
import { RATE, wavHeader } from "../../src/media/pcm.ts";
import { studioIn } from "../../src/media/studio.ts";
import { inThisProcess } from "../../src/media/workshop.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { memoryLog } from "../support/channel-host.ts";
import { FFMPEG, made, NO_FFMPEG } from "../support/ffmpeg.ts";
import { MEDIA_LIMITS } from "../support/media.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures/media");
const STEPS = 64;
let folder: string;
let blobs: FileBlobs;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "perch-waveform-test-"));
  blobs = new FileBlobs(folder);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function waveformOf(
  mimeType: string,
  bytes: Uint8Array,
  { programs = { ffmpeg: FFMPEG }, audioSeconds = 60 } = {},
) {
  const limits = { ...MEDIA_LIMITS, audioSeconds };
  const parts = { workshop: inThisProcess(blobs), blobs, programs, limits, clock: systemClock };
  const media: MediaBlock = { type: "audio", mimeType, blob: await blobs.put(bytes), bytes: bytes.length };
  return await studioIn({ ...parts, log: memoryLog([]) }).waveform(media, STEPS);
}

/** A tone of 440 Hz in a WAV, as loud (0 to 1) as `level` says at each part (0 to 1) of it. */
function toneOf(seconds: number, level: (part: number) => number): Uint8Array {
  const samples = Int16Array.from({ length: seconds * RATE }, (_zero, at) =>
    Math.round(32_767 * level(at / (seconds * RATE)) * Math.sin((at / RATE) * 440 * 2 * Math.PI)),
  );
  return Buffer.concat([wavHeader(samples.byteLength), Buffer.from(samples.buffer)]);
}

describe("the waveform of a recording", () => {
  it("rises and falls with it, whatever it is played at, and its loudest is 100", async () => {
    const quiet = await waveformOf(
      "audio/wav",
      toneOf(2, (part) => (part < 0.5 ? 0.05 : 0.1)),
    );
    expect(quiet?.seconds).toBe(2);
    expect([...(quiet?.levels ?? [])]).toEqual([...Array(32).fill(50), ...Array(32).fill(100)]);
  });

  it("is 0 throughout where nothing is to be heard", async () => {
    expect([
      ...((
        await waveformOf(
          "audio/wav",
          toneOf(1, () => 0),
        )
      )?.levels ?? []),
    ]).toEqual(Array(STEPS).fill(0));
  });

  it("has all its steps where the recording is shorter than they are", async () => {
    const blip = toneOf(1, () => 0.5).subarray(0, 44 + 2 * 20);
    Buffer.from(blip.buffer, blip.byteOffset).writeUInt32LE(40, 40);
    const levels = (await waveformOf("audio/wav", blip))?.levels;
    expect(levels).toHaveLength(STEPS);
    expect(Math.max(...(levels ?? []))).toBe(100);
  });

  it.each([
    ["audio/ogg", "voice_known.ogg"],
    ["audio/mpeg", "audio/voice_known.mp3"],
  ])("is made of a %s without another program", async (mimeType, name) => {
    const curve = await waveformOf(mimeType, await readFile(join(FIXTURES, name)), {
      programs: { ffmpeg: undefined },
    });
    expect(curve?.seconds).toBeGreaterThan(1);
    expect(Math.max(...(curve?.levels ?? []))).toBe(100);
    expect(new Set(curve?.levels).size).toBeGreaterThan(5);
  });

  it.skipIf(NO_FFMPEG)("is that of what was recorded, once it is a voice note", async () => {
    const wav = join(folder, "tone.wav");
    await writeFile(
      wav,
      toneOf(4, (part) => (part < 0.25 ? 0 : 0.5)),
    );
    const opus = await made(".ogg", ["-i", wav, "-c:a", "libopus", "-b:a", "24k", "-application", "voip"]);
    const curve = await waveformOf("audio/ogg", opus);
    expect(curve?.seconds).toBeCloseTo(4, 1);
    expect(Math.max(...(curve?.levels.subarray(0, 15) ?? []))).toBeLessThan(5);
    expect(Math.min(...(curve?.levels.subarray(18, 60) ?? []))).toBeGreaterThan(60);
  });

  it("is left out of what is no sound and of what is longer than is listened to", async () => {
    expect(await waveformOf("audio/ogg", Buffer.from("<html>"))).toBeUndefined();
    expect(
      await waveformOf(
        "audio/wav",
        toneOf(5, () => 0.5),
        { audioSeconds: 2 },
      ),
    ).toBeUndefined();
  });

  it("leaves no file behind", async () => {
    await waveformOf(
      "audio/wav",
      toneOf(1, () => 0.5),
    );
    expect((await readdir(folder)).filter((name) => name.startsWith("."))).toEqual([]);
  });
});
