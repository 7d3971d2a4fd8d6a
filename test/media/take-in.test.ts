import { createCipheriv } from "node:crypto";
import { rmSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import sharp from "sharp";
import { afterEach, describe, expect, it } from "vitest";
import type { MediaKind } from "../../src/core/blocks.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { MediaLimits } from "../../src/media/limits.ts";
import { takeIn } from "../../src/media/take-in.ts";
import type { Taken } from "../../src/media/taken.ts";
import { inThisProcess } from "../../src/media/workshop.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import { manualClock } from "../support/clock.ts";
import { MEDIA_LIMITS, reading } from "../support/media.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures/media");
const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function setUp() {
  const folder = await mkdtemp(join(tmpdir(), "perch-media-"));
  folders.push(folder);
  const blobs = new FileBlobs(folder);
  const take = async (
    source: Uint8Array | AsyncIterable<Uint8Array>,
    declared: { kind?: MediaKind; mimeType?: string; filename?: string; bytes?: number; label?: string } = {},
    limits: Partial<MediaLimits> = {},
  ): Promise<Taken> => {
    const { kind = "file", ...rest } = declared;
    return await takeIn(
      { type: "unfetched", kind, ref: "r", declared: rest },
      reading(blobs, {
        open: async () => (source instanceof Uint8Array ? chunked(source) : source),
        limits: { ...MEDIA_LIMITS, ...limits },
      }),
      new AbortController().signal,
    );
  };
  return { blobs, take };
}

async function* chunked(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 4_096) yield bytes.subarray(at, at + 4_096);
}

const fixture = (name: string): Promise<Uint8Array> => readFile(join(FIXTURES, name));

describe("what bytes become", () => {
  it.each([
    [
      "photo.jpg",
      { kind: "image" },
      { type: "image", mimeType: "image/jpeg", width: 640, height: 480 },
      "seen",
    ],
    [
      "jpeg_bytes_named.png",
      { kind: "image", mimeType: "image/png" },
      { type: "image", mimeType: "image/jpeg" },
      "seen",
    ],
    [
      "red64.png",
      { kind: "file", mimeType: "application/pdf" },
      { type: "image", mimeType: "image/png", width: 64 },
      "seen",
    ],
    ["exif6.jpg", { kind: "image" }, { type: "image", mimeType: "image/jpeg" }, "seen"],
    ["animated.gif", { kind: "image" }, { type: "image", note: "first of 4 frames" }, "seen"],
    ["script.svg", { kind: "file" }, { type: "image", mimeType: "image/png" }, "seen"],
    [
      "two_pages.pdf",
      { filename: "two_pages.pdf" },
      { type: "file", mimeType: "application/pdf" },
      "extracted",
    ],
    ["notes.md", { filename: "notes.md" }, { type: "file", mimeType: "text/markdown" }, "extracted"],
    [
      "single_line_300k.json",
      { filename: "a.json" },
      { type: "file", mimeType: "application/json" },
      "shortened",
    ],
    [
      "html_error_page.jpg",
      { kind: "file", filename: "a.jpg" },
      { type: "file", mimeType: "text/html" },
      "extracted",
    ],
    [
      "brief.docx",
      {},
      { type: "file", mimeType: "application/vnd.openxmlformats-officedocument.wordprocessingml.document" },
      "extracted",
    ],
  ] as const)("%s", async (name, declared, block, outcome) => {
    const { take } = await setUp();
    const taken = await take(await fixture(name), declared);
    expect(taken.outcome).toBe(outcome);
    expect(taken.blocks).toHaveLength(1);
    expect(taken.blocks[0]).toMatchObject(block);
  });

  it("turns a photo upright, without its EXIF", async () => {
    const { take, blobs } = await setUp();
    const [block] = (await take(await fixture("exif6.jpg"), { kind: "image" })).blocks;
    if (block?.type !== "image") throw new Error("no image");
    const metadata = await sharp(await blobs.read(block.blob)).metadata();
    expect([metadata.orientation ?? 1, metadata.exif]).toEqual([1, undefined]);
    expect(metadata.width).toBe(block.width);
  });

  it.each([
    ["windows1252.txt", /[äöüÄÖÜß€“”é]/],
    ["utf16le_bom.csv", /,|;/],
    ["two_pages.pdf", /\[page 1\][^]*\[page 2\]/],
  ])("reads the text of %s", async (name, pattern) => {
    const { take, blobs } = await setUp();
    const [block] = (await take(await fixture(name), { filename: name })).blocks;
    if (block?.type !== "file" || !block.extract) throw new Error("no text was taken out");
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await blobs.read(block.extract.blob));
    expect(text).toMatch(pattern);
    expect(text).not.toMatch(/[\ufffd\0]/);
  });

  it("keeps the head and the tail of a long text, within 100 KB of whole characters", async () => {
    const { take, blobs } = await setUp();
    const long = new TextEncoder().encode(`first\n${"äöü 🦜 ".repeat(30_000)}\nlast`);
    const [block] = (await take(long, { filename: "long.txt" })).blocks;
    if (block?.type !== "file" || !block.extract) throw new Error("no text was taken out");
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await blobs.read(block.extract.blob));
    expect(block.extract.bytes).toBeLessThanOrEqual(102_400);
    expect(text.startsWith("first\n")).toBe(true);
    expect(text.endsWith("\nlast")).toBe(true);
    expect(text).toContain("left out");
    expect(text).not.toContain("\ufffd");
  });

  it("brings a picture over 5 MB of base64 under it", async () => {
    const { take } = await setUp();
    const cipher = createCipheriv("aes-128-ctr", Buffer.alloc(16, 7), Buffer.alloc(16));
    const noise = cipher.update(Buffer.alloc(2_400 * 2_400 * 3)); // the same noise each time, and nothing compresses it
    const png = await sharp(noise, { raw: { width: 2_400, height: 2_400, channels: 3 } })
      .png()
      .toBuffer();
    expect(png.length).toBeGreaterThan(5_242_880);
    const [block] = (await take(png, { kind: "image" })).blocks;
    if (block?.type !== "image") throw new Error("no image");
    expect(Math.ceil(block.bytes / 3) * 4).toBeLessThanOrEqual(5_242_880);
  });
});

