import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import sharp from "sharp";
import type { Case } from "./cases.ts";
import { anyOf, checkRun, turnOf, wordsOf } from "./expected.ts";
import { caseFile } from "./files.ts";
import { drive, type Run } from "./inbound.ts";
import { noticesIn } from "./notices.ts";
import type { World } from "./world.ts";

type Detail = (runs: readonly Run[], one: Case, world: World) => void | Promise<void>;

/** What a case says in words that the fields of its expectation do not hold. */
export const DETAILS: Readonly<Record<string, Detail>> = {
  "IMG-16": (runs) => checkCorners(runs),
  "IMG-17": (runs) => checkCorners(runs),

  async "IMG-18"([run]) {
    const pixel = await pixels(imageOf(run!));
    const [red, blue] = [pixel(10, 10), pixel(390, 10)];
    expect(red.r).toBeGreaterThan(180);
    expect(Math.max(red.g, red.b)).toBeLessThan(90);
    expect(blue.b).toBeGreaterThan(160);
    expect(blue.r).toBeLessThan(90);
  },

  async "IMG-19"([run]) {
    const { width, height } = await sharp(imageOf(run!)).metadata();
    expect([width, height]).toEqual([256, 128]);
  },

  async "IMG-20"([run]) {
    const image = sharp(imageOf(run!));
    const { hasAlpha } = await image.metadata();
    const { channels } = await image.stats();
    if (!hasAlpha) expect(channels[0]!.mean).toBeGreaterThan(150); // every picture has a channel
  },

  "DOC-01": ([run]) => expect(run!.talk.uploads).toEqual([]),
  "DOC-02": ([run]) => expect(run!.talk.uploads).toEqual([]),

  "DOC-14": ([run]) => expect(said(run!)).toMatch(/305[ ,.]?718|306 KB/),

  async "DOC-17"(runs) {
    for (const run of runs) expect(said(run)).toContain(run.bytes.toString("utf8").trim());
  },

  "BIN-01": ([run]) => expect(said(run!)).not.toContain("PK\u0003\u0004"),
  "BIN-10": ([run]) => expect(noticesIn(said(run!))[0]?.sentence).toMatch(/password|protect/),
  "BIN-14": ([run]) => expect(turnOf(run!).files).toEqual([]),

  async "BIN-17"([run], one, world) {
    expect(turnOf(run!).types).toContain("input_image");
    const [other] = await drive(one, world, { door: "chat" });
    await checkRun(one, other!); // as many as before
    expect(turnOf(other!).types).toContain("image_url");
  },

  "FIL-01"([run]) {
    expect(existsSync("/tmp/escape-4271.md")).toBe(false);
    expect(said(run!)).toContain('"escape-4271.md"');
    expect(said(run!)).not.toContain("../");
    expect(uploadsOf(run!)).toEqual(["escape-4271.md"]);
  },

  "FIL-03"([run], _one, { gateway }) {
    const everywhere = [
      said(run!),
      ...uploadsOf(run!),
      JSON.stringify(gateway.logged),
      JSON.stringify(run!.talk.shown()),
    ];
    for (const words of everywhere) expect(words).not.toMatch(/\p{Bidi_Control}/u);
    expect(said(run!)).toContain("gpj.exe");
  },

  "FIL-04"([run]) {
    expect(said(run!)).toContain(run!.filename);
    expect(uploadsOf(run!)).toEqual([run!.filename]);
  },

  "FIL-06"([run]) {
    const [name = ""] = uploadsOf(run!);
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
    expect(name).toMatch(/^é{20,}.*\.md$/);
    expect(name).not.toContain("\ufffd");
  },

  "FIL-07"(runs) {
    expect(runs).toHaveLength(6);
    for (const run of runs) {
      const [name = "", ...more] = uploadsOf(run);
      expect(name).toMatch(/^\w/);
      expect(more).toEqual([]);
    }
  },

  "INJ-02": ([run]) => expect(said(run!)).not.toMatch(/<\/document>|<system>|<document name/),

  // However its signs are written: as in JSON, in XML or in an address.
  "INJ-03"([run]) {
    const ways = [fromJson, fromXml, fromAddress, (text: string) => fromJson(fromXml(text))];
    expect(ways.map((unescaped) => unescaped(said(run!))).join("\n")).toContain(run!.filename);
  },

  "INJ-04"([run]) {
    const [, mark = "", text = ""] = /<(\w+-[0-9a-f]{16,})>\n([^]*)\n<\/\1>/.exec(said(run!)) ?? [];
    expect(said(run!).split(mark)).toHaveLength(3);
    expect(run!.input.inline_file).not.toContain(mark);
    expect(text).toMatch(/^a\n[^]*\nb 4271\n?$/);
  },

  async "VOI-05"(_runs, one, world) {
    const shouted = { ...one, input: { ...one.input, declared_mime: "Audio/OGG; codecs=OPUS" } };
    for (const run of await drive(shouted, world)) await checkRun(one, run);
  },
};

