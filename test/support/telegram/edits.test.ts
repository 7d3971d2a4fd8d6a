import { Api, InputFile } from "grammy";
import type { InlineKeyboardMarkup } from "grammy/types";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { manualClock, type ManualClock } from "../clock.ts";
import { startTelegram, type TelegramEmulator } from "./emulator.ts";
import { png } from "./pictures.ts";

const MIRA = { id: 700, firstName: "Mira" };
const START = 1_788_200_000_000;

let clock: ManualClock;
let telegram: TelegramEmulator;
let api: Api;

beforeEach(async () => {
  clock = manualClock(START);
  telegram = await startTelegram({ clock });
  api = new Api(telegram.token, { apiRoot: telegram.apiRoot });
  telegram.privateChat(MIRA);
});
afterEach(() => telegram.close());

describe("editing", () => {
  it("changes what is shown, and refuses what changes nothing", async () => {
    await api.sendMessage(700, "one");
    await api.editMessageText(700, 1, "two", { entities: [{ type: "italic", offset: 0, length: 3 }] });
    await expect(
      api.editMessageText(700, 1, " two", { entities: [{ type: "italic", offset: 1, length: 3 }] }),
    ).rejects.toThrow("message is not modified: specified new message content and reply markup are exactly");
    expect(telegram.shown(700).map((message) => message.text)).toEqual(["two"]);
    await expect(api.editMessageText(700, 9, "x")).rejects.toThrow("message to edit not found");
  });

  it("is logged with its time, and a message's texts can be read from the first to the last", async () => {
    await api.sendMessage(700, "a");
    await clock.advance(1_500);
    await api.editMessageText(700, 1, "a b");
    await clock.advance(2_000);
    await api.editMessageText(700, 1, "a b c");
    await expect(api.editMessageText(700, 1, "a b c")).rejects.toThrow("not modified");
    expect(telegram.edits.map(({ at, text, messageId }) => [at - START, messageId, text])).toEqual([
      [1_500, 1, "a b"],
      [3_500, 1, "a b c"],
    ]);
    expect(telegram.history(700, 1)).toEqual([
      { at: START, text: "a" },
      { at: START + 1_500, text: "a b" },
      { at: START + 3_500, text: "a b c" },
    ]);
    expect(telegram.message(700, 1)).toMatchObject({ text: "a b c", edit_date: (START + 3_000) / 1000 });
    expect(telegram.sent[0]?.text).toBe("a");
  });

  it("stands between what was sent and shown before and after it", async () => {
    await api.sendMessageDraft(700, 7, "a");
    await api.sendMessage(700, "a");
    await api.editMessageText(700, 1, "a b");
    await api.sendMessage(700, "a b c");
    await api.deleteMessage(700, 1);
    telegram.group({ id: -5, title: "Other" });
    await api.sendMessage(-5, "elsewhere");
    const seen = telegram.timeline(700).map((item) => [item.kind, item.kind === "deleted" ? "" : item.text]);
    expect(seen).toEqual([
      ["draft", "a"],
      ["sent", "a"],
      ["edited", "a b"],
      ["sent", "a b c"],
      ["deleted", ""],
    ]);
  });

  it("can be waited for", async () => {
    await api.sendMessage(700, "a");
    const next = telegram.nextEdit(({ text }) => text === "c");
    await api.editMessageText(700, 1, "b");
    await api.editMessageText(700, 1, "c");
    expect(await next).toMatchObject({ messageId: 1, text: "c" });
  });

  it("leaves messages of others alone, and the text of what has none", async () => {
    const hers = telegram.privateChat(MIRA).sendText("mine");
    await expect(api.editMessageText(700, hers.message_id, "x")).rejects.toThrow("message can't be edited");
    const { message_id } = await api.sendPhoto(700, new InputFile(png(10, 10)), { caption: "one" });
    await expect(api.editMessageText(700, message_id, "x")).rejects.toThrow(
      "Bad Request: there is no text in the message to edit",
    );
    const text = await api.sendMessage(700, "x");
    await expect(api.editMessageCaption(700, text.message_id, { caption: "y" })).rejects.toThrow(
      "there is no caption in the message to edit",
    );
  });

  it("changes captions and keyboards, and takes a keyboard away that it does not name", async () => {
    await api.sendPhoto(700, new InputFile(png(10, 10)), { caption: "one" });
    await api.editMessageReplyMarkup(700, 1, { reply_markup: keyboard("y") });
    expect(telegram.message(700, 1)).toMatchObject({ caption: "one", reply_markup: keyboard("y") });
    await expect(api.editMessageReplyMarkup(700, 1, { reply_markup: keyboard("y") })).rejects.toThrow(
      "not modified",
    );
    await api.editMessageCaption(700, 1, { caption: "two" });
    expect(telegram.message(700, 1)).toMatchObject({ caption: "two", photo: [{ width: 10 }] });
    expect(telegram.message(700, 1)).not.toHaveProperty("reply_markup");
    await api.editMessageCaption(700, 1);
    expect(telegram.message(700, 1)).not.toHaveProperty("caption");
  });

  it("puts other media in the place of media or of a text", async () => {
    await api.sendMessage(700, "wait …");
    const media = { type: "photo" as const, media: new InputFile(png(30, 20)), caption: "here" };
    await api.editMessageMedia(700, 1, media);
    expect(telegram.message(700, 1)).toMatchObject({ caption: "here", photo: [{ width: 30 }] });
    expect(telegram.message(700, 1)).not.toHaveProperty("text");
    const file = { type: "document" as const, media: new InputFile(Buffer.from("x"), "x.txt") };
    await api.editMessageMedia(700, 1, file);
    expect(telegram.message(700, 1)).toMatchObject({ document: { file_name: "x.txt" } });
    expect(telegram.message(700, 1)).not.toHaveProperty("photo");
    expect(telegram.history(700, 1).map(({ text }) => text)).toEqual(["wait …", "here", undefined]);
  });

  it("turns a text into a rich message and back", async () => {
    await api.sendMessage(700, "plain");
    const blocks = [{ type: "heading" as const, text: "Rich", size: 1 as const }];
    await api.raw.editMessageText({ chat_id: 700, message_id: 1, rich_message: { blocks } });
    expect(telegram.message(700, 1)).toMatchObject({ rich_message: { blocks } });
    expect(telegram.message(700, 1)).not.toHaveProperty("text");
    await expect(
      api.raw.editMessageText({ chat_id: 700, message_id: 1, rich_message: { blocks } }),
    ).rejects.toThrow("not modified");
    await api.editMessageText(700, 1, "plain again");
    expect(telegram.message(700, 1)).toMatchObject({ text: "plain again" });
    expect(telegram.message(700, 1)).not.toHaveProperty("rich_message");
    expect(telegram.history(700, 1).map(({ text }) => text)).toEqual(["plain", "Rich", "plain again"]);
  });
});

