import { afterEach, describe, expect, it } from "vitest";
import type { PieceBody } from "../../../src/core/channel.ts";
import { manualClock } from "../../support/clock.ts";
import { type Bot, type BotOptions, MIRA, openBot, text } from "./set-up.ts";

const open: Bot[] = [];
afterEach(async () => {
  for (const bot of open.splice(0)) await bot.close();
});

async function setUp(options: BotOptions = {}): Promise<Bot> {
  const bot = await openBot(options);
  open.push(bot);
  return bot;
}

function question(...labels: readonly string[]): PieceBody {
  const choices = labels.map((label, n) => ({ label, key: `key0000${n}` }));
  return { kind: "text", rendered: { text: "Which one?", marks: [] }, choices };
}

/** The labels in their rows. */
function rowsOf(markup: unknown): unknown {
  const { inline_keyboard: rows } = markup as { inline_keyboard: { text: string }[][] }; // as it was sent
  return rows.map((row) => row.map((button) => button.text));
}

describe("choices", () => {
  it("are buttons below the text that carry their keys", async () => {
    const bot = await setUp();
    await bot.send(question("Yes", "No"));
    expect(bot.emulator.sent[0]?.replyMarkup).toEqual({
      inline_keyboard: [
        [
          { text: "Yes", callback_data: "key00000" },
          { text: "No", callback_data: "key00001" },
        ],
      ],
    });
  });

  it.each<[string, string[], string[][]]>([
    ["up to four beside each other", ["A", "B", "C", "D", "E"], [["A", "B", "C", "D"], ["E"]]],
    ["a long one alone", ["a".repeat(30), "b", "c"], [["a".repeat(30)], ["b", "c"]]],
    ["in their order", ["short", "b".repeat(26), "c"], [["short"], ["b".repeat(26), "c"]]],
    ["in one line", ["two\nlines\tof  it"], [["two lines of it"]]],
    ["cut at 64 units", ["x".repeat(65)], [[`${"x".repeat(63)}…`]]],
    ["cut between letters", ["🦊".repeat(40)], [[`${"🦊".repeat(31)}…`]]],
    ["as long as they may be", ["x".repeat(64)], [["x".repeat(64)]]],
  ])("stand %s", async (_how, labels, rows) => {
    const bot = await setUp();
    await bot.send(question(...labels));
    expect(rowsOf(bot.emulator.sent[0]?.replyMarkup)).toEqual(rows);
  });

  it("become a list where Telegram takes no buttons", async () => {
    const bot = await setUp();
    await bot.send(question("Yes", "No"), { form: "bare" });
    const [sent] = bot.emulator.sent;
    expect([sent?.text, sent?.replyMarkup]).toEqual(["Which one?\n\n• Yes\n• No", undefined]);
  });

  it("are left out of a list that there is no room for", async () => {
    const bot = await setUp();
    const long = "a".repeat(4_090);
    const choices = [{ label: "Yes, please", key: "key00000" }];
    await bot.send({ kind: "text", rendered: { text: long, marks: [] }, choices }, { form: "bare" });
    expect(bot.emulator.sent[0]?.text).toBe(long);
  });
});

describe("a text that takes the place of another", () => {
  it("is an edit of that message, and its buttons go with the old text", async () => {
    const bot = await setUp();
    const [id] = await bot.send(question("Yes", "No"));
    const rendered = { text: "You chose Yes.", marks: [{ type: "bold", offset: 10, length: 3 }] };
    expect(await bot.send({ kind: "text", rendered }, { replaces: id! })).toEqual([id]); // it was sent
    expect(bot.emulator.shown(MIRA.id)).toMatchObject([
      { text: "You chose Yes.", entities: rendered.marks, message_id: Number(id) },
    ]);
    expect(bot.emulator.shown(MIRA.id)[0]).not.toHaveProperty("reply_markup");
  });

  it("is there when it says what stands there already", async () => {
    const bot = await setUp();
    const [id = ""] = await bot.send(text("the same"));
    expect(await bot.send(text("the same"), { replaces: id })).toEqual([id]);
  });

  it.each([
    ["is gone", "message to edit not found"],
    ["is another's", "message can't be edited"],
    ["is a picture", "there is no text in the message to edit"],
  ])("is to be sent anew when that message %s, and is so in that form", async (_why, description) => {
    const bot = await setUp();
    const [id = ""] = await bot.send(text("before"));
    bot.emulator.fault(
      { method: "editMessageText" },
      { kind: "refuse", code: 400, description: `Bad Request: ${description}` },
    );
    await expect(bot.send(text("after"), { replaces: id })).rejects.toMatchObject({
      code: "send.refused",
      stepDown: "new",
    });
    const [next] = await bot.send(text("after"), { replaces: id, form: "new" });
    expect(next).not.toBe(id);
    expect(bot.emulator.shown(MIRA.id).map((message) => message.text)).toEqual(["before", "after"]);
  });
});

