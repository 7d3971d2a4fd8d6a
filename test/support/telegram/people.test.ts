import { Api } from "grammy";
import type { Update } from "grammy/types";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { manualClock, type ManualClock } from "../clock.ts";
import { startTelegram, type TelegramEmulator } from "./emulator.ts";
import type { Voice } from "./people.ts";
import { png } from "./pictures.ts";

const MIRA = { id: 700, firstName: "Mira", languageCode: "de" };
const TOMAS = { id: 701, firstName: "Tomás" };

let clock: ManualClock;
let telegram: TelegramEmulator;
let api: Api;
let mira: Voice;

beforeEach(async () => {
  clock = manualClock(1_788_200_000_000);
  telegram = await startTelegram({
    clock,
    me: { supports_guest_queries: true, can_connect_to_business: true },
  });
  api = new Api(telegram.token, { apiRoot: telegram.apiRoot });
  mira = telegram.privateChat(MIRA);
});
afterEach(() => telegram.close());

/** What the bot has been told since it asked last; each is confirmed. */
async function told(): Promise<Update[]> {
  const updates = await api.getUpdates();
  await api.getUpdates({ offset: (updates.at(-1)?.update_id ?? 0) + 1 });
  return updates;
}

describe("people who change their mind", () => {
  it("edit texts and captions", async () => {
    mira.sendText("one");
    mira.sendPhoto(png(10, 10), { caption: "two" });
    await told();
    await clock.advance(5_000);
    mira.edit(1, "one @fern_demo_bot");
    mira.editCaption(2, "/read two");
    expect((await told()).map((update) => update.edited_message)).toMatchObject([
      {
        message_id: 1,
        text: "one @fern_demo_bot",
        edit_date: 1_788_200_005,
        entities: [{ type: "mention" }],
      },
      { message_id: 2, caption: "/read two", caption_entities: [{ type: "bot_command" }] },
    ]);
  });

  it("cause edits in which nothing can be seen to change", async () => {
    const { message_id, text } = mira.sendText("see https://example.org");
    const place = mira.send({ location: { latitude: 1, longitude: 2, live_period: 900 } });
    await told();
    mira.touch(message_id);
    mira.moveLive(place.message_id, 3, 4);
    const [preview, moved] = (await told()).map((update) => update.edited_message);
    expect(preview).toMatchObject({ message_id, text, edit_date: 1_788_200_000 });
    expect(moved?.location).toEqual({ latitude: 3, longitude: 4, live_period: 900 });
    expect(() => mira.moveLive(message_id, 1, 1)).toThrow("no live location");
  });

  it("delete, which no bot is told of", async () => {
    const { message_id } = mira.sendText("x");
    await told();
    mira.delete(message_id);
    expect(await told()).toEqual([]);
    await expect(api.sendMessage(700, "x", { reply_parameters: { message_id } })).rejects.toThrow(
      "message to be replied not found",
    );
  });

  it("react, which a bot hears of in private chats when it asked for that", async () => {
    await api.sendMessage(700, "x");
    mira.react(1, "👍");
    await api.getUpdates({ allowed_updates: ["message_reaction"] });
    mira.react(1, "👎");
    expect((await told()).map((update) => update.message_reaction)).toMatchObject([
      { chat: { id: 700 }, old_reaction: [{ emoji: "👍" }], new_reaction: [{ emoji: "👎" }] },
    ]);
  });
});

describe("long and forwarded texts", () => {
  it("are cut by the client between words, at most 4,096 long, and no word is lost", () => {
    const text = "kingfisher ".repeat(900).trim();
    const parts = mira.paste(text).map((message) => message.text ?? "");
    expect(parts.map(({ length }) => length <= 4096 && length > 0)).toEqual([true, true, true]);
    expect(parts[0]).toHaveLength(4091);
    expect(parts.join(" ")).toBe(text);
    expect(mira.paste("x".repeat(5000)).map((message) => message.text?.length)).toEqual([4096, 904]);
    expect(mira.paste(`x${"😀".repeat(2100)}`).map((message) => message.text?.length)).toEqual([4095, 106]);
    expect(mira.paste("short")).toHaveLength(1);
  });

  it("come with a comment before them, and say where they are from", async () => {
    const channel = telegram.channel({ id: -1003, title: "Tides" });
    const post = channel.author("Editor").sendText("Storm on Saturday.");
    const said = telegram.privateChat(TOMAS).sendText("don't tell anyone");
    await told();
    mira.forward(post, { comment: "is this true?" });
    mira.forward(said);
    mira.forward(said, { hidden: true });
    mira.forward(telegram.privateChat(TOMAS).forward(post));
    const messages = (await told()).map((update) => update.message);
    expect(messages.map((message) => message?.text)).toEqual([
      "is this true?",
      "Storm on Saturday.",
      "don't tell anyone",
      "don't tell anyone",
      "Storm on Saturday.",
      "Storm on Saturday.",
    ]);
    const origins = messages.map((message) => message?.forward_origin);
    expect(origins[0]).toBeUndefined();
    expect(origins.slice(1)).toMatchObject([
      { type: "channel", chat: { id: -1003 }, message_id: post.message_id, author_signature: "Editor" },
      { type: "user", sender_user: { id: 701 } },
      { type: "hidden_user", sender_user_name: "Tomás" },
      { type: "channel", chat: { id: -1003 } },
      { type: "channel", chat: { id: -1003 } },
    ]);
    expect(messages.map((message) => message?.from?.id)).toEqual([700, 700, 700, 700, 701, 700]);
  });

  it("keep an album together", () => {
    const album = [1, 2].map(() => mira.sendPhoto(png(10, 10), { mediaGroupId: "9" }));
    const [one, two] = mira.forward(album);
    expect(one?.media_group_id).toBe(two?.media_group_id);
    expect(one?.media_group_id).not.toBe("9");
  });
});