/** What became of a state that a case describes in words alone. */
export const STATES: Readonly<Record<string, Detail>> = {
  "QUE-14": ([run]) => expect(said(run!)).toMatch(/archive\.zip[^]*(unpack|archive)/),
};

function said(run: Run): string {
  return wordsOf(turnOf(run));
}

function imageOf(run: Run): Buffer {
  const [image] = turnOf(run).images;
  if (!image) throw new Error("the model was shown no picture");
  return image.bytes;
}

/** Upright, in whatever way: red, green, yellow and white in reading order. */
async function checkCorners(runs: readonly Run[]): Promise<void> {
  for (const run of runs) {
    const bytes = imageOf(run);
    const { orientation = 1, width, height } = await sharp(bytes).metadata();
    await anyOf([
      async () => {
        expect({ orientation, width, height }).toEqual({ orientation: 1, width: 480, height: 640 });
        const pixel = await pixels(bytes);
        const corners = [pixel(40, 40), pixel(440, 40), pixel(40, 600), pixel(440, 600)];
        const wanted = [
          { r: 220, g: 20, b: 20 },
          { r: 20, g: 180, b: 20 },
          { r: 240, g: 220, b: 20 },
          { r: 255, g: 255, b: 255 },
        ];
        for (const [at, { r, g, b }] of corners.entries()) {
          const want = wanted[at]!; // four of each
          const off = Math.max(Math.abs(r - want.r), Math.abs(g - want.g), Math.abs(b - want.b));
          expect(off, `corner ${at}: ${r}, ${g}, ${b}`).toBeLessThanOrEqual(25);
        }
      },
      async () => expect(bytes).toEqual(await caseFile(run.input.file ?? "")),
    ]);
  }
}

async function pixels(image: Buffer): Promise<(x: number, y: number) => { r: number; g: number; b: number }> {
  const { data, info } = await sharp(image).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return (x, y) => {
    const at = (y * info.width + x) * info.channels;
    const [r = -1, g = -1, b = -1] = data.subarray(at, at + 3);
    return { r, g, b };
  };
}

function uploadsOf({ talk }: Run): readonly string[] {
  return readdirSync(join(talk.turns[0]?.folder ?? "", "uploads"));
}

function fromXml(text: string): string {
  const signs: Readonly<Record<string, string>> = {
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    amp: "&",
    "#39": "'",
  };
  return text.replaceAll(/&([a-z#0-9]+);/g, (entity, name: string) => signs[name] ?? entity);
}

function fromJson(text: string): string {
  return text.replaceAll(/\\u([0-9a-f]{4})|\\(["\\])/gi, (_all, code: string | undefined, sign: string) =>
    code === undefined ? sign : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

function fromAddress(text: string): string {
  return text.replaceAll(/%([0-9a-f]{2})/gi, (_all, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}
