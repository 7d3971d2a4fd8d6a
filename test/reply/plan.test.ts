import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterEach, describe, expect, it } from "vitest";
import type { ChannelLimits, PieceBody } from "../../src/core/channel.ts";
import { systemClock } from "../../src/core/clock.ts";
import { inThisProcess } from "../../src/media/workshop.ts";
import { type AnswerSettings, type PlanFor, planReply, planWords, splitText } from "../../src/reply/plan.ts";
import { renderParts } from "../../src/reply/split-tree.ts";
import { parseMarkdown } from "../../src/reply/tree.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { render, renderRich } from "../../channels/telegram/render.ts";
import { render as renderHtml } from "../../channels/web/render.ts";
import { htmlText } from "../support/html.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";

const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function setUp(
  limits: Partial<ChannelLimits> = {},
  answers: Partial<AnswerSettings> = {},
  net: PlanFor["net"] = {},
  renderer = render,
) {
  const folder = await mkdtemp(join(tmpdir(), "perch-plan-"));
  folders.push(folder);
  const outputs = join(folder, "outputs");
  await mkdir(outputs);
  const logged: LoggedLine[] = [];
  const all: ChannelLimits = {
    textLength: 4_096,
    captionLength: 20,
    fileBytes: 10_000,
    shows: {
      image: { types: ["image/png", "image/jpeg"], bytes: 10_000 },
      audio: { types: ["audio/mpeg"], bytes: 10_000, captionless: true },
    },
    album: { size: 3, mixes: [["image"], ["file"]] },
    drafts: false,
    ...limits,
  };
  const blobs = new FileBlobs(join(folder, "blobs"));
  const plan = (markdown: string): Promise<readonly PieceBody[]> =>
    planReply(markdown, {
      channel: { limits: all, render: renderer },
      roots: { outputs },
      answers: { mediaHosts: [], ...answers },
      blobs,
      workshop: inThisProcess(blobs),
      imagePixels: 1_000_000,
      clock: systemClock,
      log: memoryLog(logged),
      net,
      signal: new AbortController().signal,
    });
  return {
    plan,
    logged,
    blobs,
    put: (name: string, bytes: Uint8Array | string) => writeFile(join(outputs, name), bytes),
  };
}

const png = (width: number, height: number): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 3, background: "#38a" } })
    .png()
    .toBuffer();

/** A piece in a few words. */
function shown(body: PieceBody): string {
  switch (body.kind) {
    case "text":
      return body.rendered.text;
    case "media":
      return `<${body.media.mimeType} ${body.media.filename}> ${body.caption?.text ?? ""}`.trim();
    case "album":
      return body.items
        .map((item) => `<${item.media.filename}> ${item.caption?.text ?? ""}`.trim())
        .join(" + ");
  }
}

