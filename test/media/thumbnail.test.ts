import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { MediaBlock } from "../../src/core/blocks.ts";
import { systemClock } from "../../src/core/clock.ts";
import { studioIn, type StudioParts } from "../../src/media/studio.ts";
import { inThisProcess, type Workshop } from "../../src/media/workshop.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { memoryLog } from "../support/channel-host.ts";
import { manualClock } from "../support/clock.ts";
import { FFMPEG, made, NO_FFMPEG } from "../support/ffmpeg.ts";
import { MEDIA_LIMITS } from "../support/media.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures/media");
let folder: string;
let blobs: FileBlobs;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "perch-thumbnail-test-"));
  blobs = new FileBlobs(folder);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function studio(parts: Partial<StudioParts> = {}) {
  return studioIn({
    workshop: inThisProcess(blobs),
    blobs,
    programs: { ffmpeg: FFMPEG },
    limits: MEDIA_LIMITS,
    clock: systemClock,
    log: memoryLog([]),
    ...parts,
  });
}

async function block(type: MediaBlock["type"], mimeType: string, bytes: Uint8Array): Promise<MediaBlock> {
  return { type, mimeType, blob: await blobs.put(bytes), bytes: bytes.length };
}

async function fixture(type: MediaBlock["type"], mimeType: string, name: string): Promise<MediaBlock> {
  return await block(type, mimeType, await readFile(join(FIXTURES, name)));
}

describe("the thumbnail of a picture", () => {
  it("is a JPEG of at most that side, with the sides of the picture", async () => {
    const wide = await sharp({ create: { width: 1_200, height: 300, channels: 3, background: "#c00" } })
      .png()
      .toBuffer();
    const thumbnail = await studio().thumbnail(await block("image", "image/png", wide), 96);
    expect(thumbnail).toMatchObject({ width: 1_200, height: 300 });
    expect(await sharp(thumbnail?.jpeg).metadata()).toMatchObject({ format: "jpeg", width: 96, height: 24 });
  });

  it("stands upright where the camera was turned", async () => {
    const lying = await sharp(join(FIXTURES, "exif6.jpg")).metadata();
    const thumbnail = await studio().thumbnail(await fixture("image", "image/jpeg", "exif6.jpg"), 96);
    expect(thumbnail).toMatchObject({ width: lying.height, height: lying.width });
    const small = await sharp(thumbnail?.jpeg).metadata();
    expect(Math.sign(small.width - small.height)).toBe(Math.sign(lying.height - lying.width));
  });

  it("is not larger than the picture", async () => {
    const thumbnail = await studio().thumbnail(await fixture("image", "image/png", "red64.png"), 96);
    expect(await sharp(thumbnail?.jpeg).metadata()).toMatchObject({ width: 64, height: 64 });
  });

  it("has a white ground where one can see through", async () => {
    const clear = await sharp({ create: { width: 50, height: 50, channels: 4, background: "#00000000" } })
      .png()
      .toBuffer();
    const thumbnail = await studio().thumbnail(await block("image", "image/png", clear), 96);
    const [red] = await sharp(thumbnail?.jpeg).raw().toBuffer();
    expect(red).toBeGreaterThan(250);
  });

  it.each([
    ["image/png", "bomb_30000x30000.png"],
    ["image/jpeg", "notes.md"],
    ["application/pdf", "two_pages.pdf"],
  ])("is left out of a %s like %s", async (mimeType, name) => {
    expect(await studio().thumbnail(await fixture("image", mimeType, name), 96)).toBeUndefined();
  });
});

describe("the thumbnail of a video", () => {
  it.skipIf(NO_FFMPEG)("shows its beginning and says how long it is", async () => {
    const video = await made(".mp4", [
      ..."-f lavfi -i color=blue:s=320x180:d=1:r=5 -f lavfi -i color=red:s=320x180:d=1:r=5".split(" "),
      ..."-filter_complex concat=n=2 -c:v mpeg4 -q:v 2".split(" "),
    ]);
    const thumbnail = await studio().thumbnail(await block("video", "video/mp4", video), 96);
    expect(thumbnail).toMatchObject({ width: 320, height: 180, seconds: 2 });
    const { data, info } = await sharp(thumbnail?.jpeg).raw().toBuffer({ resolveWithObject: true });
    expect(info).toMatchObject({ width: 96, height: 54 });
    expect(data[0]).toBeLessThan(40);
    expect(data[2]).toBeGreaterThan(200);
  });

  it.skipIf(NO_FFMPEG)("stands upright where the phone was", async () => {
    const lying = await made(".mp4", "-f lavfi -i testsrc=s=160x90:d=0.4:r=5 -c:v mpeg4".split(" "));
    const path = join(folder, "lying.mp4");
    await writeFile(path, lying);
    const held = await made(".mp4", ["-i", path, "-c", "copy", "-metadata:s:v:0", "rotate=90"]);
    expect(await studio().thumbnail(await block("video", "video/mp4", held), 96)).toMatchObject({
      width: 90,
      height: 160,
    });
  });

  it("is left out without ffmpeg", async () => {
    const video = await fixture("video", "video/mp4", "video/clip_with_audio.mp4");
    expect(await studio({ programs: { ffmpeg: undefined } }).thumbnail(video, 96)).toBeUndefined();
  });
});

it("is not waited for longer than 20 s, also while others have the workshop", async () => {
  const clock = manualClock();
  const signals: AbortSignal[] = [];
  const full: Workshop = {
    run: (_kind, _needs, signal) => {
      signals.push(signal);
      return new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason as Error)),
      );
    },
    close() {},
  };
  const waiting = studio({ workshop: full, clock }).thumbnail(
    await fixture("image", "image/png", "red64.png"),
    96,
  );
  await clock.whenTimer(20_000);
  await clock.advance(19_999);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  await clock.advance(1);
  expect(await waiting).toBeUndefined();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});
