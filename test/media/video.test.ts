import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { MediaBlock, Unfetched } from "../../src/core/blocks.ts";
import type { Reading } from "../../src/media/reading.ts";
import { takeIn } from "../../src/media/take-in.ts";
import type { Taken } from "../../src/media/taken.ts";
import { takeVideo } from "../../src/media/video.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { FFMPEG, made, NO_FFMPEG } from "../support/ffmpeg.ts";
import { reading } from "../support/media.ts";
import { startTranscriber, type TranscriberServer } from "../support/transcriber.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures/media");
const CLIP = join(FIXTURES, "video/clip_with_audio.mp4");

let server: TranscriberServer;
let folder: string;

beforeAll(async () => {
  server = await startTranscriber();
});
afterAll(() => server.close());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "perch-video-"));
  server.otherwise = "look at this";
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function setUp(ffmpeg: string | undefined, fields: Partial<Reading> = {}) {
  const blobs = new FileBlobs(folder);
  const uploaded = server.uploads.length;
  const take = (
    bytes: Uint8Array,
    declared: Unfetched["declared"] = {},
    thumbnail?: Uint8Array,
  ): Promise<Taken> => {
    const files = new Map([
      ["r", bytes],
      ["t", thumbnail],
    ]);
    async function* once(ref: string): AsyncIterable<Uint8Array> {
      const found = files.get(ref);
      if (!found) throw new Error("no such file");
      yield found;
    }
    return takeIn(
      { type: "unfetched", kind: "video", ref: "r", declared, ...(thumbnail ? { thumbnail: "t" } : {}) },
      reading(blobs, { open: async (ref) => once(ref), programs: { environment: {}, ffmpeg }, ...fields }),
      new AbortController().signal,
    );
  };
  return { blobs, take, uploads: () => server.uploads.slice(uploaded) };
}

function videoIn(taken: Taken): MediaBlock {
  const [block] = taken.blocks;
  if (block?.type !== "video") throw new Error(`no video: ${JSON.stringify(taken)}`);
  return block;
}

describe("without ffmpeg", () => {
  it("a video is named, kept, and said to be closed", async () => {
    const { take } = setUp(undefined);
    const taken = await take(await readFile(CLIP), { label: "video note", durationSeconds: 2 });
    expect(taken.outcome).toBe("unsupported");
    expect(taken.notice).toEqual({ key: "media.video_unsupported", values: { name: "the video note" } });
    expect(taken.blocks).toEqual([
      { type: "text", text: "[I could not use the video note: I cannot look into videos here.]" },
      expect.objectContaining({ type: "video", mimeType: "video/mp4", durationSeconds: 2 }),
    ]);
    expect(taken.original).toMatchObject({ mimeType: "video/mp4" });
  });

  it("a video of which the platform has a small picture is seen as that, and nobody is told", async () => {
    const { take, blobs } = setUp(undefined);
    const taken = await take(await readFile(CLIP), { label: "video note" }, await smallPicture());
    expect(taken).toMatchObject({ outcome: "seen", original: { mimeType: "video/mp4" } });
    expect(taken.notice).toBeUndefined();
    const { note, stills = [] } = videoIn(taken);
    expect(note).toBe("only a preview of it can be shown here");
    expect(stills).toMatchObject([{ label: "preview", width: 320, height: 180 }]);
    for (const { blob } of stills)
      expect((await sharp(await blobs.read(blob)).metadata()).format).toBe("jpeg");
  });

  it.each([
    ["is broken", Buffer.from([0xff, 0xd8, 0xff, 0xe0])],
    ["is no picture", Buffer.from("<html>gone</html>")],
    ["is empty", Buffer.alloc(0)],
  ])("a small picture that %s changes nothing", async (_what, thumbnail) => {
    const taken = await setUp(undefined).take(await readFile(CLIP), {}, thumbnail);
    expect(taken.notice?.key).toBe("media.video_unsupported");
  });

  it("the small picture is not fetched for a model that sees none", async () => {
    const blind = setUp(undefined, { senses: { images: false, pdf: false, audio: false } });
    const taken = await blind.take(await readFile(CLIP), {}, await smallPicture());
    expect(taken.notice?.key).toBe("media.video_unsupported");
  });

  it.each([
    ["is too large to be downloaded", { bytes: 52_000_000 }, "", "media.too_large"],
    ["is a page that says no", {}, "<html>no such video</html>", "media.broken"],
  ] as const)(
    "of one that %s the model is shown it, and the person told",
    async (_what, declared, bytes, key) => {
      const taken = await setUp(undefined).take(Buffer.from(bytes), declared, await smallPicture());
      expect(taken.notice?.key).toBe(key);
      expect(taken.blocks).toEqual([
        expect.objectContaining({ type: "text" }),
        expect.objectContaining({ type: "image", mimeType: "image/jpeg", note: "preview of it" }),
      ]);
    },
  );
});

