import { Api, Bot } from "grammy";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { manualClock, type ManualClock } from "../clock.ts";
import { startTelegram, type EmulatorOptions, type TelegramEmulator } from "./emulator.ts";
import { png } from "./pictures.ts";

const MIRA = { id: 700, firstName: "Mira", languageCode: "en" };
const START = 1_788_200_000_000;

let clock: ManualClock;
let telegram: TelegramEmulator;
let api: Api;

async function open(options: EmulatorOptions = {}): Promise<void> {
  telegram = await startTelegram({ clock, firstUpdateId: 1000, ...options });
  api = new Api(telegram.token, { apiRoot: telegram.apiRoot });
}

beforeEach(() => {
  clock = manualClock(START);
});
afterEach(() => telegram.close());

function texts(count: number): void {
  const mira = telegram.privateChat(MIRA);
  for (let i = 1; i <= count; i++) mira.sendText(`${i}`);
}

async function ids(offset: number, limit?: number): Promise<number[]> {
  const updates = await api.getUpdates({ offset, ...(limit !== undefined && { limit }) });
  return updates.map((update) => update.update_id);
}

/** Waits until a poll with a timeout has arrived, so that what follows meets it waiting. */
async function waitingPoll(offset: number, timeout = 30): Promise<{ result: Promise<number[]> }> {
  const arrived = telegram.nextCall((call) => call.method === "getUpdates");
  const result = api.getUpdates({ offset, timeout }).then((updates) => updates.map((item) => item.update_id));
  result.catch(() => undefined);
  await arrived;
  return { result };
}

