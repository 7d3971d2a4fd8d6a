import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import sharp from "sharp";
import { afterEach, describe, expect, it } from "vitest";
import { LIMITS as telegram } from "../../channels/telegram/limits.ts";
import { LIMITS as web } from "../../channels/web/channel.ts";
import { LIMITS as whatsapp } from "../../channels/whatsapp/limits.ts";
import type { ChannelLimits } from "../../src/core/channel.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { inThisProcess, type Workshop } from "../../src/media/workshop.ts";
import { formOf } from "../../src/reply/media-form.ts";
import { FileBlobs } from "../../src/store/blobs.ts";

const MEDIA = join(import.meta.dirname, "../fixtures/media");
const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function setUp(limits: ChannelLimits, workshop?: Workshop) {
  const folder = await mkdtemp(join(tmpdir(), "perch-form-"));
  folders.push(folder);
  const blobs = new FileBlobs(join(folder, "blobs"));
  const by = {
    shows: limits.shows,
    workshop: workshop ?? inThisProcess(blobs),
    imagePixels: 50_000_000,
    signal: new AbortController().signal,
  };
  return async (bytes: Uint8Array, filename: string) => {
    async function* once() {
      yield bytes;
    }
    const { as, media } = await formOf(await blobs.write(once(), Infinity), filename, by);
    const { type, mimeType, filename: name, width, height } = media;
    return { as, type, mimeType, name, sides: [width, height], bytes: await blobs.read(media.blob) };
  };
}

const fixture = (name: string): Promise<Buffer> => readFile(join(MEDIA, name));
const flat = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: "#38a" } });
const noise = (width: number, height: number): Promise<Buffer> =>
  sharp({
    create: {
      width,
      height,
      channels: 3,
      background: "#000",
      noise: { type: "gaussian", mean: 128, sigma: 60 },
    },
  })
    .png({ compressionLevel: 0 })
    .toBuffer();

const made: Readonly<Record<string, () => Promise<Buffer>>> = {
  "still.gif": () => flat(8, 8).gif().toBuffer(),
  "animated.webp": async () =>
    sharp(await fixture("animated.gif"), { animated: true })
      .webp()
      .toBuffer(),
  "wide.png": () => flat(2_100, 100).png().toBuffer(),
  "poster.png": () => flat(9_000, 1_001).png().toBuffer(),
  "noise.png": () => noise(2_000, 2_000),
  "vorbis.ogg": async () =>
    Buffer.from("OggS" + "\0".repeat(24) + "\u0001vorbis" + "\0".repeat(40), "latin1"),
};

const forms = async (limits: ChannelLimits, names: readonly string[]) => {
  const form = await setUp(limits);
  return await Promise.all(
    names.map(async (name) => {
      const {
        as,
        mimeType,
        name: called,
      } = await form(await (made[name] ?? (() => fixture(name)))(), basename(name));
      return [as, mimeType, called].join(" ");
    }),
  );
};

