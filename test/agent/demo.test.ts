import { stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ContentBlock } from "../../src/core/blocks.ts";
import { demoAssets } from "../../src/agent/demo-assets.ts";
import { bench, definition, turn } from "./set-up.ts";

const agent = definition();
const PHOTO: ContentBlock = { type: "image", mimeType: "image/jpeg", blob: "sha256:01", bytes: 52_300 };
const extract = { as: "text", blob: "sha256:00", bytes: 9 } as const;

describe("the demo agent", () => {
  it("says that no model is set up and how to set one up", async () => {
    const answer = await bench().say(agent, "1", "hello");
    expect(answer).toContain("**No model is set up yet**");
    expect(answer).toContain("`PERCH_MODEL=openai:gpt-5`");
    expect(answer).toContain("`OPENAI_API_KEY`");
  });

  it("tells block by block what it received", async () => {
    const { blobs, say } = bench();
    const words = "Chapter one, in which a heron and a kingfisher meet at the old mill pond";
    const document = await blobs.put(Buffer.from(words));
    const content: readonly ContentBlock[] = [
      { type: "text", text: "what is *this*?" },
      {
        type: "image",
        mimeType: "image/jpeg",
        blob: "sha256:01",
        bytes: 52_300,
        width: 640,
        height: 400,
        caption: "me",
      },
      {
        type: "audio",
        mimeType: "audio/wav",
        blob: "sha256:02",
        bytes: 812,
        durationSeconds: 65,
        note: "made from audio/ogg, 96 bytes",
      },
      {
        type: "file",
        mimeType: "application/pdf",
        blob: "sha256:03",
        bytes: 3_400_000,
        filename: "mill_pond.pdf",
        extract: { as: "text", blob: document, bytes: words.length },
      },
      { type: "file", mimeType: "text/plain", blob: "sha256:04", bytes: 9, filename: "n.txt", extract },
    ];
    expect((await say(agent, "1", content)).split("\n\n")[2]?.split("\n")).toEqual([
      String.raw`- text: “what is \*this\*?”`,
      "- image: image/jpeg, 52 KB, 640 × 400 px; it says “me”",
      "- audio: audio/wav, 812 bytes, 1 min 05 s, made from audio/ogg, 96 bytes",
      String.raw`- file mill\_pond.pdf: application/pdf, 3.4 MB; its text begins “Chapter one, in which a heron and a kingfisher meet at the …”`,
      "- file n.txt: text/plain, 9 bytes; its text is no longer available",
    ]);
  });

  it("tells no more than the beginning of a text without blanks", async () => {
    const { blobs, say } = bench();
    const blob = await blobs.put(Buffer.from("a".repeat(100_000)));
    const answer = await say(agent, "1", [
      {
        type: "file",
        mimeType: "text/plain",
        blob,
        bytes: 100_000,
        extract: { as: "text", blob, bytes: 100_000 },
      },
    ]);
    expect(answer).toContain("its text begins “aaaa");
    expect(answer.length).toBeLessThan(1_000);
  });

  it("tells what it remembers of the chat", async () => {
    const { say } = bench();
    expect(await say(agent, "1", "hello")).toContain("This is the first message of yours that I remember");
    expect(await say(agent, "2", "my name is Ada")).toContain("I remember 1 earlier message of yours");
    expect(await say(agent, "3", "and now?")).toContain(
      "I remember 2 earlier messages of yours in this chat; the last one: “my name is Ada”.",
    );
  });

  it.each(["a picture please", "Send an image!", "photo?", "Schick mir ein Bild"])(
    "sends its picture when asked: %s",
    async (asked) => {
      expect(await bench().say(agent, "1", asked)).toContain(
        "\n\n![A kingfisher on a perch](kingfisher.png)",
      );
    },
  );

  it("sends no picture unasked", async () => {
    expect(await bench().say(agent, "1", "imagine a photograph")).not.toContain("kingfisher");
    const brought: readonly ContentBlock[] = [{ type: "text", text: "Here is a photo." }, PHOTO];
    expect(await bench().say(agent, "1", brought)).not.toContain("kingfisher.png");
  });

  it("has the picture among its assets", async () => {
    const { size } = await stat(join(demoAssets(), "kingfisher.png"));
    expect(size).toBeLessThan(60_000);
  });

  it("makes a table of what it received in this chat", async () => {
    const { say } = bench();
    await say(agent, "1", [
      { type: "image", mimeType: "image/png", blob: "sha256:01", bytes: 9, filename: "a|b.png" },
    ]);
    expect(await say(agent, "2", "a table, please")).toContain(
      [
        "| Message | Kind | What |",
        "| ---: | --- | --- |",
        String.raw`| 1 | image | a\|b.png image/png 9 bytes |`,
        "| 2 | text | a table, please |",
      ].join("\n"),
    );
  });

  it("lets its answer grow, and ends where the whole answer is", async () => {
    const shown: string[] = [];
    const { runner, say } = bench();
    const streaming = { ...turn(agent, "1", "hello"), onText: (text: string) => void shown.push(text) };
    const answer = await runner.run(streaming, new AbortController().signal);
    expect(shown.length).toBeGreaterThan(20);
    expect(shown.at(-1)).toBe(answer.markdown);
    expect(shown.every((text, at) => at === 0 || text.startsWith(shown[at - 1] ?? ""))).toBe(true);
    expect(await bench().say(agent, "1", "hello")).toBe(answer.markdown);
    expect(await say(agent, "1", "hello")).toBe(answer.markdown);
  });
});