describe("an answer as pieces", () => {
  it("keeps text and media in order, with the alt text as the caption", async () => {
    const { plan, put } = await setUp();
    await put("a.png", await png(640, 400));
    await put("report.csv", "x;y\n1;2\n");
    const bodies = await plan(
      "Here it is:\n\n![A chart](a.png)\n\nand the figures\n\n![](report.csv)\n\n**done**",
    );
    expect(bodies.map(shown)).toEqual([
      "Here it is:",
      "<image/png a.png> A chart",
      "and the figures",
      "<text/csv report.csv>",
      "done",
    ]);
    expect(bodies[4]).toMatchObject({ rendered: { marks: [{ type: "bold", offset: 0, length: 4 }] } });
  });

  it("makes albums of pictures that stand together, as large as the channel has them", async () => {
    const { plan, put } = await setUp();
    for (const name of ["1.png", "2.png", "3.png", "4.png"]) await put(name, await png(10, 10));
    const bodies = await plan("![one](1.png)\n![two](2.png)\n![](3.png)\n![four](4.png)");
    expect(bodies.map(shown)).toEqual(["<1.png> one + <2.png> two + <3.png>", "<image/png 4.png> four"]);
  });

  it("lets a caption that is too long follow as text, and takes no markup in it", async () => {
    const { plan, put } = await setUp();
    await put("a.png", await png(10, 10));
    const bodies = await plan("![a caption of more than twenty](a.png)\n\n![a \\*b\\* c](a.png)");
    expect(bodies.map(shown)).toEqual([
      "<image/png a.png>",
      "a caption of more than twenty",
      "<image/png a.png> a *b* c",
    ]);
  });

  it("puts words in the place of what may not be sent, and keeps the rest", async () => {
    const { plan, put, logged } = await setUp();
    await put("big.bin", new Uint8Array(20_000));
    const bodies = await plan("one\n\n![x](../../etc/passwd)\n\ntwo\n\n![y](missing.png)\n\n![z](big.bin)");
    expect(bodies.map(shown)).toEqual([
      [
        "one",
        "x [passwd: not a file that may be sent]",
        "two",
        "y [missing.png: the file is not there]",
        "z [big.bin: too large to send]",
      ].join("\n\n"),
    ]);
    expect(logged.map((line) => line.fields)).toEqual([
      { code: "media.outside_root" },
      { code: "media.not_found" },
      { code: "media.too_large" },
    ]);
  });

  it("names what is refused without its folders, and without what hides or turns text", async () => {
    const { plan } = await setUp();
    const bodies = await plan(
      "![](/home/me/plots/a\u202e.png) ![](plots/missing%20one.png) ![](file:///etc/passwd)",
    );
    expect(bodies.map(shown)).toEqual([
      [
        "[a.png: not a file that may be sent]",
        "[missing%20one.png: the file is not there]",
        "[passwd: not a file that may be sent]",
      ].join("\n\n"),
    ]);
  });

  it("groups files with files and pictures with pictures, each with its caption", async () => {
    const { plan, put } = await setUp();
    for (const name of ["1.png", "2.png"]) await put(name, await png(10, 10));
    await put("a.csv", "x;y");
    await put("b.pdf", "%PDF-1.7\n");
    const bodies = await plan(
      "![one](1.png)\n![two](2.png)\n![three](a.csv)\n![four](b.pdf)\n![five](1.png)",
    );
    expect(bodies.map(shown)).toEqual([
      "<1.png> one + <2.png> two",
      "<a.csv> three + <b.pdf> four",
      "<image/png 1.png> five",
    ]);
  });

  it("lets the caption of what can have none follow as text", async () => {
    const { plan, put } = await setUp();
    await put(
      "a.mp3",
      Buffer.concat([Buffer.from("ID3\u0003\0\0\0\0\0\0"), Buffer.from([0xff, 0xfb, 0x90, 0])]),
    );
    const bodies = await plan("![a song](a.mp3)");
    expect(bodies.map(shown)).toEqual(["<audio/mpeg a.mp3>", "a song"]);
  });

  it("says that a file is empty, which no platform takes", async () => {
    const { plan, put } = await setUp();
    await put("a.txt", "");
    expect((await plan("![x](a.txt)")).map(shown)).toEqual(["x [a.txt: the file is empty]"]);
  });

  it("sends a very long answer as its first words, a file, and its media", async () => {
    const { plan, put, blobs } = await setUp({ captionLength: 100 }, { fileOverCharacters: 1_000 });
    await put("a.png", await png(10, 10));
    const long = `${"# Title\n\nwords and ".repeat(100)}\n\n![chart](a.png)\n\n**The end**`;
    const bodies = await plan(long);

    expect(bodies.map((body) => body.kind)).toEqual(["text", "media", "media"]);
    const [first, file, picture] = bodies.map(shown);
    expect(first).toMatch(/^Title\n\nwords and/);
    expect(first?.length).toBeLessThan(800);
    expect([file, picture]).toEqual([
      "<text/markdown answer.md> The whole answer is in this file.",
      "<image/png a.png> chart",
    ]);
    const body = bodies[1];
    if (body?.kind !== "media") throw new Error("no file");
    expect(Buffer.from(await blobs.read(body.media.blob)).toString()).toBe(long);
    expect((await plan("a".repeat(1_000))).map(shown)).toEqual(["a".repeat(1_000)]);
  });

  it("leaves addresses of the net links, whatever they name", async () => {
    const { plan } = await setUp();
    const [body] = await plan("![logo](https://a.example.org/a.png) and ![p](//b.example.org/b.png)");
    expect(body).toMatchObject({
      kind: "text",
      rendered: {
        text: "logo and p (//b.example.org/b.png)",
        marks: [{ url: "https://a.example.org/a.png" }],
      },
    });
  });

  it("fetches what lies at an allowed host, and leaves a link where a page or nothing comes", async () => {
    const server = createServer((request, response) => {
      if (request.url === "/a.png") void png(12, 9).then((bytes) => response.end(bytes));
      else response.end(request.url === "/page.png" ? "<!doctype html><p>log in" : "");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo; // listens on a port
    const lookup: LookupFunction = (_name, _options, callback) =>
      callback(null, [{ address: "127.0.0.1", family: 4 }]);
    const net = { lookup, isPublic: () => true };
    const { plan, logged } = await setUp({}, { mediaHosts: ["files.example.org"] }, net);
    const from = (path: string): string => `http://files.example.org:${port}/${path}`;
    try {
      const bodies = await plan(
        `![chart](${from("a.png")})\n\n![page](${from("page.png")})\n\n![empty](${from("empty.png")})`,
      );
      expect(bodies.map(shown)).toEqual(["<image/png a.png> chart", "page\n\nempty"]);
      expect(bodies[1]).toMatchObject({
        rendered: { marks: [{ url: from("page.png") }, { url: from("empty.png") }] },
      });
      expect(logged.map((line) => line.fields)).toEqual([
        { code: "media.unavailable" },
        { code: "media.unavailable" },
      ]);
    } finally {
      server.close();
    }
  });

  it("says an address of markup that is too long once, behind its words", () => {
    const address = `https://a.de/${"b".repeat(2_000)}`;
    const parts = renderParts(parseMarkdown(`[words of it](${address})`), 500, renderHtml);
    expect(parts.every(({ text }) => text.length <= 500)).toBe(true);
    expect(parts.map(({ text }) => htmlText(text)).join("")).toBe(`words of it (${address})`);
  });

  it("keeps what is more than one upload out of one album", async () => {
    const bytes = await png(10, 10);
    const { plan, put } = await setUp({ fileBytes: 2 * bytes.length });
    for (const name of ["a.png", "b.png", "c.png"]) await put(name, bytes);
    const bodies = await plan("![](a.png) ![](b.png) ![](c.png)");
    expect(bodies.map(({ kind }) => kind)).toEqual(["album", "media"]);
  });

  it("leaves out what no chat can take of many files, in one text and one line of the log", async () => {
    const { plan, put, logged } = await setUp();
    await put("a.txt", Buffer.from("a"));
    const bodies = await plan("![](a.txt)\n\n".repeat(103));
    const files = bodies.flatMap((body) => (body.kind === "album" ? body.items : []));
    expect(files).toHaveLength(99);
    expect(bodies.map(({ kind }) => kind).slice(-2)).toEqual(["media", "text"]);
    const left = Array.from({ length: 3 }, () => "[a.txt: too many files in one answer]").join("\n\n");
    expect(bodies.map(shown).at(-1)).toBe(left);
    expect(logged.map((line) => line.fields)).toEqual([{ most: 100 }]);
  });

  it("cuts markup before it is rendered, never within a tag", async () => {
    const { plan } = await setUp({ textLength: 500, markup: true });
    const bodies = await plan("- **item** with `code`\n".repeat(200));
    expect(bodies.length).toBeGreaterThan(5);
    expect(bodies.flatMap((body) => shown(body).split("\n"))).toEqual(
      Array.from({ length: 200 }, () => "• item with code"),
    );
  });

  it.each(["", " \n\u200b ", "\u2800"])(
    "says something of an answer that shows nothing (%j)",
    async (markdown) => {
      const { plan } = await setUp();
      expect((await plan(markdown)).map(shown)).toEqual(["I have nothing to say to that."]);
    },
  );

  it("splits what is longer than one message", async () => {
    const { plan } = await setUp({ textLength: 50 });
    const bodies = await plan(
      Array.from({ length: 5 }, (_, at) => `Paragraph ${at} has some words.`).join("\n\n"),
    );
    expect(bodies).toHaveLength(5);
  });
});

describe("planWords", () => {
  it("shows the names in a sentence of ours as they are, and makes no link of them", () => {
    const limits = { textLength: 4_096, captionLength: 0, fileBytes: 0, shows: {}, drafts: false } as const;
    const channel = { limits, render };
    const words = "[a](mailto:eve@evil.example) *b* &amp; `c`.txt: not usable, it is empty\nNext line.";
    expect(planWords(words, channel)).toEqual([{ kind: "text", rendered: { text: words, marks: [] } }]);
  });
});

describe("what a channel says beside its text in a form of its own", () => {
  const limits: ChannelLimits = { textLength: 20, captionLength: 0, fileBytes: 0, shows: {}, drafts: false };
  const rich = [{ type: "table" }];

  it("is kept where nothing is cut", () => {
    const whole = { text: "one two", marks: [], rich };
    expect(splitText(whole, { limits, render })).toEqual([{ kind: "text", rendered: whole }]);
  });

  it("stands beside each part of what is too long for one message", async () => {
    const table = (from: number): string =>
      [
        "| n | word |",
        "| --- | --- |",
        ...Array.from({ length: 120 }, (_, n) => `| ${from + n} | kingfisher |`),
      ].join("\n");
    const { plan } = await setUp({ textLength: 4_000 }, {}, {}, renderRich);
    const bodies = await plan(`${table(1)}\n\nAnd:\n\n${table(200)}`);
    const texts = bodies.flatMap((body) => (body.kind === "text" ? [body.rendered] : []));
    expect(texts.length).toBeGreaterThan(1);
    for (const rendered of texts) {
      expect(rendered.text.length).toBeLessThanOrEqual(4_000);
      expect(JSON.stringify(rendered.rich)).toContain("kingfisher");
    }
  });

  it("is left out where it would be said twice", () => {
    const long = { text: "one two three four five six", marks: [], rich };
    const pieces = splitText(long, { limits, render });
    expect(pieces.length).toBeGreaterThan(1);
    for (const piece of pieces) expect(piece.kind === "text" && piece.rendered).not.toHaveProperty("rich");
  });
});