describe("deleting", () => {
  it("takes a message away for good, and gives its number to no other", async () => {
    await api.sendMessage(700, "one");
    await api.deleteMessage(700, 1);
    expect(telegram.shown(700)).toEqual([]);
    await expect(api.deleteMessage(700, 1)).rejects.toThrow("message to delete not found");
    expect((await api.sendMessage(700, "three")).message_id).toBe(2);
    expect(telegram.deletions).toEqual([{ chatId: 700, messageIds: [1], at: START }]);
  });

  it("takes away many at once, and passes over those that are not there", async () => {
    for (const text of ["a", "b", "c"]) await api.sendMessage(700, text);
    await api.deleteMessages(700, [1, 3, 99]);
    expect(telegram.shown(700).map(({ text }) => text)).toEqual(["b"]);
    expect(telegram.deletions.map(({ messageIds }) => messageIds)).toEqual([[1, 3]]);
    await expect(
      api.deleteMessages(
        700,
        Array.from({ length: 101 }, (_, id) => id),
      ),
    ).rejects.toThrow("too many message identifiers");
  });

  it("ends after 48 h", async () => {
    await api.sendMessage(700, "old");
    await clock.advance(48 * 3_600_000 + 1_000);
    await expect(api.deleteMessage(700, 1)).rejects.toThrow("message can't be deleted for everyone");
  });

  it("touches others' messages in private chats, and in groups only with the right to", async () => {
    const hers = telegram.privateChat(MIRA).sendText("x");
    await api.deleteMessage(700, hers.message_id);
    const group = telegram.supergroup({ id: -1001, title: "Birds" });
    const { message_id } = group.as(MIRA).sendText("x");
    await expect(api.deleteMessage(-1001, message_id)).rejects.toThrow("message can't be deleted");
    await expect(api.deleteMessages(-1001, [message_id])).rejects.toThrow("message can't be deleted");
    group.promoteBot(MIRA, ["can_delete_messages"]);
    await api.deleteMessage(-1001, message_id);
    expect(telegram.message(-1001, message_id)).toBeUndefined();
  });
});

function keyboard(callback_data: string): InlineKeyboardMarkup {
  return { inline_keyboard: [[{ text: "Yes", callback_data }]] };
}
