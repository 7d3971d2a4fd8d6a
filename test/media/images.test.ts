import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp, { type Sharp } from "sharp";
import { afterEach, describe, expect, it } from "vitest";
import type { MediaBlock } from "../../src/core/blocks.ts";
import { takeImage } from "../../src/media/images.ts";
import { sniff } from "../../src/media/sniff.ts";
import type { Taken } from "../../src/media/taken.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { MEDIA_LIMITS } from "../support/media.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures/media");
const MOST_BASE64 = 5_242_880;
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const fixture = (name: string): Promise<Buffer> => readFile(join(FIXTURES, name));

/** What one picture becomes, by the type that its bytes have. */
async function take(
  bytes: Uint8Array,
  limits: Partial<typeof MEDIA_LIMITS> = {},
): Promise<{ readonly taken: Taken; readonly shown: MediaBlock; readonly data: Buffer }> {
  const folder = await mkdtemp(join(tmpdir(), "perch-images-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const blobs = new FileBlobs(folder);
  const { mimeType } = await sniff(bytes.subarray(0, 4_100), { bytes: bytes.length });
  const file = { mimeType, blob: await blobs.put(bytes), bytes: bytes.length };
  const taken = await takeImage(
    { fetched: { file, called: "the picture" }, limits: { ...MEDIA_LIMITS, ...limits } },
    blobs,
  );
  const [block] = taken.blocks;
  if (block?.type !== "image") return { taken, shown: undefined as never, data: Buffer.alloc(0) }; // asked only of pictures
  const data = Buffer.from(await blobs.read(block.blob));
  expect(data.length).toBe(block.bytes);
  expect(Math.ceil(data.length / 3) * 4).toBeLessThanOrEqual(MOST_BASE64);
  const { format, width, height, orientation, exif, xmp, iptc, pages, depth, space } =
    await sharp(data).metadata();
  expect(`image/${format}`).toBe(block.mimeType);
  expect([width, height]).toEqual([block.width, block.height]);
  expect(Math.max(width, height)).toBeLessThanOrEqual(8_000);
  expect([orientation ?? 1, exif, xmp, iptc, pages ?? 1, depth]).toEqual([
    1,
    undefined,
    undefined,
    undefined,
    1,
    "uchar",
  ]);
  expect(["srgb", "b-w"]).toContain(space);
  return { taken, shown: block, data };
}

async function pixel(data: Buffer, x: number, y: number): Promise<readonly number[]> {
  const { data: raw, info } = await sharp(data).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const at = (y * info.width + x) * info.channels;
  return [...raw.subarray(at, at + 3)];
}

const near = (found: readonly number[], wanted: readonly number[]): void => {
  for (const [part, value] of found.entries()) expect(Math.abs(value - (wanted[part] ?? 0))).toBeLessThan(30);
};

const noise = (width: number, height: number): Sharp =>
  sharp(randomBytes(width * height * 3), { raw: { width, height, channels: 3 } });

describe("what models take as it is", () => {
  it.each(["photo.jpg", "red64.png", "images/static.webp", "images/ratio_300x7000.png"])(
    "%s is passed on byte for byte",
    async (name) => {
      const bytes = await fixture(name);
      const { data, shown } = await take(bytes);
      expect(data.equals(bytes)).toBe(true);
      expect(shown.note).toBeUndefined();
    },
  );

  const exif = {
    IFD0: { Copyright: "TOP-SECRET-4271" },
    IFD3: { GPSLatitudeRef: "N", GPSLatitude: "51/1 30/1 0/1" },
  };
  const xmp = '<x:xmpmeta xmlns:x="adobe:ns:meta/">TOP-SECRET-4271</x:xmpmeta>';
  const tagged = async (format: "jpeg" | "png" | "webp"): Promise<Buffer> =>
    await sharp(await fixture("photo.jpg"))
      .withExif(exif)
      .withXmp(xmp)
      .withIccProfile("p3")
      .toFormat(format)
      .toBuffer();
  const raw = (data: Buffer): Promise<Buffer> => sharp(data).raw().toBuffer();

  it.each(["jpeg", "png", "webp"] as const)(
    "a %s loses its EXIF, place and XMP, and keeps every pixel and its colour profile",
    async (format) => {
      const bytes = await tagged(format);
      expect(bytes.includes("TOP-SECRET-4271")).toBe(true);
      const { data, shown } = await take(bytes);
      expect(shown.mimeType).toBe(`image/${format}`);
      expect(data.includes("TOP-SECRET-4271")).toBe(false);
      expect(data.includes("Exif")).toBe(false);
      expect((await raw(data)).equals(await raw(bytes))).toBe(true);
      expect((await sharp(data).metadata()).icc).toEqual((await sharp(bytes).metadata()).icc);
    },
  );

  it("a JPEG loses comments, other applications' parts, thumbnails, and what hangs on behind its end", async () => {
    const photo = await fixture("photo.jpg");
    const segment = (marker: number, payload: string): Buffer => {
      const part = Buffer.from(`\xff\0\0\0${payload}`, "latin1");
      part[1] = marker;
      part.writeUInt16BE(payload.length + 2, 2);
      return part;
    };
    const secrets = [
      segment(0xfe, "TOP-SECRET-4271"),
      segment(0xe2, "MPF\0TOP-SECRET-4271"),
      segment(0xed, "Photoshop 3.0\0TOP-SECRET-4271"),
      segment(0xe0, "JFXX\0\x10TOP-SECRET-4271"),
      segment(0xe5, "TOP-SECRET-4271"),
    ];
    const bytes = Buffer.concat([
      photo.subarray(0, 20),
      ...secrets,
      photo.subarray(20),
      Buffer.from("TOP-SECRET-4271"),
    ]);
    const { data } = await take(bytes);
    expect(data.equals(photo)).toBe(true);
  });

  it("a PNG loses its texts and its time, and keeps what its colours need", async () => {
    const png = await fixture("red64.png");
    const chunk = (type: string, payload: string): Buffer => {
      const part = Buffer.from(`\0\0\0\0${type}${payload}\0\0\0\0`, "latin1");
      part.writeUInt32BE(payload.length);
      return part;
    };
    const texts = ["tEXt", "zTXt", "iTXt", "tIME", "caBX"].map((type) =>
      chunk(type, "Comment\0TOP-SECRET-4271"),
    );
    const bytes = Buffer.concat([
      png.subarray(0, 33),
      ...texts,
      png.subarray(33),
      Buffer.from("TOP-SECRET-4271"),
    ]);
    const { data } = await take(bytes);
    expect(data.equals(png)).toBe(true);
  });

  it("a still GIF loses its comments", async () => {
    const gif = await sharp(await fixture("red64.png"))
      .gif()
      .toBuffer();
    const comment = Buffer.from("\x21\xfe\x0fTOP-SECRET-4271\0", "latin1");
    const bytes = Buffer.concat([gif.subarray(0, -1), comment, gif.subarray(-1)]);
    const before = Buffer.concat([
      gif.subarray(0, 13 + (gif[10]! & 0x80 ? 3 << ((gif[10]! & 7) + 1) : 0)),
      comment,
    ]);
    const { data, shown } = await take(
      Buffer.concat([before, bytes.subarray(before.length - comment.length)]),
    );
    expect(shown.mimeType).toBe("image/gif");
    expect(data.includes("TOP-SECRET")).toBe(false);
    near(await pixel(data, 10, 10), await pixel(await fixture("red64.png"), 10, 10));
  });
});

describe("what is encoded anew", () => {
  it.each([
    ["images/avif_bytes_named.heic", [640, 480], undefined],
    ["images/photo.heic", [640, 480], undefined],
    ["images/two_pages.tiff", [640, 480], "first of 2 pages"],
    ["images/favicon.ico", [48, 48], undefined],
    ["images/cmyk.jpg", [400, 200], undefined],
    ["images/rgb16.png", [256, 128], undefined],
    ["script.svg", [1_024, 512], undefined],
  ])("%s", async (name, sides, note) => {
    const { taken, shown } = await take(await fixture(name));
    expect(taken.outcome).toBe("seen");
    expect([shown.width, shown.height]).toEqual(sides);
    expect(shown.note).toBe(note);
    expect(["image/jpeg", "image/png"]).toContain(shown.mimeType);
  });

  const [RED, GREEN, YELLOW, WHITE] = [
    [220, 30, 30],
    [30, 160, 60],
    [240, 200, 40],
    [255, 255, 255],
  ];
  const corners = async (data: Buffer): Promise<void> => {
    const { width, height } = await sharp(data).metadata();
    const found = await Promise.all(
      [
        [10, 10],
        [width - 10, 10],
        [10, height - 10],
        [width - 10, height - 10],
      ].map(([x = 0, y = 0]) => pixel(data, x, y)),
    );
    // Which colour each corner is nearest to.
    const palette = [RED, GREEN, YELLOW, WHITE];
    const nearest = found.map((colour) =>
      palette
        .map((of, index) => ({
          index,
          distance: Math.hypot(...of.map((value, part) => value - (colour[part] ?? 0))),
        }))
        .toSorted((a, b) => a.distance - b.distance)
        .at(0),
    );
    expect(nearest.map((of) => of?.index)).toEqual([0, 1, 2, 3]);
  };

  it.each(["exif6.jpg", "images/exif3.jpg", "images/exif8.jpg", "images/exif5_mirrored.jpg"])(
    "%s stands upright, red, green, yellow and white in reading order",
    async (name) => {
      const { data, shown } = await take(await fixture(name));
      expect([shown.width, shown.height]).toEqual([480, 640]);
      await corners(data);
    },
  );

  it.each([2, 3, 4, 5, 6, 7, 8])(
    "stands upright from orientation %i in a JPEG, a PNG and a WebP",
    async (orientation) => {
      const upright = sharp(await fixture("exif6.jpg")).autoOrient();
      // The same picture as a camera held so writes it: turned the other way, with the turn said.
      const back = {
        2: (image: Sharp) => image.flop(),
        3: (image: Sharp) => image.rotate(180),
        4: (image: Sharp) => image.flip(),
        5: (image: Sharp) => image.rotate(270).flop(),
        6: (image: Sharp) => image.rotate(270),
        7: (image: Sharp) => image.rotate(90).flop(),
        8: (image: Sharp) => image.rotate(90),
      }[orientation];
      const pixels = await upright.png().toBuffer();
      const turned = await back?.(sharp(pixels)).png().toBuffer();
      for (const format of ["jpeg", "png", "webp"] as const) {
        const bytes = await sharp(turned).withMetadata({ orientation }).toFormat(format).toBuffer();
        const { data, shown } = await take(bytes);
        expect([shown.width, shown.height]).toEqual([480, 640]);
        await corners(data);
      }
    },
  );

  it("keeps the colours of CMYK", async () => {
    const { data } = await take(await fixture("images/cmyk.jpg"));
    const [red = 0, green = 0, blue = 0] = await pixel(data, 10, 10);
    expect(red > 180 && green < 90 && blue < 90).toBe(true);
    const [r = 0, , b = 0] = await pixel(data, 390, 10);
    expect(b > 160 && r < 90).toBe(true);
    expect((await sharp(data).metadata()).channels).toBe(3);
  });

  const onNothing = async (colour: string): Promise<Buffer> =>
    await sharp({ create: { width: 200, height: 100, channels: 4, background: "#0000" } })
      .composite([
        { input: { create: { width: 60, height: 20, channels: 4, background: colour } }, left: 70, top: 40 },
      ])
      .png()
      .toBuffer();

  it("puts white behind dark writing on nothing, and a dark ground behind light writing", async () => {
    const { stats } = await (async () => {
      const { data } = await take(await fixture("images/transparent_black_text.png"));
      return { stats: await sharp(data).stats() };
    })();
    expect(stats.channels[0]?.mean).toBeGreaterThan(150);
    const dark = await take(await onNothing("#000"));
    near(await pixel(dark.data, 5, 5), [255, 255, 255]);
    near(await pixel(dark.data, 100, 50), [0, 0, 0]);
    const light = await take(await onNothing("#fff"));
    near(await pixel(light.data, 100, 50), [255, 255, 255]);
    expect((await pixel(light.data, 5, 5))[0]).toBeLessThan(80);
    expect(light.shown.note).toContain("dark ground");
  });

  it("leaves a picture alone that could be seen through and cannot", async () => {
    const bytes = await sharp(await fixture("photo.jpg"))
      .ensureAlpha()
      .png()
      .toBuffer();
    expect((await take(bytes)).data.equals(bytes)).toBe(true);
  });

  const frames = async (format: "gif" | "webp"): Promise<Buffer> =>
    await sharp(await fixture("animated.gif"), { animated: true })
      .toFormat(format)
      .toBuffer();

  it.each(["gif", "webp"] as const)(
    "shows the first frame of an animated %s, and says so",
    async (format) => {
      const { data, shown } = await take(await frames(format));
      expect(shown.note).toBe("first of 4 frames");
      expect([shown.width, shown.height]).toEqual([240, 180]);
      const first = await sharp(await fixture("animated.gif"))
        .png()
        .toBuffer();
      near(await pixel(data, 5, 5), await pixel(first, 5, 5));
    },
  );

  it("shows the still picture of an animated PNG", async () => {
    const png = await fixture("red64.png");
    const control = Buffer.from("\0\0\0\x08acTL\0\0\0\x05\0\0\0\0\0\0\0\0", "latin1");
    const { data, shown } = await take(Buffer.concat([png.subarray(0, 33), control, png.subarray(33)]));
    expect([shown.mimeType, shown.note]).toEqual(["image/png", "first of 5 frames"]);
    expect(data.equals(png)).toBe(true);
  });

  it("reads Windows bitmaps of every usual depth, from either end", async () => {
    const bmp = (
      depth: number,
      topDown: boolean,
      row: readonly number[],
      palette: readonly number[] = [],
    ): Buffer => {
      const from = 54 + palette.length;
      const head = Buffer.alloc(54);
      head.write("BM");
      head.writeUInt32LE(from, 10);
      head.writeUInt32LE(40, 14);
      head.writeInt32LE(2, 18);
      head.writeInt32LE(topDown ? -2 : 2, 22);
      head.writeUInt16LE(1, 26);
      head.writeUInt16LE(depth, 28);
      head.writeUInt32LE(palette.length / 4, 46);
      const black = row.map(() => 0);
      const rows = topDown ? [...row, ...black] : [...black, ...row];
      return Buffer.concat([head, Buffer.from(palette), Buffer.from(rows)]);
    };
    // Two pixels, red and blue, above two black ones (of the palette's first colour).
    const palette = [0, 0, 0, 0, 0, 0, 255, 0, 255, 0, 0, 0];
    const pictures = [
      bmp(32, false, [0, 0, 255, 0, 255, 0, 0, 0]),
      bmp(32, true, [0, 0, 255, 0, 255, 0, 0, 0]),
      bmp(24, false, [0, 0, 255, 255, 0, 0, 0, 0]),
      bmp(16, false, [0x00, 0x7c, 0x1f, 0x00]),
      bmp(8, false, [1, 2, 0, 0], palette),
      bmp(4, true, [0x12, 0, 0, 0], palette),
    ];
    for (const bytes of pictures) {
      const { data, shown } = await take(bytes);
      expect([shown.width, shown.height]).toEqual([2, 2]);
      if (shown.mimeType === "image/png") near(await pixel(data, 0, 0), [255, 0, 0]);
      if (shown.mimeType === "image/png") near(await pixel(data, 1, 0), [0, 0, 255]);
      if (shown.mimeType === "image/png") near(await pixel(data, 1, 1), [0, 0, 0]);
    }
  });
});

describe("what is too large", () => {
  it(
    "is encoded within 5 MB of base64, scaled down as far as it must be, and says so",
    { timeout: 60_000 },
    async () => {
      const bytes = await noise(3_300, 2_400).jpeg({ quality: 80 }).toBuffer();
      expect(bytes.length).toBeGreaterThan(4_500_000);
      const { shown } = await take(bytes);
      expect(shown.mimeType).toBe("image/jpeg");
      expect(shown.note).toBe("scaled down from 3300 × 2400");
      expect(shown.width).toBeGreaterThan(2_000);
    },
  );

  it("is brought within 8,000 pixels a side", async () => {
    const wide = await sharp({ create: { width: 9_000, height: 30, channels: 3, background: "#a00" } })
      .png()
      .toBuffer();
    const { shown } = await take(wide);
    expect([shown.width, shown.height, shown.note]).toEqual([8_000, 27, "scaled down from 9000 × 30"]);
  });

  it.each([
    ["bomb_30000x30000.png", "30000 × 30000"],
    ["images/huge_viewbox.svg", "100000 × 100000"],
  ])("%s is refused before it is decoded", async (name, sides) => {
    const { taken } = await take(await fixture(name));
    expect(taken).toMatchObject({
      outcome: "too_large",
      notice: { key: "media.too_many_pixels", values: { sides, limit: 50, name: "the picture" } },
    });
  });

  it.each(["photo.jpg", "images/photo.heic", "images/favicon.ico", "images/two_pages.tiff", "animated.gif"])(
    "%s is measured by what it declares",
    async (name) => {
      const { taken } = await take(await fixture(name), { imagePixels: 2_000 });
      expect(taken).toMatchObject({ outcome: "too_large", notice: { key: "media.too_many_pixels" } });
    },
  );

  it.each([
    [1, 1],
    [7_000, 7_000],
    [60_000, 60_000],
  ])("a GIF on a screen of %d × %d is the picture alone", async (width, height) => {
    const gif = await sharp(await fixture("photo.jpg"))
      .gif()
      .toBuffer();
    gif.writeUInt16LE(width, 6);
    gif.writeUInt16LE(height, 8);
    const { shown, data } = await take(gif);
    expect([shown.mimeType, data.subarray(0, 3).toString("latin1")]).not.toEqual(["image/gif", "GIF"]);
    expect([shown.width, shown.height]).toEqual([640, 480]);
  });

  it("a bitmap that declares more than it has is not believed", async () => {
    const bmp = Buffer.alloc(200);
    bmp.write("BM");
    bmp.writeUInt32LE(54, 10);
    bmp.writeUInt32LE(40, 14);
    bmp.writeInt32LE(7_000, 18);
    bmp.writeInt32LE(7_000, 22);
    bmp.writeUInt16LE(24, 28);
    expect((await take(bmp)).taken).toMatchObject({ outcome: "unreadable", notice: { key: "media.broken" } });
  });
});

describe("what cannot be read", () => {
  it.each([
    "photo.jpg",
    "red64.png",
    "images/static.webp",
    "images/two_pages.tiff",
    "images/photo.heic",
    "images/avif_bytes_named.heic",
    "images/favicon.ico",
  ])("%s cut off anywhere is broken, not an error", async (name) => {
    const bytes = await fixture(name);
    for (const part of [0.3, 0.6, 0.9]) {
      const { taken } = await take(bytes.subarray(0, Math.floor(bytes.length * part)));
      expect(taken).toMatchObject({ outcome: "unreadable", notice: { key: "media.broken" } });
    }
  });

  it("a photo that lacks nothing but its end mark is shown", async () => {
    const photo = await fixture("photo.jpg");
    for (const missing of [1, 2]) {
      const { taken, shown } = await take(photo.subarray(0, photo.length - missing));
      expect(taken.outcome).toBe("seen");
      expect([shown.mimeType, shown.width, shown.height]).toEqual(["image/jpeg", 640, 480]);
    }
    expect((await take(photo.subarray(0, photo.length - 50))).taken.outcome).toBe("unreadable");
  });

  it("a kind that is not read is named", async () => {
    const photoshop = Buffer.from(`8BPS\0\x01${"\0".repeat(40)}`, "latin1");
    expect((await take(photoshop)).taken).toMatchObject({
      outcome: "unsupported",
      notice: { key: "media.unsupported", values: { format: "PSD" } },
    });
  });
});

describe("an SVG", () => {
  it("loads nothing: no file, no address, no script, no entity", async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url ?? "");
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => server.close());
    const { port } = server.address() as AddressInfo; // it listens on TCP
    const red = join(FIXTURES, "red64.png");
    const base = `http://127.0.0.1:${port}`;
    const svg = `<?xml version="1.0"?>
      <?xml-stylesheet href="${base}/style.css"?>
      <!DOCTYPE svg SYSTEM "${base}/dtd" [<!ENTITY secret SYSTEM "file:///etc/hostname"><!ENTITY far SYSTEM "${base}/entity">]>
      <svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:xi="http://www.w3.org/2001/XInclude" width="64" height="64">
        <style>@import url("${base}/import.css"); rect { fill: url("${base}/fill.svg#a") }</style>
        <script>fetch("${base}/script")</script>
        <image width="64" height="64" xlink:href="file://${red}"/>
        <image width="64" height="64" href="${red}"/>
        <image width="64" height="64" href="${base}/image.png"/>
        <use href="${base}/use.svg#a"/>
        <xi:include href="file:///etc/hostname" parse="text"/>
        <foreignObject width="64" height="64"><iframe src="${base}/frame"/></foreignObject>
      </svg>`;
    const { taken, data } = await take(Buffer.from(svg));
    expect(asked).toEqual([]);
    // Drawn without them, or not at all.
    if (taken.outcome === "seen") near(await pixel(data, 500, 500), [255, 255, 255]);
    else expect(taken.outcome).toBe("unreadable");
  });

  it("that is drawn again and again within itself ends as broken", { timeout: 60_000 }, async () => {
    const levels = Array.from(
      { length: 12 },
      (_, n) => `<g id="l${n + 1}">${`<use href="#l${n}"/>`.repeat(10)}</g>`,
    ).join("");
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><defs><rect id="l0" width="9" height="9"/>${levels}</defs><use href="#l12"/></svg>`;
    expect(["unreadable", "seen"]).toContain((await take(Buffer.from(svg))).taken.outcome);
  });

  it("with words in it is drawn large enough to be read", async () => {
    const { shown, data } = await take(await fixture("script.svg"));
    expect(shown.width).toBe(1_024);
    const { channels } = await sharp(data).stats();
    expect(channels[0]?.stdev).toBeGreaterThan(5);
  });
});