describe("a text", () => {
  it("that shows nothing is no message, and no failure", async () => {
    const bot = await setUp();
    expect(await bot.send(text("\u2800 \u3000"))).toEqual([]);
    expect(bot.emulator.sent).toEqual([]);
  });

  it("answers nobody in the form for that", async () => {
    const bot = await setUp();
    const { message_id } = bot.mira.sendText("hello");
    await bot.send(text("hello"), { replyTo: String(message_id), form: "alone" });
    expect(bot.emulator.sent[0]?.replyParameters).toBeUndefined();
  });

  it("shows previews of links where the operator wants them", async () => {
    const bot = await setUp({ settings: { linkPreviews: true } });
    await bot.send(text("https://example.org"));
    expect(bot.emulator.sent[0]?.linkPreview).toBeUndefined();
  });

  it.each([
    ["22:00", "07:00", "21:59", false],
    ["22:00", "07:00", "22:00", true],
    ["22:00", "07:00", "03:00", true],
    ["22:00", "07:00", "06:59", true],
    ["22:00", "07:00", "07:00", false],
    ["13:00", "15:00", "14:00", true],
    ["13:00", "15:00", "15:00", false],
    ["13:00", "15:00", "02:00", false],
  ])("with quiet from %s to %s sent at %s is silent: %s", async (from, to, time, silent) => {
    // Berlin is two hours before UTC in July.
    const [hours = 0, minutes = 0] = time.split(":").map(Number);
    const clock = manualClock(Date.UTC(2026, 6, 10, hours - 2, minutes));
    const bot = await setUp({ clock, settings: { quiet: { from, to, zone: "Europe/Berlin" } } });
    await bot.send(text("hello"));
    expect(bot.emulator.sent.map((sent) => sent.silent)).toEqual([silent]);
  });
});

describe("elsewhere", () => {
  it("a business account's customer is written to in its name", async () => {
    const bot = await setUp();
    const business = bot.emulator.business({ id: 700_100_009, firstName: "Olga" });
    business.customer({ id: 700_100_010, firstName: "Carl" });
    const to = { channel: "family", chat: `business:${business.connectionId}:700100010` };
    const [id = ""] = await bot.send(text("hello"), { to });
    await bot.send(text("hello again"), { to, replaces: id });
    expect(bot.emulator.sent.map((sent) => sent.businessConnectionId)).toEqual([business.connectionId]);
    expect(bot.emulator.edits.map((edit) => edit.text)).toEqual(["hello again"]);
  });

  it("a guest is answered with one text, once", async () => {
    const bot = await setUp({
      before: (emulator) => void Object.assign(emulator.me, { supports_guest_queries: true }),
    });
    const query = bot.emulator.guest({ id: -1_002_000_000_050, title: "Far away" }, MIRA, "@fern_demo_bot?");
    const to = { channel: "family", chat: "guest:-1002000000050", topic: query };
    const [id] = await bot.send(question("Yes", "No"), { to });
    expect(id).toBe(bot.emulator.guestAnswers[0]?.inlineMessageId);
    expect(bot.emulator.guestAnswers.map((answer) => answer.text)).toEqual(["Which one?\n\n• Yes\n• No"]);
    await expect(bot.send(text("more"), { to })).rejects.toMatchObject({
      code: "send.refused",
      message: expect.stringContaining("was answered already, or is too old"),
    });
    const media = {
      type: "file",
      mimeType: "text/plain",
      blob: `sha256:${"0".repeat(64)}`,
      bytes: 1,
    } as const;
    await expect(bot.send({ kind: "media", as: "file", media }, { to })).rejects.toMatchObject({
      code: "send.refused",
    });
    expect(bot.emulator.sent).toEqual([]);
  });
});

describe("what cannot be kept", () => {
  it("is taken back, and what is gone already is no error", async () => {
    const bot = await setUp();
    const [id = ""] = await bot.send(text("oops"));
    const to = { channel: "family", chat: String(MIRA.id) };
    const signal = new AbortController().signal;
    await bot.channel.takeBack?.(to, [id, "999"], signal);
    await bot.channel.takeBack?.(to, [id], signal);
    expect(bot.emulator.shown(MIRA.id)).toEqual([]);
  });

  it("is tried three times, and given up without an error", async () => {
    const clock = manualClock();
    const bot = await setUp({ clock });
    const [id = ""] = await bot.send(text("oops"));
    bot.emulator.fault({ method: "deleteMessages", times: 9 }, { kind: "drop", when: "before" });
    const to = { channel: "family", chat: String(MIRA.id) };
    const taking = bot.channel.takeBack?.(to, [id], new AbortController().signal);
    await clock.whenTimer(1_000);
    await clock.advance(1_000);
    await clock.whenTimer(2_000);
    await clock.advance(2_000);
    await taking;
    expect(bot.emulator.calls.filter(({ method }) => method === "deleteMessages")).toHaveLength(3);
  });
});
