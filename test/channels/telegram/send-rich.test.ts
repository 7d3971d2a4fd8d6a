import { afterEach, describe, expect, it } from "vitest";
import type { PieceBody } from "../../../src/core/channel.ts";
import { parseMarkdown } from "../../../src/reply/tree.ts";
import type { Fault } from "../../support/telegram/faults.ts";
import { startTelegram } from "../../support/telegram/emulator.ts";
import { type Bot, type BotOptions, MIRA, openBot } from "./set-up.ts";

const open: Bot[] = [];
afterEach(async () => {
  for (const bot of open.splice(0)) await bot.close();
});

async function setUp(options: BotOptions = {}): Promise<Bot> {
  const bot = await openBot({ settings: { rich: true }, ...options });
  open.push(bot);
  return bot;
}

const TABLE = "| a | b |\n| --- | --- |\n| 1 | 2 |";

function answer(bot: Bot, markdown = TABLE): PieceBody {
  return { kind: "text", rendered: bot.channel.render(parseMarkdown(markdown)) };
}

const bad = (description: string): Fault => ({
  kind: "refuse",
  code: 400,
  description: `Bad Request: ${description}`,
});

describe("a rich message", () => {
  it("shows a table where the operator wants it so", async () => {
    const bot = await setUp();
    await bot.send(answer(bot), { replyTo: String(bot.mira.sendText("?").message_id) });
    const [sent] = bot.emulator.sent;
    expect([sent?.method, sent?.rich?.text]).toEqual(["sendRichMessage", "a | b\n1 | 2"]);
    expect(sent?.rich?.given).toMatchObject({ skip_entity_detection: true });
    expect(sent?.replyTo).toBeDefined();
  });

  it("is text and marks where the text shows as much", async () => {
    const bot = await setUp();
    await bot.send(answer(bot, "**hello**"));
    expect(bot.emulator.sent.map(({ method, text }) => [method, text])).toEqual([["sendMessage", "hello"]]);
  });

  it.each<[BotOptions["settings"], string]>([
    [{}, "sendMessage"],
    [{ rich: false }, "sendMessage"],
    [{ rich: [] }, "sendMessage"],
    [{ rich: ["-100"] }, "sendMessage"],
    [{ rich: [String(MIRA.id)] }, "sendRichMessage"],
  ])("goes by the settings: %j", async (settings = {}, method) => {
    const bot = await setUp({ settings });
    await bot.send(answer(bot));
    expect(bot.emulator.sent.map((sent) => sent.method)).toEqual([method]);
  });

  it.each([
    "RICH_MESSAGE_CONTENT_REQUIRED",
    "can't parse InputRichBlock: Can't find field",
    "table cell must be non-empty",
    "entity URL is invalid",
    "PHOTO_SOMETHING",
    "SOMETHING_NEW",
  ])("that is refused with %j goes as text and marks, this time", async (description) => {
    const bot = await setUp();
    bot.emulator.fault({ method: "sendRichMessage" }, bad(description));
    await expect(bot.send(answer(bot))).rejects.toMatchObject({ code: "send.refused", stepDown: "entities" });
    await bot.send(answer(bot), { form: "entities" });
    await bot.send(answer(bot));
    expect(bot.emulator.sent.map((sent) => sent.method)).toEqual(["sendMessage", "sendRichMessage"]);
    expect(bot.emulator.sent[0]?.entities).toMatchObject([{ type: "pre" }]);
  });

  it("goes without marks where those are refused too", async () => {
    const bot = await setUp();
    bot.emulator.fault({ method: "sendMessage" }, bad("ENTITIES_TOO_LONG"));
    await expect(bot.send(answer(bot), { form: "entities" })).rejects.toMatchObject({
      stepDown: "entities, plain",
    });
    await bot.send(answer(bot), { form: "entities, plain" });
    expect(bot.emulator.sent.map(({ entities }) => entities)).toEqual([[]]);
  });

  it.each<[Fault, string | undefined, string | undefined]>([
    [{ kind: "rateLimit", seconds: 9 }, "send.rate_limited", undefined],
    [{ kind: "drop", when: "before" }, undefined, undefined],
    [{ kind: "html", status: 502, when: "after" }, undefined, undefined],
    [bad("TOPIC_CLOSED"), "send.refused", undefined],
    [bad("message to be replied not found"), "send.refused", "alone"],
    [bad("BUTTON_DATA_INVALID"), "send.refused", "bare"],
    [bad("chat not found"), "send.chat_closed", undefined],
  ])("is not sent in another form after %j", async (fault, code, stepDown) => {
    const bot = await setUp();
    bot.emulator.fault({ method: "sendRichMessage" }, fault);
    const error: unknown = await bot.send(answer(bot)).catch((thrown: unknown) => thrown);
    const { code: got, stepDown: next } = error as { code?: string; stepDown?: string }; // whatever was thrown
    expect([got, next]).toEqual([code, stepDown]);
    expect(bot.emulator.calls.some(({ method }) => method === "sendMessage")).toBe(false);
  });

  it("is no more tried with a server that does not know of such", async () => {
    const emulator = await startTelegram({ lacks: ["rich"] });
    const bot = await setUp({ emulator });
    await bot.send(answer(bot));
    await bot.send(answer(bot));
    expect(emulator.sent.map((sent) => sent.method)).toEqual(["sendMessage", "sendMessage"]);
    const tries = emulator.calls.filter(({ method }) => method === "sendRichMessage").length;
    expect(tries).toBeLessThanOrEqual(1);
  });

  it("takes the place of an earlier text, and is found there", async () => {
    const bot = await setUp();
    const [id = ""] = await bot.send(answer(bot, "working…"));
    const body = answer(bot);
    await bot.send(body, { replaces: id });
    expect(bot.emulator.edits).toHaveLength(1);
    const piece = { id: 1, to: { channel: "family", chat: String(MIRA.id) }, body, replaces: id };
    const around = { before: [], after: [] };
    const found = await bot.channel.find?.(piece, { number: 1 }, around, new AbortController().signal);
    expect(found).toEqual({ kind: "found", ids: [id] });
    expect(bot.emulator.edits).toHaveLength(1);
  });

  it("has the choices below it", async () => {
    const bot = await setUp();
    const choices = [{ label: "Yes", key: "key00000" }];
    await bot.send({ ...answer(bot), choices } as PieceBody); // answer gives a text
    expect(bot.emulator.sent[0]?.replyMarkup).toEqual({
      inline_keyboard: [[{ text: "Yes", callback_data: "key00000" }]],
    });
  });
});
