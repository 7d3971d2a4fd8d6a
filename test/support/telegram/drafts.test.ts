import { Api } from "grammy";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { manualClock, type ManualClock } from "../clock.ts";
import { startTelegram, type EmulatorOptions, type TelegramEmulator } from "./emulator.ts";

const MIRA = { id: 700, firstName: "Mira" };

let clock: ManualClock;
let telegram: TelegramEmulator;
let api: Api;

async function open(options: EmulatorOptions = {}): Promise<void> {
  clock = manualClock();
  telegram = await startTelegram({ clock, ...options });
  api = new Api(telegram.token, { apiRoot: telegram.apiRoot });
  telegram.privateChat(MIRA);
}

beforeEach(() => open());
afterEach(() => telegram.close());

async function stops(): Promise<unknown[]> {
  return (await api.getUpdates()).flatMap((update) => update.stopped_message_generation ?? []);
}

describe("a draft", () => {
  it("is shown for 30 s, each time anew", async () => {
    await api.sendMessageDraft(700, 7, "so");
    await clock.advance(29_000);
    await api.sendMessageDraft(700, 7, "so far");
    await clock.advance(29_999);
    expect(telegram.draftIn(700)).toBe("so far");
    await clock.advance(1);
    expect(telegram.draftIn(700)).toBeUndefined();
    expect(telegram.drafts.map(({ text }) => text)).toEqual(["so", "so far"]);
    expect(telegram.shown(700)).toEqual([]);
  });

  it("ends with a message in its chat and topic, not with one in another", async () => {
    telegram.privateChat(MIRA).in(902);
    await api.sendMessageDraft(700, 7, "here", { message_thread_id: 902 });
    await api.sendMessage(700, "elsewhere");
    expect(telegram.draftShown(700)).toMatchObject({ text: "here", threadId: 902, draftId: 7 });
    await api.sendMessage(700, "here, whole", { message_thread_id: 902 });
    expect(telegram.draftShown(700)).toBeUndefined();
  });

  it("gives way to another one", async () => {
    await api.sendMessageDraft(700, 7, "one");
    await api.sendMessageDraft(700, 8, "two");
    expect(telegram.draftShown(700)).toMatchObject({ draftId: 8, text: "two" });
  });

  it("may be empty, which shows that the bot thinks", async () => {
    await api.sendMessageDraft(700, 7, "");
    expect(telegram.draftIn(700)).toBe("");
  });

  it.each([
    ["outside private chats", -5, 7, "x", "TEXTDRAFT_PEER_INVALID"],
    ["under the number 0", 700, 0, "x", "draft_id must be non-zero"],
    ["that is too long", 700, 7, "x".repeat(4097), "message is too long"],
    ["in an unknown chat", 701, 7, "x", "chat not found"],
  ])("is refused %s", async (_what, chat, draftId, text, why) => {
    telegram.group({ id: -5, title: "Basic" });
    await expect(api.sendMessageDraft(chat, draftId, text)).rejects.toThrow(why);
    expect(telegram.drafts).toEqual([]);
  });

  it("is refused in a chat where Telegram takes none", async () => {
    telegram.refuseDrafts(700);
    await expect(api.sendMessageDraft(700, 7, "x")).rejects.toMatchObject({
      error_code: 400,
      description: "Bad Request: TEXTDRAFT_PEER_INVALID",
    });
    await api.sendMessage(700, "x");
  });

  it("can be waited for", async () => {
    const next = telegram.nextDraft(({ text }) => text.length > 3);
    await api.sendMessageDraft(700, 7, "so");
    await api.sendMessageDraft(700, 7, "so far");
    expect(await next).toMatchObject({ text: "so far" });
  });
});

describe("Stop", () => {
  it("tells the bot which draft, takes it away, and no more of it is shown", async () => {
    const mira = telegram.privateChat(MIRA);
    await api.sendMessageDraft(700, 7, "so far", { can_stop: true });
    mira.stopDraft(7);
    expect(telegram.draftIn(700)).toBeUndefined();
    await api.sendMessageDraft(700, 7, "so far, and more", { can_stop: true });
    expect(telegram.draftIn(700)).toBeUndefined();
    expect(telegram.drafts).toHaveLength(2);
    await api.sendMessageDraft(700, 8, "the next");
    expect(telegram.draftIn(700)).toBe("the next");
    await api.sendMessage(700, "so far");
    await api.sendMessageDraft(700, 7, "begun anew");
    expect(telegram.draftIn(700)).toBe("begun anew");
    expect(await stops()).toEqual([{ chat: { id: 700, type: "private", first_name: "Mira" }, draft_id: 7 }]);
  });

  it("leaves the draft there for a while, where the bot asked for that", async () => {
    await api.sendMessageDraft(700, 7, "so far", { can_stop: true, keep_on_stop: true });
    const mira = telegram.privateChat(MIRA);
    mira.stopDraft(7);
    expect(telegram.draftIn(700)).toBe("so far");
    expect(() => mira.stopDraft(7)).toThrow("no draft 7 with a Stop button");
    await clock.advance(30_000);
    expect(telegram.draftIn(700)).toBeUndefined();
  });

  it("names the topic", async () => {
    const inTopic = telegram.privateChat(MIRA).in(902);
    await api.sendMessageDraft(700, 7, "x", { can_stop: true, message_thread_id: 902 });
    inTopic.stopDraft(7);
    expect(await stops()).toMatchObject([{ draft_id: 7, message_thread_id: 902 }]);
  });

  it("is not there without can_stop, under another number or when the draft has gone", async () => {
    const mira = telegram.privateChat(MIRA);
    await api.sendMessageDraft(700, 7, "x");
    expect(() => mira.stopDraft(7)).toThrow("no draft 7");
    await api.sendMessageDraft(700, 7, "x", { can_stop: true });
    expect(() => mira.stopDraft(8)).toThrow("no draft 8");
    await clock.advance(30_000);
    expect(() => mira.stopDraft(7)).toThrow("no draft 7");
    expect(await stops()).toEqual([]);
  });
});

describe("a rich draft", () => {
  it("may show that the bot thinks, and takes known files only", async () => {
    const blocks = [{ type: "thinking" as const, text: "Looking it up" }];
    await api.sendRichMessageDraft(700, 7, { blocks }, { can_stop: true });
    expect(telegram.draftShown(700)).toMatchObject({ text: "Looking it up", rich: { given: { blocks } } });
    const photo = { type: "photo" as const, media: "https://example.org/a.png" };
    await expect(api.sendRichMessageDraft(700, 7, { blocks: [{ type: "photo", photo }] })).rejects.toThrow(
      "invalid rich message file identifier specified",
    );
  });
});

describe("an older server", () => {
  it("knows no drafts, or no empty ones", async () => {
    await telegram.close();
    await open({ lacks: ["drafts"] });
    await expect(api.sendMessageDraft(700, 7, "x")).rejects.toMatchObject({ error_code: 404 });
    await telegram.close();
    await open({ lacks: ["emptyDrafts"] });
    await expect(api.sendMessageDraft(700, 7, "")).rejects.toThrow("message text is empty");
    await api.sendMessageDraft(700, 7, "x");
  });
});