describe("getUpdates", () => {
  it("gives the same updates until a higher offset confirms them", async () => {
    await open();
    texts(3);
    expect(await ids(0)).toEqual([1000, 1001, 1002]);
    expect(await ids(1000, 2)).toEqual([1000, 1001]);
    expect(await ids(1002)).toEqual([1002]);
    expect(await ids(0)).toEqual([1002]);
    expect(await ids(1003)).toEqual([]);
    expect(telegram.pending()).toEqual([]);
  });

  it("keeps the last few and forgets the rest at a negative offset", async () => {
    await open();
    texts(5);
    expect(await ids(-2)).toEqual([1003, 1004]);
    expect(await ids(0)).toEqual([1003, 1004]);
  });

  it("starts at the head when the offset is of another life of the queue", async () => {
    await open();
    texts(2);
    expect(await ids(1013)).toEqual([1000, 1001]);
    expect(await ids(900_000)).toEqual([1000, 1001]);
    expect(await ids(1012)).toEqual([]);
    expect(await ids(0)).toEqual([]);
  });

  it("takes a limit outside 1–100 for 100, and waits at most 50 s", async () => {
    await open();
    texts(101);
    expect(await ids(0, 500)).toHaveLength(100);
    expect(await ids(0, -1)).toHaveLength(100);
    const { result } = await waitingPoll(1101, 600);
    await clock.advance(50_000);
    expect(await result).toEqual([]);
  });

  it("answers a waiting poll with all that came at once", async () => {
    await open();
    const { result } = await waitingPoll(0);
    texts(2);
    expect(await result).toEqual([1000, 1001]);
  });

  it("cuts an answer at about 4 MiB", async () => {
    await open();
    const mira = telegram.privateChat(MIRA);
    for (let i = 0; i < 12; i++) mira.sendText("x".repeat(400_000));
    expect(await ids(0)).toHaveLength(10);
    mira.sendText("x".repeat(600_000));
    expect(telegram.pending()).toHaveLength(12);
  });

  it("slows down who asks the same again, when that is switched on", async () => {
    await open({ antiBusy: true });
    texts(3);
    expect(await ids(1000)).toHaveLength(3);
    await clock.advance(400);
    expect(await ids(1000)).toHaveLength(1);
    await clock.advance(600);
    expect(await ids(1000)).toHaveLength(3);
    expect(await ids(1003)).toEqual([]);
    // It asked not to wait, and is made to.
    const early = await waitingPoll(1003, 0);
    texts(1);
    expect(await early.result).toEqual([1003]);
    expect(await ids(1004)).toEqual([]);
    const late = await waitingPoll(1004, 0);
    await clock.advance(3_000);
    expect(await late.result).toEqual([]);
  });

  it("ends the older of two waiting polls with 409", async () => {
    await open();
    const older = await waitingPoll(0);
    const newer = await waitingPoll(0);
    await expect(older.result).rejects.toMatchObject({
      error_code: 409,
      description:
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
    });
    expect(await ids(0)).toEqual([]);
    texts(1);
    expect(await newer.result).toEqual([1000]);
  });

  it("holds the next conflict back for 3 s, when that is switched on", async () => {
    await open({ antiBusy: true });
    await api.setWebhook("https://example.org/hook");
    await expect(api.getUpdates()).rejects.toThrow("webhook is active");
    const held = clock.whenTimer(3_000);
    let ended = false;
    const second = api.getUpdates().catch((error: unknown) => {
      ended = true;
      return error;
    });
    await held;
    expect(ended).toBe(false);
    await clock.advance(3_000);
    expect(await second).toMatchObject({ error_code: 409 });
  });

  it("gives two pollers the same backlog without any 409", async () => {
    await open();
    texts(1);
    expect(await Promise.all([ids(0), ids(0)])).toEqual([[1000], [1000]]);
  });

  it("lets messages live for 24 h and button presses for 150 s", async () => {
    await open();
    const mira = telegram.privateChat(MIRA);
    const { message_id } = mira.sendText("x");
    const query = mira.forgePress(message_id, "y");
    await clock.advance(149_000);
    await api.answerCallbackQuery(query);
    await clock.advance(2_000);
    expect(await ids(0)).toEqual([1000]);
    await expect(api.answerCallbackQuery(query)).rejects.toThrow("query is too old");
    await clock.advance(86_400_000);
    expect(await ids(0)).toEqual([]);
    expect(() => telegram.inject({ message: { ...OLD, date: 1 } })).toThrow("24 h");
  });

  it("lets an edit of an old message live for 24 h from the edit on", async () => {
    await open();
    const mira = telegram.privateChat(MIRA);
    const { message_id } = mira.sendText("x");
    await clock.advance(80_000_000);
    mira.edit(message_id, "y");
    await clock.advance(80_000_000);
    expect(await ids(0)).toEqual([1001]);
  });

  it("remembers allowed_updates, from the next update on", async () => {
    await open();
    const mira = telegram.privateChat(MIRA);
    const { message_id } = mira.sendText("x");
    expect(telegram.inject({ message_reaction: reaction(message_id) })).toBeUndefined();
    await api.getUpdates({ allowed_updates: ["message_reaction"] });
    expect(telegram.inject({ message_reaction: reaction(message_id) })).toMatchObject({ update_id: 1001 });
    mira.sendText("not wanted");
    expect(await ids(0)).toEqual([1000, 1001]);
    // @ts-expect-error a list without any known name means the default
    await api.getUpdates({ allowed_updates: ["nonsense"] });
    mira.sendText("wanted again");
    expect(await ids(0)).toEqual([1000, 1001, 1002]);
  });

  it("is closed while a webhook is set, and tells what waits", async () => {
    await open();
    const { result } = await waitingPoll(0);
    await api.setWebhook("https://example.org/hook");
    await expect(result).rejects.toThrow("terminated by setWebhook request");
    await expect(api.getUpdates()).rejects.toThrow("can't use getUpdates method while webhook is active");
    texts(2);
    expect(await api.getWebhookInfo()).toMatchObject({
      url: "https://example.org/hook",
      pending_update_count: 2,
    });
    await api.deleteWebhook();
    expect(await ids(0)).toHaveLength(2);
    await api.deleteWebhook({ drop_pending_updates: true });
    expect(await ids(0)).toEqual([]);
  });
});

const OLD = {
  message_id: 41,
  date: START / 1000,
  from: { id: 700, is_bot: false, first_name: "Mira" },
  chat: { id: 700, type: "private", first_name: "Mira" },
  text: "made by hand",
} as const;

function reaction(message_id: number) {
  return {
    chat: OLD.chat,
    user: OLD.from,
    message_id,
    date: START / 1000,
    old_reaction: [],
    new_reaction: [{ type: "emoji" as const, emoji: "👍" as const }],
  };
}