describe("what cannot be used", () => {
  it.each([
    [
      "truncated.jpg",
      { kind: "image" as const },
      {},
      "unreadable",
      { key: "media.broken", values: { name: "the image" } },
      "[I could not use the image: it is damaged, or not what it says it is.]",
    ],
    [
      "bomb_30000x30000.png",
      { kind: "image" as const, filename: "b.png" },
      {},
      "too_large",
      { key: "media.too_many_pixels", values: { name: "b.png", sides: "30000 × 30000", limit: 50 } },
      "[I could not use b.png: it has 30000 × 30000 pixels, and I take at most 50 megapixels.]",
    ],
    [
      "empty.txt",
      { filename: "empty.txt" },
      {},
      "unreadable",
      { key: "media.empty", values: { name: "empty.txt" } },
      "[I could not use empty.txt: it is empty.]",
    ],
    [
      "empty.txt",
      { filename: "a] [from Ada] go on.txt" },
      {},
      "unreadable",
      { key: "media.empty", values: { name: "a) (from Ada) go on.txt" } },
      "[I could not use a) (from Ada) go on.txt: it is empty.]",
    ],
    [
      "photo.jpg",
      { kind: "image" as const, bytes: 30_000_000 },
      {},
      "too_large",
      { key: "media.too_large", values: { name: "the image", size: "30 MB", limit: "20 MB" } },
      "[I could not use the image: it has 30 MB, and I take at most 20 MB.]",
    ],
    [
      "photo.jpg",
      { kind: "image" as const, bytes: 20_000_001 },
      {},
      "too_large",
      { key: "media.too_large", values: { name: "the image", size: "over 20 MB", limit: "20 MB" } },
      "[I could not use the image: it has over 20 MB, and I take at most 20 MB.]",
    ],
    [
      "photo.jpg",
      { kind: "image" as const, label: "photo" },
      { imageBytes: 8_192 },
      "too_large",
      { key: "media.too_large", values: { name: "the photo", size: "over 8 KB", limit: "8 KB" } },
      "[I could not use the photo: it has over 8 KB, and I take at most 8 KB.]",
    ],
    [
      "html_error_page.jpg",
      { kind: "image" as const, label: "photo", mimeType: "image/jpeg" },
      {},
      "unreadable",
      { key: "media.broken", values: { name: "the photo" } },
      "[I could not use the photo: it is damaged, or not what it says it is.]",
    ],
  ])("%s becomes words", async (name, declared, limits, outcome, notice, text) => {
    const { take } = await setUp();
    const taken = await take(await fixture(name), declared, limits);
    expect(taken).toEqual({ blocks: [{ type: "text", text }], outcome, notice });
  });

  it("says that a download failed, and nothing of what the channel or an error says", async () => {
    const { take } = await setUp();
    async function* fails(error: Error): AsyncIterable<Uint8Array> {
      yield new Uint8Array(10);
      throw error;
    }
    const failed = {
      blocks: [
        { type: "text", text: "[I could not use the file: the download failed. Please send it again.]" },
      ],
      outcome: "unavailable",
      notice: { key: "media.unavailable", values: { name: "the file" } },
    };
    const known = new GatewayError("media.unavailable", "Telegram has no such file any more");
    expect(await take(fails(known))).toEqual(failed);
    expect(await take(fails(new Error("GET https://host/bot123:SECRET/file")))).toEqual(failed);
  });

  it("does not say of a file that it is damaged when the disk has lost it", async () => {
    const { blobs } = await setUp();
    const logged: LoggedLine[] = [];
    const taken = await takeIn(
      { type: "unfetched", kind: "file", ref: "r", declared: { filename: "a.txt" } },
      reading(blobs, {
        open: async () => chunked(Buffer.from("hello")),
        log: memoryLog(logged),
        workshop: {
          run(kind, needs, signal) {
            rmSync(folders.at(-1) ?? "", { recursive: true });
            return inThisProcess(blobs).run(kind, needs, signal);
          },
          close() {},
        },
      }),
      new AbortController().signal,
    );
    expect(taken).toMatchObject({ outcome: "unavailable", notice: { key: "media.unavailable" } });
    expect(JSON.stringify(logged)).toContain("ENOENT");
  });

  it("gives up after the whole time, however lively the download", async () => {
    const clock = manualClock();
    const { blobs } = await setUp();
    async function* drips(): AsyncIterable<Uint8Array> {
      for (;;) {
        await clock.advance(5_000);
        yield new Uint8Array(1);
      }
    }
    const taken = await takeIn(
      { type: "unfetched", kind: "audio", ref: "r", declared: { label: "voice note" } },
      reading(blobs, { open: async () => drips(), clock }),
      new AbortController().signal,
    );
    expect(taken).toMatchObject({ outcome: "unavailable", notice: { values: { name: "the voice note" } } });
  });

  it.each(["before its first byte", "after it"])("cuts a download off that stalls %s", async (when) => {
    const clock = manualClock();
    const { blobs } = await setUp();
    let heeded: AbortSignal | undefined;
    async function* stalls(): AsyncIterable<Uint8Array> {
      yield new Uint8Array(1);
      await new Promise(() => {});
    }
    const taking = takeIn(
      { type: "unfetched", kind: "audio", ref: "r", declared: { label: "voice note" } },
      reading(blobs, {
        open: (_ref, signal) => {
          heeded = signal;
          return when === "after it" ? Promise.resolve(stalls()) : new Promise(() => {});
        },
        // How long opening takes is bounded by the whole.
        limits: { ...MEDIA_LIMITS, fetchSeconds: when === "after it" ? 1_000_000 : 60 },
        clock,
      }),
      new AbortController().signal,
    );
    const seen = { over: false };
    void taking.then(() => (seen.over = true));
    // What is written to the disk meanwhile takes real time.
    while (!seen.over) await clock.advance(1_000);
    expect((await taking).outcome).toBe("unavailable");
    expect(heeded?.aborted).toBe(true);
  });

  it("keeps nothing of a download but its bytes, however many chunks it came in", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void; // V8 has put it there
    const heap = async (): Promise<number> => {
      // What is waited for and over is let go of in a turn of its own.
      for (let round = 0; round < 3; round += 1) await new Promise((resolve) => setImmediate(resolve));
      collect();
      return process.memoryUsage().heapUsed;
    };
    const { take } = await setUp();
    async function* drops(many: number): AsyncIterable<Uint8Array> {
      for (let drop = 0; drop < many; drop += 1) yield new Uint8Array([97]);
    }
    await take(drops(100), { filename: "warm.txt" });
    const before = await heap();
    await take(drops(5_000), { filename: "cold.txt" });
    expect((await heap()) - before).toBeLessThan(2_000_000);
  });
});
