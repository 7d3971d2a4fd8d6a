import { Api, InputFile } from "grammy";
import type { Update } from "grammy/types";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTelegram, type EmulatorOptions, type TelegramEmulator } from "./emulator.ts";
import type { Group } from "./people/group.ts";
import { png } from "./pictures.ts";

const MIRA = { id: 700, firstName: "Mira" };
const TOMAS = { id: 701, firstName: "Tomás" };
const GROUP = -1001;

let telegram: TelegramEmulator;
let api: Api;
let group: Group;

async function open(options: EmulatorOptions = {}): Promise<void> {
  telegram = await startTelegram(options);
  api = new Api(telegram.token, { apiRoot: telegram.apiRoot });
  group = telegram.supergroup({ id: GROUP, title: "Birds" });
}

afterEach(() => telegram.close());

/** What the bot has been told since it asked last; each is confirmed. */
async function told(): Promise<Update[]> {
  const updates = await api.getUpdates();
  await api.getUpdates({ offset: (updates.at(-1)?.update_id ?? 0) + 1 });
  return updates;
}

async function texts(): Promise<(string | undefined)[]> {
  return (await told()).map(
    ({ message }) => message?.text ?? message?.caption ?? Object.keys(message ?? {}).at(-1),
  );
}

describe("privacy", () => {
  async function speak(): Promise<void> {
    const mira = group.as(MIRA);
    mira.sendText("hello all");
    mira.sendText("/ask what is this");
    mira.sendText("/ask@fern_demo_bot what");
    mira.sendText("/ask@other_bot what");
    mira.sendText("@Fern_Demo_Bot look");
    mira.sendPhoto(png(10, 10), { caption: "/read this" });
    const { message_id } = await api.sendMessage(GROUP, "from the bot");
    mira.sendText("an answer", { replyTo: message_id });
    group.join(TOMAS);
  }

  it("off, hands over everything", async () => {
    await open();
    await speak();
    expect(await told()).toHaveLength(8);
    expect((await api.getMe()).can_read_all_group_messages).toBe(true);
  });

  it("on, hands over commands, answers to the bot and service messages", async () => {
    await open({ privacy: "on" });
    await speak();
    expect(await texts()).toEqual([
      "/ask what is this",
      "/ask@fern_demo_bot what",
      "/read this",
      "an answer",
      "new_chat_members",
    ]);
    expect((await api.getMe()).can_read_all_group_messages).toBe(false);
  });

  it("on, may hand over mentions too", async () => {
    await open({ privacy: "mentions" });
    await speak();
    expect(await texts()).toContain("@Fern_Demo_Bot look");
  });

  it("is no matter for administrators and in private chats, and holds for edits", async () => {
    await open({ privacy: "on" });
    const { message_id } = group.as(MIRA).sendText("nothing for you");
    group.as(MIRA).edit(message_id, "still nothing");
    expect(await told()).toEqual([]);
    group.as(MIRA).edit(message_id, "/ask now");
    telegram.privateChat(MIRA).sendText("private");
    group.promoteBot(MIRA);
    group.as(MIRA).sendText("read this");
    const updates = await told();
    expect(updates.map((update) => Object.keys(update)[1])).toEqual([
      "edited_message",
      "message",
      "my_chat_member",
      "message",
    ]);
  });

  it("reaches a group only when the bot is added again", async () => {
    await open({ privacy: "on" });
    telegram.setPrivacy("off");
    expect((await api.getMe()).can_read_all_group_messages).toBe(true);
    group.as(MIRA).sendText("unheard");
    expect(await told()).toEqual([]);
    group.promoteBot(MIRA);
    group.demoteBot(MIRA);
    await told();
    group.as(MIRA).sendText("still unheard");
    expect(await told()).toEqual([]);
    group.removeBot(MIRA);
    group.addBot(MIRA);
    await told();
    group.as(MIRA).sendText("heard");
    expect(await texts()).toEqual(["heard"]);
  });
});