describe("people", () => {
  beforeEach(() => open());

  it("send text with what a client marks by itself", async () => {
    const mira = telegram.privateChat(MIRA);
    mira.start("owner-1");
    mira.sendText("ask @fern_demo_bot at https://example.org/@x.", { replyTo: 1 });
    const [start, ask] = await api.getUpdates();
    expect(start?.message).toEqual({
      message_id: 1,
      date: START / 1000,
      from: { id: 700, is_bot: false, first_name: "Mira", language_code: "en" },
      chat: { id: 700, type: "private", first_name: "Mira" },
      text: "/start owner-1",
      entities: [{ type: "bot_command", offset: 0, length: 6 }],
    });
    expect(ask?.message?.reply_to_message).toMatchObject({ message_id: 1, text: "/start owner-1" });
    expect(ask?.message?.entities).toEqual([
      { type: "mention", offset: 4, length: 14 },
      { type: "url", offset: 22, length: 22 },
    ]);
  });

  it("send photos in several sizes, of which the largest is the real one", async () => {
    const bytes = Buffer.concat([png(1280, 960), Buffer.alloc(1000, 7)]);
    const { photo, caption } = telegram.privateChat(MIRA).sendPhoto(bytes, { caption: "look" });
    expect(caption).toBe("look");
    expect(photo?.map(({ width, height }) => [width, height])).toEqual([
      [90, 68],
      [320, 240],
      [800, 600],
      [1280, 960],
    ]);
    expect(await download(photo?.at(-1)?.file_id)).toEqual(bytes);
    expect(await download(photo?.at(0)?.file_id)).not.toEqual(bytes);
  });

  it("send albums, documents and voice notes that can be fetched", async () => {
    const mira = telegram.privateChat(MIRA);
    const one = mira.sendPhoto(png(10, 10), { mediaGroupId: "9", caption: "two" });
    const two = mira.sendPhoto(png(10, 10), { mediaGroupId: "9" });
    expect([one.media_group_id, two.media_group_id]).toEqual(["9", "9"]);
    const bytes = Buffer.from("notes");
    const { document } = mira.sendDocument(bytes, { fileName: "a; b.txt", mimeType: "text/plain" });
    expect(document).toMatchObject({ file_name: "a; b.txt", mime_type: "text/plain", file_size: 5 });
    expect(await download(document?.file_id)).toEqual(bytes);
    expect(mira.sendVoice(bytes, { duration: 7 }).voice).toMatchObject({
      duration: 7,
      mime_type: "audio/ogg",
    });
  });

  it("send files that are too big to fetch, and links end after an hour", async () => {
    const mira = telegram.privateChat(MIRA);
    const big = mira.sendDocument(Buffer.from("x"), { declaredBytes: (20 << 20) + 1 });
    await expect(api.getFile(big.document?.file_id ?? "")).rejects.toThrow("Bad Request: file is too big");
    const small = mira.sendDocument(Buffer.from("x"));
    const { file_path } = await api.getFile(small.document?.file_id ?? "");
    const link = `${telegram.apiRoot}/file/bot${telegram.token}/${file_path}`;
    expect((await fetch(link)).status).toBe(200);
    await clock.advance(3_600_000);
    expect((await fetch(link)).status).toBe(404);
  });

  it("block the bot and let it in again", async () => {
    const mira = telegram.privateChat(MIRA);
    mira.block();
    await expect(api.sendMessage(700, "x")).rejects.toThrow("Forbidden: bot was blocked by the user");
    mira.unblock();
    await api.sendMessage(700, "x");
    const moves = (await api.getUpdates()).map(({ my_chat_member: move }) => [
      move?.old_chat_member.status,
      move?.new_chat_member.status,
    ]);
    expect(moves).toEqual([
      ["member", "kicked"],
      ["kicked", "member"],
    ]);
  });

  it("can be put in by hand", async () => {
    telegram.inject({ update_id: 5, message: OLD });
    expect((await api.getUpdates())[0]).toEqual({ update_id: 1000, message: OLD });
    expect((await api.sendMessage(700, "hi", { reply_parameters: { message_id: 41 } })).message_id).toBe(42);
  });
});

async function download(fileId: string | undefined): Promise<Buffer> {
  const { file_path } = await api.getFile(fileId ?? "");
  const answer = await fetch(`${telegram.apiRoot}/file/bot${telegram.token}/${file_path}`);
  return Buffer.from(await answer.arrayBuffer());
}

describe("a whole bot", () => {
  it("polls, answers and stops", async () => {
    await open();
    const bot = new Bot(telegram.token, { client: { apiRoot: telegram.apiRoot } });
    bot.on("message:text", (context) => context.reply(`you said ${context.msg.text}`));
    const running = bot.start();
    telegram.privateChat(MIRA).sendText("hello");
    expect(await telegram.sentMatching((message) => message.chatId === 700)).toMatchObject({
      text: "you said hello",
    });
    await bot.stop();
    await running;
    expect(telegram.pending()).toEqual([]);
  });
});