describe("polls", () => {
  it("of the bot tell it the votes, and who voted unless they are anonymous", async () => {
    await api.sendPoll(700, "Lunch?", ["Soup", "Chips"], { is_anonymous: false });
    mira.vote(1, 1);
    mira.vote(1, 0);
    const updates = await told();
    expect(updates.flatMap(({ poll_answer: answer }) => (answer ? [answer.option_ids] : []))).toEqual([
      [1],
      [0],
    ]);
    expect(updates.at(-2)?.poll).toMatchObject({
      total_voter_count: 1,
      options: [{ voter_count: 1 }, { voter_count: 0 }],
    });
    await api.sendPoll(700, "Secret?", ["Yes"]);
    mira.vote(2, 0);
    expect((await told()).map((update) => Object.keys(update)[1])).toEqual(["poll"]);
  });

  it("of people tell it nothing more", async () => {
    const { message_id } = mira.sendPoll("Lunch?", ["Soup", "Chips"]);
    await told();
    mira.vote(message_id, 1);
    expect(await told()).toEqual([]);
    expect(telegram.message(700, message_id)?.poll?.options[1]?.voter_count).toBe(1);
  });

  it("are refused when they ask too much", async () => {
    await expect(api.sendPoll(700, "x".repeat(301), ["a"])).rejects.toThrow("must not exceed 300");
    await expect(api.sendPoll(700, "x", ["a".repeat(101)])).rejects.toThrow("must not exceed 100");
    await expect(
      api.sendPoll(
        700,
        "x",
        Array.from({ length: 13 }, () => "a"),
      ),
    ).rejects.toThrow("12 options");
  });
});

describe("a business account", () => {
  const OWNER = { id: 800, firstName: "Nia" };

  it("tells the bot of itself and of what is said in its chats, also by its owner", async () => {
    const business = telegram.business(OWNER);
    const customer = business.customer(TOMAS);
    const { message_id } = customer.sendText("Open on Sunday?");
    business.owner(TOMAS).sendText("I will ask.");
    customer.edit(message_id, "Open on Monday?");
    customer.delete(message_id);
    const [connected, asked, said, edited, deleted] = await told();
    expect(connected?.business_connection).toMatchObject({ id: business.connectionId, is_enabled: true });
    const chat = { id: 701, type: "private", first_name: "Tomás" };
    const of = { business_connection_id: business.connectionId, chat };
    expect(asked?.business_message).toMatchObject({ ...of, from: { id: 701 }, text: "Open on Sunday?" });
    expect(said?.business_message).toMatchObject({ ...of, from: { id: 800 } });
    expect(edited?.edited_business_message).toMatchObject({ ...of, text: "Open on Monday?" });
    expect(deleted?.deleted_business_messages).toEqual({ ...of, message_ids: [message_id] });
  });

  it("is answered over its connection, and the answer comes back marked as the bot's", async () => {
    const business = telegram.business(OWNER);
    business.customer(TOMAS).sendText("Open on Sunday?");
    telegram.privateChat(TOMAS);
    await told();
    const { connectionId: business_connection_id } = business;
    await api.sendMessage(701, "Until noon.", { business_connection_id });
    expect((await told())[0]?.business_message).toMatchObject({
      from: { id: 800 },
      sender_business_bot: { id: telegram.me.id },
      text: "Until noon.",
    });
    expect(telegram.sent[0]).toMatchObject({ chatId: 701, businessConnectionId: business_connection_id });
    expect(telegram.shown(701)).toEqual([]);
    expect(business.shown(TOMAS).map(({ text }) => text)).toEqual(["Open on Sunday?", "Until noon."]);
    const answer = business.shown(TOMAS).at(-1)?.message_id ?? 0;
    await api.raw.editMessageText({
      business_connection_id,
      chat_id: 701,
      message_id: answer,
      text: "Until one.",
    });
    expect((await told())[0]?.edited_business_message).toMatchObject({ text: "Until one." });
  });

  it("may forbid answers, or end", async () => {
    const business = telegram.business(OWNER, {});
    business.customer(TOMAS).sendText("x");
    const { connectionId: business_connection_id } = business;
    const send = () => api.sendMessage(701, "x", { business_connection_id });
    await expect(send()).rejects.toThrow("BOT_ACCESS_FORBIDDEN");
    business.allow({ can_reply: true });
    await send();
    business.disconnect();
    await expect(send()).rejects.toThrow("business connection not found");
    const connections = (await told()).flatMap((update) => update.business_connection ?? []);
    expect(connections.map(({ is_enabled, rights }) => [is_enabled, rights?.can_reply ?? false])).toEqual([
      [true, false],
      [true, true],
      [false, true],
    ]);
  });
});

