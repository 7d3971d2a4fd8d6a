import { expect } from "vitest";
import sharp from "sharp";
import { fileTypeFromBuffer } from "file-type";
import { scaledClock } from "../../src/core/clock.ts";
import type { Shown } from "./phone.ts";
import { readSigns } from "../support/whatsapp-text.ts";
import { type Case, inFull } from "./cases.ts";
import { wordsOf } from "./expected.ts";
import { answer, type Answer, checkAnswer, pictureTree, textOf } from "./outbound.ts";
import { startWorld, type World } from "./world.ts";

/** What a case says in words that the fields of its expectation do not hold. */
export const ANSWER_DETAILS: Readonly<Record<string, (answer: Answer) => void | Promise<void>>> = {
  // Left as it is written, or taken for what was meant; not cut in half.
  "MDX-22": ({ shown }) =>
    expect(textOf(shown).replaceAll("![pier](with space.png)", "")).not.toContain("space.png)"),

  "MDX-26"({ shown }) {
    const sent = shown.filter(({ media }) => media).length;
    expect([0, 2]).toContain(sent);
  },

  "MDX-44"({ shown }) {
    const [caption = ""] = shown.flatMap(({ text, media }) => (media ? [text.replaceAll("\u200b", "")] : []));
    expect(caption.replaceAll(/<\/?b>|[*`]/g, "")).toBe('Sales & profit x "q"');
    expect(shown.flatMap(({ marks }) => marks)).toEqual([]);
  },

  "MDX-46": ({ shown }) => expect(shown.filter(({ media }) => media)).toHaveLength(1),

  "FMT-04"({ shown }) {
    const { text, marks } = readSigns(shown.map((each) => each.text).join("\n"));
    const code = marks.filter(({ type }) => type === "code" || type === "block");
    expect(code.map(({ offset, length }) => text.slice(offset, offset + length))).toEqual([
      "**bold**",
      "_x_",
      "**not bold** [a](b)",
    ]);
  },

  "FMT-06"({ shown }) {
    const lines = shown
      .map(({ text }) => text)
      .join("\n")
      .split("\n");
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(line).toMatch(/^\S \*Bold Text \d:\* Regular$/);
  },

  "FMT-08": ({ shown, source }) => expect(shown.map(({ text }) => text)).toEqual([source]),

  "FMT-13"({ shown }) {
    expect(plain(shown)).toMatch(/Title[^]*a[^]*b[^]*1[^]*2[^]*done[^]*quote/);
    expect(plain(shown)).not.toMatch(/^#|\*\*|---\||\[x\]/m);
  },

  "CHK-02"({ shown, source }) {
    expect(shown.length).toBeGreaterThanOrEqual(2);
    for (const { text } of shown) expect(text.length).toBeLessThanOrEqual(4_096);
    expect(shown.map(({ text }) => text).join("")).toBe(source);
  },

  "CHK-03"({ shown }) {
    expect(shown.length).toBeGreaterThanOrEqual(2);
    for (const { text, marks } of shown) {
      expect(text.length).toBeLessThanOrEqual(4_096);
      const code = marks.filter(({ type }) => type === "pre");
      expect(code.map(({ language }) => language)).toEqual(["python"]);
      const [{ offset, length }] = code as [(typeof code)[0]]; // just counted
      const outside = text.slice(0, offset) + text.slice(offset + length);
      expect(outside.replaceAll(/\s|Intro\.|Outro\./g, "")).toBe("");
    }
    const lines = shown.flatMap(({ text }) => text.split("\n")).filter((line) => line !== "");
    expect(lines).toEqual(["Intro.", ...Array<string>(300).fill("value = compute(1234)  # note"), "Outro."]);
  },

  "CHK-04"({ shown }) {
    for (const { text, marks } of shown) {
      const [quote, ...more] = marks.filter(({ type }) => /blockquote/.test(type));
      expect([quote?.offset, quote?.length, more]).toEqual([0, text.length, []]);
    }
    const bold = shown.flatMap(({ text, marks }) =>
      marks
        .filter(({ type }) => type === "bold")
        .map(({ offset, length }) => text.slice(offset, offset + length)),
    );
    expect(bold.join("").replaceAll(/[^x]/g, "")).toHaveLength(1_250);
    expect(plain(shown).replaceAll(/\s/g, "")).toBe("x".repeat(1_250));
  },

  "CHK-06"({ shown }) {
    expect(shown).toHaveLength(2);
    for (const { text } of shown) expect(text).toMatch(/^word [^]*end\.$/);
    expect(plain(shown).match(/end\./g)).toHaveLength(12);
  },

  "CHK-07"({ shown }) {
    const [picture] = shown;
    expect(picture?.media).toBeDefined();
    expect(picture?.text.length).toBeLessThanOrEqual(1_024);
    expect(plain(shown).match(/words/g)).toHaveLength(333);
  },

  "CHK-08"({ shown }) {
    for (const { text, media } of shown) if (media) expect(text.length).toBeLessThanOrEqual(1_024);
    expect(plain(shown)).toMatch(/^\s*a[a\s]*a\s*Short answer\.$/);
    expect(plain(shown).replace("Short answer.", "").match(/a/g)).toHaveLength(1_025);
  },

  "CHK-09": ({ shown }) => expect(shown.map(({ media }) => media?.as)).toEqual(["file"]),
  "CHK-14": ({ shown }) => expect(shown.map(({ text, media }) => [text, media?.as])).toEqual([["", "image"]]),

  async "CHK-17"({ shown }) {
    expect(shown).toHaveLength(3);
    for (const { media } of shown) {
      if (media?.as !== "image") continue;
      const type = await fileTypeFromBuffer(media.bytes);
      expect(["image/jpeg", "image/png"]).toContain(type?.mime);
      const { depth, pages = 1 } = await sharp(media.bytes).metadata();
      expect([depth, pages]).toEqual(["uchar", 1]);
    }
  },
};

/** Cases that take more than an answer: what goes wrong while it is sent, and what was said before. */
export const ANSWER_DRIVERS: Readonly<Record<string, (world: World, one: Case) => Promise<void>>> = {
  async "PTH-17"(world, one) {
    // On two platforms, so 500 attempts.
    const text = Array<string>(250)
      .fill(one.input.text ?? "")
      .join("\n\n");
    const often = { ...one, input: { ...one.input, text } };
    for (const given of await answer(often, world)) checkAnswer(one, given);
  },

  async "FMT-10"(world, one) {
    const talk = await world.talk({ platform: "telegram", says: inFull(one.input.model_reply ?? "") });
    const failure = world.emulator.fault(
      { method: "sendMessage", chat: Number(talk.chat) },
      {
        kind: "refuse",
        code: 400,
        description: "Bad Request: can't parse entities: unclosed at byte offset 5",
      },
    );
    await talk.ask("Please.");
    await talk.finish();
    expect(failure.hits()).toBe(1);
    expect(talk.shown()).toHaveLength(1);
    expect(plain(talk.shown()).replaceAll(/[*_]/g, "")).toBe("half bold mix x");
  },

  // The same text in both directions: no sign is added on the way.
  async "FMT-12"(world) {
    const said = "*Text* and _it_";
    const talk = await world.talk({ platform: "whatsapp", says: (asked) => wordsOf(asked) });
    await talk.ask(said);
    await talk.finish();
    const [shown = ""] = talk.shown().map(({ text }) => text);
    expect(shown.replaceAll(/[*_\u200b]/g, "")).toBe("Text and it");
    expect(shown.replaceAll(/[^*_]/g, "")).toHaveLength(4);
  },

  async "CHK-18"(_world, one) {
    const clock = scaledClock(10, Date.now());
    const world = await startWorld(clock);
    const tree = await pictureTree();
    try {
      const source = inFull(one.input.model_reply ?? "");
      const talk = await world.talk({ platform: "telegram", says: source, assets: tree.root });
      const other = await world.talk({ platform: "telegram", says: "Here." });
      const chat = Number(talk.chat);
      world.emulator.fault(
        { chat, nth: 4, when: ({ method }) => /^sendM(?!.*Draft)/.test(method) },
        { kind: "rateLimit", seconds: 3 },
      );
      await talk.ask("Please.");
      await world.emulator.untilSent(chat, 3);
      await other.ask("And you?");
      await world.emulator.sentMatching(
        ({ chatId, media }) => chatId === chat && media?.fileName === "second.png",
      );
      const messages = world.emulator.sentTo(chat);
      const [third, fourth] = [messages[2]?.at ?? 0, messages[3]?.at ?? 0];
      expect(fourth - third).toBeGreaterThanOrEqual(3_000);
      // It holds up nobody else.
      const [elsewhere] = await world.emulator.untilSent(Number(other.chat), 1);
      expect(elsewhere?.at).toBeLessThan(fourth);
      const media = messages.flatMap(({ media: sent }) => (sent ? [sent.fileName] : []));
      expect(media).toEqual(["chart.png", "second.png"]);
      expect(plain(talk.shown()).split(/\s+/).join(" ").trim()).toBe(
        "lorem ipsum dolor sit ".repeat(1_600).trim(),
      );
    } finally {
      tree.close();
      await world.close();
    }
  },
};

function plain(shown: readonly Shown[]): string {
  return shown.map(({ text }) => text.replaceAll("\u200b", "")).join("\n");
}
