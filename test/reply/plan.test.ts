import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterEach, describe, expect, it } from "vitest";
import type { ChannelLimits, PieceBody } from "../../src/core/channel.ts";
import { planReply, planWords } from "../../src/reply/plan.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { render } from "../../channels/telegram/render.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";

const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function setUp(limits: Partial<ChannelLimits> = {}) {
  const folder = await mkdtemp(join(tmpdir(), "perch-plan-"));
  folders.push(folder);
  const outputs = join(folder, "outputs");
  await mkdir(outputs);
  const logged: LoggedLine[] = [];
  const all: ChannelLimits = {
    textLength: 4_096,
    captionLength: 20,
    mediaBytes: { image: 10_000, audio: 10_000, video: 10_000, file: 10_000 },
    albumSize: 3,
    drafts: false,
    ...limits,
  };
  const plan = (markdown: string): Promise<readonly PieceBody[]> =>
    planReply(markdown, {
      channel: { limits: all, render },
      roots: { outputs },
      blobs: new FileBlobs(join(folder, "blobs")),
      log: memoryLog(logged),
    });
  return {
    plan,
    logged,
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
      "one",
      "[passwd: not a file that may be sent]",
      "two",
      "[missing.png: the file is not there]",
      "[big.bin: too large to send]",
    ]);
    expect(logged.map((line) => line.fields)).toEqual([
      { code: "media.outside_root" },
      { code: "media.not_found" },
      { code: "media.too_large" },
    ]);
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
    const limits = { textLength: 4_096, captionLength: 0, albumSize: 1, drafts: false } as const;
    const none = { image: 0, audio: 0, video: 0, file: 0 };
    const channel = { limits: { ...limits, mediaBytes: none }, render };
    const words = "[a](mailto:eve@evil.example) *b* &amp; `c`.txt: not usable, it is empty\nNext line.";
    expect(planWords(words, channel)).toEqual([{ kind: "text", rendered: { text: words, marks: [] } }]);
  });
});