/** As Telegram makes them: a JPEG of at most 320 pixels a side. */
async function smallPicture(): Promise<Buffer> {
  const create = { width: 320, height: 180, channels: 3, background: "#268" } as const;
  return await sharp({ create }).jpeg().toBuffer();
}

describe.skipIf(NO_FFMPEG)("a video", () => {
  const ffmpeg = FFMPEG ?? ""; // skipped without
  const moving = (seconds: number, size: string, rate = 15): readonly string[] => [
    ...`-f lavfi -i testsrc2=duration=${seconds}:size=${size}:rate=${rate}`.split(" "),
    ..."-c:v libx264 -preset ultrafast -pix_fmt yuv420p".split(" "),
  ];

  it("with sound becomes pictures with time marks and what is said in it", async () => {
    const { take, blobs, uploads } = setUp(ffmpeg, { transcriber: server.transcriber });
    const taken = await take(await readFile(CLIP), { filename: "clip.mp4" });
    expect(taken.outcome).toBe("seen");
    const video = videoIn(taken);
    expect(video).toMatchObject({ durationSeconds: 2, width: 160, height: 120, filename: "clip.mp4" });
    expect(video.stills?.map(({ label }) => label)).toEqual(["0:00", "0:01"]);
    for (const still of video.stills ?? []) {
      const { format, width, height } = await sharp(await blobs.read(still.blob)).metadata();
      expect([format, width, height]).toEqual(["jpeg", still.width, still.height]);
    }
    expect(video.extract?.as).toBe("transcript");
    expect(uploads().map(({ file }) => file.name)).toEqual(["sound.wav"]);
  });

  it("is pictures alone where nobody listens, or the transcriber fails, and says so", async () => {
    const deaf = await setUp(ffmpeg).take(await readFile(CLIP));
    expect(videoIn(deaf).note).toBe("its sound is not listened to");
    server.reply({ status: 400 });
    const failed = await setUp(ffmpeg, { transcriber: server.transcriber }).take(await readFile(CLIP));
    expect(failed.outcome).toBe("seen");
    expect(failed.notice).toBeUndefined();
    expect(videoIn(failed)).toMatchObject({ note: "its sound could not be written down" });
  });

  it("is its words for a model that sees none", async () => {
    const blind = { senses: { images: false, pdf: false, audio: false } };
    const { take } = setUp(ffmpeg, { ...blind, transcriber: server.transcriber });
    const taken = await take(await readFile(CLIP));
    expect(taken.outcome).toBe("transcribed");
    expect(videoIn(taken).stills).toBeUndefined();
    const nothing = await setUp(ffmpeg, blind).take(await readFile(CLIP));
    expect(nothing.notice?.key).toBe("media.video_unsupported");
  });

  it("without sound, as animations are, asks nobody and says nothing of sound", async () => {
    const { take, uploads } = setUp(ffmpeg, { transcriber: server.transcriber });
    const taken = await take(await made(".mp4", moving(1, "64x64")), { label: "animation" });
    expect(videoIn(taken).note).toBeUndefined();
    expect(uploads()).toEqual([]);
  });

  it.each([
    [1, ["0:00", "0:00.5"]],
    [3, ["0:00", "0:01.5"]],
    [7, ["0:00", "0:02", "0:04", "0:06"]],
    [20, ["0:00", "0:02", "0:04", "0:06", "0:08", "0:10", "0:12", "0:14", "0:16", "0:18"]],
  ])("of %i s is shown at %j", async (seconds, labels) => {
    const taken = await setUp(ffmpeg).take(await made(".mp4", moving(seconds, "64x64", 10)));
    expect(videoIn(taken).stills?.map(({ label }) => label)).toEqual(labels);
  });

  it("that is long is gone through in larger steps, 64 pictures at most, and says so", async () => {
    const clip = await made(".mp4", [...moving(320, "64x64", 5), "-g", "10"]);
    const video = videoIn(await setUp(ffmpeg).take(clip));
    expect(video.stills?.length).toBeGreaterThan(50);
    expect(video.stills?.length).toBeLessThanOrEqual(64);
    expect(video.note).toMatch(/^\d+ frames, one every 5 s$/);
    expect(video.stills?.at(-1)?.label).toMatch(/^5:1/);
  });

  it("that is long and has hardly a key frame is still gone through", async () => {
    const clip = await made(".mp4", [
      ...moving(200, "64x64", 5),
      "-g",
      "100000",
      "-x264-params",
      "scenecut=0",
    ]);
    // A program that writes down how it is called, and does what is asked.
    const [told, program] = [join(folder, "told.txt"), join(folder, "ffmpeg.sh")];
    await writeFile(program, `#!/bin/sh\necho "$@" >> "${told}"\nexec "${ffmpeg}" "$@"\n`, { mode: 0o700 });
    expect(videoIn(await setUp(program).take(clip)).stills?.length).toBeGreaterThan(50);
    const calls = (await readFile(told, "utf8")).trim().split("\n");
    // It is asked what it is, looked at by its key frames, and gone through in what these left of the ten seconds.
    expect(calls.map((call) => /-timelimit (\d+)/.exec(call)?.[1])).toEqual(["10", "10", "9"]);
  });

  it("of more than 1 GB is not opened, whatever the settings let in", async () => {
    const { blobs } = setUp(ffmpeg);
    const blob = await blobs.put(await readFile(CLIP));
    const fetched = { file: { mimeType: "video/mp4", blob, bytes: 1_000_000_001 }, called: "the video" };
    const open = () => Promise.reject(new Error("nothing is fetched"));
    const by = reading(blobs, { open, programs: { environment: {}, ffmpeg } });
    const taken = await takeVideo(fetched, by, new AbortController().signal);
    expect(taken).toMatchObject({
      outcome: "too_large",
      notice: { values: { size: "over 1000 MB", limit: "1000 MB" } },
    });
  });

  it("is brought into 1920 × 1080 and into 4 MB in all", async () => {
    const noise = "-f lavfi -i nullsrc=s=2560x1440:d=12:r=1,geq=random(1)*255:128:128".split(" ");
    const clip = await made(".mp4", [...noise, ..."-c:v libx264 -preset ultrafast -crf 42".split(" ")]);
    const { take, blobs } = setUp(ffmpeg);
    const { stills = [], width, height } = videoIn(await take(clip));
    expect([width, height]).toEqual([2560, 1440]);
    expect(stills).toHaveLength(6);
    for (const still of stills) {
      expect(still.width).toBeLessThanOrEqual(1920);
      expect(still.height).toBeLessThanOrEqual(1080);
      // Smaller, not coarser: 16, the first step of the usual table, at quality 85 is 5.
      const jpeg = Buffer.from(await blobs.read(still.blob));
      expect(jpeg[jpeg.indexOf(Buffer.from([0xff, 0xdb])) + 5]).toBe(5);
    }
    expect(stills.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(4_000_000);
  });

  it("that is held upright is shown upright", async () => {
    const lying = await made(".mp4", moving(1, "128x64"));
    const { blobs } = setUp(ffmpeg);
    const path = blobs.pathOf(await blobs.put(lying));
    const upright = await made(".mp4", ["-i", path, "-c", "copy", "-metadata:s:v:0", "rotate=90"]);
    const video = videoIn(await setUp(ffmpeg).take(upright));
    expect([video.width, video.height]).toEqual([64, 128]);
    expect(video.stills?.map(({ width, height }) => width < height)).toEqual([true, true]);
  });

  it("with a side over 4,096 pixels is refused", async () => {
    const taken = await setUp(ffmpeg).take(await made(".mp4", moving(1, "4112x64", 2)));
    expect(taken.outcome).toBe("too_large");
    expect(taken.notice?.values).toMatchObject({ size: "4112 × 64 pixels", limit: "4096 pixels a side" });
  });

  it("sticker in WebM is looked into like any other", async () => {
    const source = "-f lavfi -i testsrc2=duration=2:size=512x512:rate=30".split(" ");
    const codec = "-c:v libvpx-vp9 -b:v 200k -deadline realtime -cpu-used 8".split(" ");
    const clip = await made(".webm", [...source, ...codec]);
    const taken = await setUp(ffmpeg).take(clip, { mimeType: "video/webm", label: "video sticker" });
    expect(videoIn(taken).stills).toHaveLength(2);
  });

  it("container that holds sound alone is listened to", async () => {
    const webm = await readFile(join(FIXTURES, "voice_known.webm"));
    const taken = await setUp(ffmpeg, { transcriber: server.transcriber }).take(webm);
    expect(taken.outcome).toBe("transcribed");
    expect(taken.blocks[0]).toMatchObject({ type: "audio", mimeType: "audio/webm" });
  });

  it.each([
    ["is cut off in its index", (bytes: Buffer) => bytes.subarray(0, 2_000)],
    [
      "is noise behind its first bytes",
      (bytes: Buffer) =>
        Buffer.concat([bytes.subarray(0, 32), bytes.subarray(64).map((byte) => byte ^ 0x5a)]),
    ],
  ])("that %s is unreadable", async (_what, damage) => {
    const taken = await setUp(ffmpeg).take(damage(await readFile(CLIP)), { label: "video" });
    expect(taken.outcome).toBe("unreadable");
    expect(taken.notice).toEqual({ key: "media.broken", values: { name: "the video" } });
  });
});