describe("the bot in a group", () => {
  beforeEach(() => open());

  it("is removed and added again: it is told, and writes and hears nothing meanwhile", async () => {
    group.removeBot(MIRA);
    group.as(MIRA).sendText("unheard");
    for (const call of [api.sendMessage(GROUP, "x"), api.getChat(GROUP)]) {
      await expect(call).rejects.toMatchObject({
        error_code: 403,
        description: "Forbidden: bot was kicked from the supergroup chat",
      });
    }
    group.addBot(TOMAS);
    await api.sendMessage(GROUP, "x");
    const [left, removed, added, joined] = await told();
    expect(left?.message?.left_chat_member?.id).toBe(telegram.me.id);
    expect(removed?.my_chat_member).toMatchObject({
      from: { id: 700 },
      old_chat_member: { status: "member" },
      new_chat_member: { status: "kicked" },
    });
    expect(added?.my_chat_member).toMatchObject({ from: { id: 701 }, new_chat_member: { status: "member" } });
    expect(joined?.message?.new_chat_members?.[0]?.id).toBe(telegram.me.id);
  });

  it("leaves by itself", async () => {
    await api.leaveChat(GROUP);
    await expect(api.sendMessage(GROUP, "x")).rejects.toThrow("bot is not a member of the supergroup chat");
    expect((await told())[0]?.my_chat_member?.new_chat_member.status).toBe("left");
  });

  it("sees its own rights", async () => {
    expect(await api.getChatMember(GROUP, telegram.me.id)).toMatchObject({ status: "member" });
    expect(await api.getChatAdministrators(GROUP)).toEqual([]);
    group.promoteBot(MIRA, ["can_pin_messages"]);
    const me = { status: "administrator", can_pin_messages: true, can_manage_topics: false };
    expect(await api.getChatMember(GROUP, telegram.me.id)).toMatchObject(me);
    expect(await api.getChatAdministrators(GROUP)).toMatchObject([me]);
    telegram.privateChat(MIRA);
    await expect(api.getChatAdministrators(700)).rejects.toThrow("no administrators in the private chat");
    group.demoteBot(MIRA, ["can_send_messages"]);
    expect(await api.getChatMember(GROUP, telegram.me.id)).toMatchObject({
      status: "restricted",
      can_send_messages: true,
      can_send_photos: false,
    });
  });

  it("may send only what it is allowed to", async () => {
    group.demoteBot(MIRA, ["can_send_messages"]);
    await api.sendMessage(GROUP, "x");
    const photo = new InputFile(png(10, 10));
    await expect(api.sendPhoto(GROUP, photo)).rejects.toThrow("not enough rights to send photos to the chat");
    await expect(api.sendPoll(GROUP, "Lunch?", ["Soup"])).rejects.toThrow("not enough rights to send polls");
    group.demoteBot(MIRA, []);
    await expect(api.sendMessage(GROUP, "x")).rejects.toThrow(
      "Bad Request: not enough rights to send text messages to the chat",
    );
  });

  it("pins with the right to, and hears of it", async () => {
    await api.sendMessage(GROUP, "x");
    await expect(api.pinChatMessage(GROUP, 1)).rejects.toThrow("not enough rights to manage pinned messages");
    group.promoteBot(MIRA, ["can_pin_messages"]);
    await api.pinChatMessage(GROUP, 1);
    expect(await api.getChat(GROUP)).toMatchObject({ pinned_message: { text: "x" } });
    expect((await told()).at(-1)?.message?.pinned_message).toMatchObject({ message_id: 1 });
    await api.unpinChatMessage(GROUP);
    expect(await api.getChat(GROUP)).not.toHaveProperty("pinned_message");
  });

  it("gets reactions as an administrator who asked for them, with what was there before", async () => {
    await api.sendMessage(GROUP, "x");
    const mira = group.as(MIRA);
    mira.react(1, "👍");
    group.promoteBot(MIRA);
    await told();
    mira.react(1, "👎");
    expect(await told()).toEqual([]);
    await api.getUpdates({ allowed_updates: ["message_reaction"] });
    group.demoteBot(MIRA);
    mira.react(1, "👎");
    expect(await told()).toEqual([]);
    group.promoteBot(MIRA);
    mira.react(1, "🔥");
    mira.react(1);
    const [fire, none] = (await told()).map(({ message_reaction }) => message_reaction);
    expect(fire).toMatchObject({ message_id: 1, user: { id: 700 }, old_reaction: [{ emoji: "👎" }] });
    expect(none).toMatchObject({ old_reaction: [{ emoji: "🔥" }], new_reaction: [] });
  });

  it("gets comings and goings as an administrator who asked for them", async () => {
    await api.getUpdates({ allowed_updates: ["chat_member"] });
    group.join(TOMAS);
    group.promoteBot(MIRA);
    group.leave(TOMAS);
    expect((await told()).map(({ chat_member: member }) => member?.new_chat_member.status)).toEqual(["left"]);
  });
});

describe("who speaks in a group", () => {
  beforeEach(() => open());

  it("may be an administrator that nobody can tell", async () => {
    group.anonymousAdmin("keeper").sendText("please behave");
    expect((await told())[0]?.message).toMatchObject({
      from: { id: 1_087_968_824, username: "GroupAnonymousBot" },
      sender_chat: { id: GROUP },
      author_signature: "keeper",
    });
  });

  it("may be somebody in the name of a channel", async () => {
    const { chat } = telegram.channel({ id: -1003, title: "Tides" });
    group.asChannel(chat).sendText("x");
    expect((await told())[0]?.message).toMatchObject({
      from: { id: 136_817_688 },
      sender_chat: { id: -1003 },
    });
  });

  it("answers in a thread that is no topic and takes no sends", async () => {
    const { message_id } = await api.sendMessage(GROUP, "Low tide 12:11");
    const first = group.as(MIRA).sendText("and tomorrow?", { replyTo: message_id });
    const second = group.as(TOMAS).sendText("and then?", { replyTo: first.message_id });
    for (const answer of [first, second]) {
      expect(answer.message_thread_id).toBe(message_id);
      expect(answer).not.toHaveProperty("is_topic_message");
    }
    await expect(api.sendMessage(GROUP, "x", { message_thread_id: message_id })).rejects.toThrow(
      "message thread not found",
    );
    const own = await api.sendMessage(GROUP, "x", { reply_parameters: { message_id: second.message_id } });
    expect(own.message_thread_id).toBe(message_id);
    expect(telegram.sent.at(-1)).toMatchObject({ replyTo: second.message_id, threadId: undefined });
  });
});

describe("a group that becomes a supergroup", () => {
  beforeEach(() => open());

  it.each([
    [false, [{ migrate_to_chat_id: -1009 }, { migrate_from_chat_id: -5 }]],
    [true, [{ migrate_from_chat_id: -5 }, { migrate_to_chat_id: -1009 }]],
  ])(
    "tells it in both chats, and its old number names the new one (new first: %s)",
    async (newFirst, pair) => {
      telegram.group({ id: -5, title: "Old" }).as(MIRA).sendText("x");
      await told();
      telegram.migrate(-5, -1009, { newFirst });
      expect((await told()).map(({ message }) => message)).toMatchObject(pair);
      await expect(api.sendMessage(-5, "x")).rejects.toMatchObject({
        error_code: 400,
        description: "Bad Request: group chat was upgraded to a supergroup chat",
        parameters: { migrate_to_chat_id: -1009 },
      });
      expect(await api.getChatMember(-1009, 700)).toMatchObject({ user: { id: 700 } });
    },
  );
});