describe("the form of a file", () => {
  it.each([
    ["photo.jpg", "image image/jpeg photo.jpg", "image image/jpeg photo.jpg", "image image/jpeg photo.jpg"],
    ["red64.png", "image image/png red64.png", "image image/png red64.png", "image image/png red64.png"],
    [
      "images/static.webp",
      "image image/webp static.webp",
      "image image/webp static.webp",
      "image image/jpeg static.jpg",
    ],
    [
      "animated.gif",
      "animation image/gif animated.gif",
      "animation image/gif animated.gif",
      "file image/gif animated.gif",
    ],
    ["still.gif", "image image/png still.png", "image image/gif still.gif", "image image/png still.png"],
    [
      "animated.webp",
      "animation image/gif animated.gif",
      "animation image/webp animated.webp",
      "file image/webp animated.webp",
    ],
    ["script.svg", "image image/png script.png", "image image/png script.png", "image image/png script.png"],
    [
      "images/rgb16.png",
      "image image/png rgb16.png",
      "image image/png rgb16.png",
      "image image/png rgb16.png",
    ],
    [
      "images/cmyk.jpg",
      "image image/jpeg cmyk.jpg",
      "image image/jpeg cmyk.jpg",
      "image image/jpeg cmyk.jpg",
    ],
    [
      "images/photo.heic",
      "image image/jpeg photo.jpg",
      "image image/jpeg photo.jpg",
      "image image/jpeg photo.jpg",
    ],
    [
      "images/two_pages.tiff",
      "file image/tiff two_pages.tiff",
      "file image/tiff two_pages.tiff",
      "file image/tiff two_pages.tiff",
    ],
    [
      "images/ratio_300x7000.png",
      "file image/png ratio_300x7000.png",
      "image image/png ratio_300x7000.png",
      "file image/png ratio_300x7000.png",
    ],
    ["wide.png", "file image/png wide.png", "image image/png wide.png", "file image/png wide.png"],
    ["poster.png", "file image/png poster.png", "image image/png poster.png", "file image/png poster.png"],
    ["noise.png", "file image/png noise.png", "image image/png noise.png", "file image/png noise.png"],
    [
      "bomb_30000x30000.png",
      "file image/png bomb_30000x30000.png",
      "file image/png bomb_30000x30000.png",
      "file image/png bomb_30000x30000.png",
    ],
    [
      "html_error_page.jpg",
      "file text/html html_error_page.jpg",
      "file text/html html_error_page.jpg",
      "file text/html html_error_page.jpg",
    ],
    [
      "two_pages.pdf",
      "file application/pdf two_pages.pdf",
      "file application/pdf two_pages.pdf",
      "file application/pdf two_pages.pdf",
    ],
    [
      "voice_known.ogg",
      "voice audio/ogg voice_known.ogg",
      "audio audio/ogg voice_known.ogg",
      "voice audio/ogg voice_known.ogg",
    ],
    ["vorbis.ogg", "file audio/ogg vorbis.ogg", "audio audio/ogg vorbis.ogg", "file audio/ogg vorbis.ogg"],
    [
      "audio/voice_known.mp3",
      "audio audio/mpeg voice_known.mp3",
      "audio audio/mpeg voice_known.mp3",
      "audio audio/mpeg voice_known.mp3",
    ],
    [
      "video/clip_with_audio.mp4",
      "video video/mp4 clip_with_audio.mp4",
      "video video/mp4 clip_with_audio.mp4",
      "video video/mp4 clip_with_audio.mp4",
    ],
  ])("%s is on Telegram %s, in the web chat %s, on WhatsApp %s", async (name, ...expected) => {
    const found = await Promise.all([telegram, web, whatsapp].map((limits) => forms(limits, [name])));
    expect(found.flat()).toEqual(expected);
  });

  it("is what it was, byte for byte, where nothing stands in the way", async () => {
    const form = await setUp(telegram);
    for (const name of ["photo.jpg", "exif6.jpg", "animated.gif", "images/ratio_300x7000.png"]) {
      const bytes = await fixture(name);
      expect((await form(bytes, name)).bytes.length).toBe(bytes.length);
    }
    expect((await form(await fixture("exif6.jpg"), "exif6.jpg")).sides).toEqual([480, 640]);
  });

  it("is made 8 bits deep and RGB at the same size where the platform wants that", async () => {
    const form = await setUp(whatsapp);
    for (const name of ["images/rgb16.png", "images/cmyk.jpg"]) {
      const before = await sharp(await fixture(name)).metadata();
      const after = await sharp((await form(await fixture(name), basename(name))).bytes).metadata();
      expect([after.depth, after.space, after.width, after.height]).toEqual([
        "uchar",
        "srgb",
        before.width,
        before.height,
      ]);
    }
  });

  it("keeps every frame of an animation that is made another", async () => {
    const form = await setUp(telegram);
    const { bytes } = await form(await made["animated.webp"]!(), "a.webp"); // is in the list
    expect((await sharp(bytes).metadata()).pages).toBe(4);
  });

  it("is a file where looking at it took too long or ended its process", async () => {
    for (const code of ["media.too_slow", "media.unreadable"] as const) {
      const workshop: Workshop = {
        run: () => Promise.reject(new GatewayError(code, "it took longer than 60 s")),
        close() {},
      };
      const form = await setUp(telegram, workshop);
      expect(await form(await fixture("photo.jpg"), "photo.jpg")).toMatchObject({ as: "file", type: "file" });
    }
  });
});