describe("a guest", () => {
  it("is answered once", async () => {
    const query = telegram.guest(
      { id: -1077, title: "Elsewhere" },
      MIRA,
      "@fern_demo_bot translate: bonjour",
    );
    expect((await told())[0]?.guest_message).toMatchObject({
      guest_query_id: query,
      chat: { id: -1077 },
      from: { id: 700 },
      entities: [{ type: "mention" }],
    });
    const result = {
      type: "article" as const,
      id: "1",
      title: "hello",
      input_message_content: { message_text: " hello " },
    };
    const { inline_message_id } = await api.answerGuestQuery(query, result);
    expect(telegram.guestAnswers).toMatchObject([
      { queryId: query, inlineMessageId: inline_message_id, text: "hello" },
    ]);
    await expect(api.answerGuestQuery(query, result)).rejects.toThrow("query is too old");
    await expect(api.sendMessage(-1077, "x")).rejects.toThrow("chat not found");
  });

  it("is not there for a bot that takes none", async () => {
    const shy = await startTelegram();
    expect(() => shy.guest({ id: -1077, title: "Elsewhere" }, MIRA, "x")).toThrow("takes no guests");
    await shy.close();
  });
});

describe("commands", () => {
  const list = (...names: readonly string[]) => names.map((command) => ({ command, description: command }));

  it("are kept for each scope and language, and people see the narrowest list", async () => {
    const group = telegram.supergroup({ id: -1001, title: "Birds" });
    await api.setMyCommands(list("new"));
    await api.setMyCommands(list("neu"), { language_code: "de" });
    await api.setMyCommands(list("ask"), { scope: { type: "all_group_chats" } });
    await api.setMyCommands(list("bird"), { scope: { type: "chat", chat_id: -1001 } });
    await api.setMyCommands(list("mine"), { scope: { type: "chat_member", chat_id: -1001, user_id: 701 } });
    const names = (voice: Voice) => voice.commands().map(({ command }) => command);
    expect(names(mira)).toEqual(["neu"]);
    expect(names(telegram.privateChat(TOMAS))).toEqual(["new"]);
    expect(names(group.as(MIRA))).toEqual(["bird"]);
    expect(names(group.as(TOMAS))).toEqual(["mine"]);
    expect(names(telegram.group({ id: -5, title: "Other" }).as(MIRA))).toEqual(["ask"]);
    expect(await api.getMyCommands({ scope: { type: "chat", chat_id: -1001 } })).toEqual(list("bird"));
    await api.deleteMyCommands({ scope: { type: "chat", chat_id: -1001 } });
    expect(names(group.as(MIRA))).toEqual(["ask"]);
    await api.setMyCommands([], { language_code: "de" });
    expect(names(mira)).toEqual(["new"]);
    expect(await api.getMyCommands({ language_code: "de" })).toEqual([]);
  });

  it.each([
    [list(...Array.from({ length: 101 }, (_, i) => `c${i}`)), {}, "BOT_COMMANDS_TOO_MUCH"],
    [list("New"), {}, "BOT_COMMAND_INVALID"],
    [list("x".repeat(33)), {}, "BOT_COMMAND_INVALID"],
    [[{ command: "x", description: "" }], {}, "BOT_COMMAND_DESCRIPTION_INVALID"],
    [[{ command: "x", description: "x".repeat(257) }], {}, "BOT_COMMAND_DESCRIPTION_INVALID"],
    [list("x"), { scope: { type: "chat" as const, chat_id: 999 } }, "chat not found"],
  ])("are refused: %#", async (commands, other, why) => {
    await expect(api.setMyCommands(commands, other)).rejects.toThrow(`Bad Request: ${why}`);
  });
});
