import { Api } from "grammy";
import type { InlineKeyboardButton, InlineKeyboardMarkup, Update } from "grammy/types";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { manualClock, type ManualClock } from "../clock.ts";
import { startTelegram, type TelegramEmulator } from "./emulator.ts";

const MIRA = { id: 700, firstName: "Mira" };
const TOMAS = { id: 701, firstName: "Tomás" };

let clock: ManualClock;
let telegram: TelegramEmulator;
let api: Api;

beforeEach(async () => {
  clock = manualClock();
  telegram = await startTelegram({ clock });
  api = new Api(telegram.token, { apiRoot: telegram.apiRoot });
  telegram.privateChat(MIRA);
});
afterEach(() => telegram.close());

function keyboard(...data: readonly string[]): InlineKeyboardMarkup {
  return { inline_keyboard: [data.map((callback_data) => ({ text: callback_data, callback_data }))] };
}

async function queries(): Promise<NonNullable<Update["callback_query"]>[]> {
  return (await api.getUpdates()).flatMap((update) => update.callback_query ?? []);
}

describe("a button", () => {
  it("stands under its message and, pressed, tells the bot who pressed it where", async () => {
    const group = telegram.supergroup({ id: -1001, title: "Birds" });
    await api.sendMessage(-1001, "Run it?", { reply_markup: keyboard("yes", "no") });
    const id = group.as(TOMAS).press(1, "no");
    const [query] = await queries();
    expect(query).toMatchObject({
      id,
      from: { id: 701 },
      data: "no",
      message: { message_id: 1, chat: { id: -1001 }, reply_markup: keyboard("yes", "no") },
    });
  });

  it("cannot be pressed where there never was one, but a client may be behind", async () => {
    const mira = telegram.privateChat(MIRA);
    await api.sendMessage(700, "Run it?", { reply_markup: keyboard("yes") });
    expect(() => mira.press(1, "no")).toThrow("never had a button with the data no");
    await api.editMessageText(700, 1, "Done.");
    mira.press(1, "yes");
    await api.deleteMessage(700, 1);
    mira.press(1, "yes");
    const [edited, deleted] = await queries();
    expect(edited?.message).toMatchObject({ text: "Done." });
    expect(edited?.message).not.toHaveProperty("reply_markup");
    expect(deleted?.message).toEqual({
      chat: { id: 700, type: "private", first_name: "Mira" },
      message_id: 1,
      date: 0,
    });
  });

  it("can be forged", async () => {
    await api.sendMessage(700, "No buttons here.");
    telegram.privateChat(MIRA).forgePress(1, "rm -rf");
    expect(await queries()).toMatchObject([{ data: "rm -rf", message: { message_id: 1 } }]);
  });

  it("waits for its answer for 150 s", async () => {
    await api.sendMessage(700, "Run it?", { reply_markup: keyboard("yes") });
    const id = telegram.privateChat(MIRA).press(1, "yes");
    await clock.advance(150_000);
    await api.answerCallbackQuery(id, { text: "Running.", show_alert: true });
    expect(telegram.callbackAnswers).toEqual([
      { queryId: id, text: "Running.", alert: true, at: clock.now() },
    ]);
    await clock.advance(1);
    for (const late of [id, "made-up"]) {
      await expect(api.answerCallbackQuery(late)).rejects.toThrow(
        "Bad Request: query is too old and response timeout expired or query ID is invalid",
      );
    }
    expect(await queries()).toEqual([]);
    expect(telegram.callbackAnswers).toHaveLength(1);
  });

  it("answers with at most 200 characters", async () => {
    await api.sendMessage(700, "Run it?", { reply_markup: keyboard("yes") });
    const id = telegram.privateChat(MIRA).press(1, "yes");
    await expect(api.answerCallbackQuery(id, { text: "x".repeat(201) })).rejects.toThrow("MESSAGE_TOO_LONG");
  });
});

describe("a keyboard", () => {
  const button = { text: "x", callback_data: "x" };
  const rows = (count: number) => Array.from({ length: count }, () => [button]);

  it.each<[string, readonly (readonly object[])[], string]>([
    ["more than 64 bytes of data", [[{ text: "x", callback_data: "ü".repeat(33) }]], "BUTTON_DATA_INVALID"],
    ["no data at all", [[{ text: "x", callback_data: "" }]], "BUTTON_DATA_INVALID"],
    ["an address that is none", [[{ text: "x", url: "nowhere" }]], "BUTTON_URL_INVALID"],
    ["nothing behind a button", [[{ text: "x" }]], "Text buttons are unallowed in the inline keyboard"],
    ["no text on a button", [[{ callback_data: "x" }]], `Can't find field "text"`],
    ["more than 100 buttons", rows(101), "reply markup is too long"],
    [
      "more than its share of bytes",
      Array.from({ length: 90 }, () => [{ text: "x".repeat(100), callback_data: "x" }]),
      "reply markup is too long",
    ],
  ])("with %s is refused, also in an edit", async (_what, inline_keyboard, why) => {
    const reply_markup = { inline_keyboard: inline_keyboard as InlineKeyboardButton[][] };
    await expect(api.sendMessage(700, "x", { reply_markup })).rejects.toThrow(`Bad Request: `);
    expect(telegram.sent).toEqual([]);
    await api.sendMessage(700, "x");
    await expect(api.editMessageReplyMarkup(700, 1, { reply_markup })).rejects.toThrow(why);
  });

  it("of 100 buttons with 64 bytes of data and with links is taken", async () => {
    const long = { text: "x", callback_data: "ü".repeat(32) };
    const links = ["https://example.org/x", "example.org", "tg://user?id=1"].map((url) => ({
      text: "x",
      url,
    }));
    await api.sendMessage(700, "x", { reply_markup: { inline_keyboard: [[long], links, ...rows(96)] } });
    expect(telegram.message(700, 1)?.reply_markup?.inline_keyboard).toHaveLength(98);
  });
});
