import { Api } from "grammy";
import type { Update } from "grammy/types";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTelegram, type EmulatorOptions, type TelegramEmulator } from "./emulator.ts";

const MIRA = { id: 700, firstName: "Mira" };
const FORUM = -1002;
const CHANNEL = -1003;

let telegram: TelegramEmulator;
let api: Api;

async function open(options: EmulatorOptions = {}): Promise<void> {
  telegram = await startTelegram(options);
  api = new Api(telegram.token, { apiRoot: telegram.apiRoot });
}

beforeEach(() => open());
afterEach(() => telegram.close());

async function told(): Promise<Update[]> {
  return await api.getUpdates();
}

describe("topics of a forum", () => {
  it("take messages by number, General without one, and closed and deleted ones take none", async () => {
    const forum = telegram.supergroup({ id: FORUM, title: "Yard", forum: true });
    const topic = forum.topic("Knots", MIRA);
    const sent = await api.sendMessage(FORUM, "x", { message_thread_id: topic });
    expect(sent).toMatchObject({ message_thread_id: topic, is_topic_message: true });
    expect((await api.sendMessage(FORUM, "x")).message_thread_id).toBeUndefined();
    await expect(api.sendMessage(FORUM, "x", { message_thread_id: 1 })).rejects.toThrow(
      "message thread not found",
    );
    await api.sendChatAction(FORUM, "typing", { message_thread_id: 1 });
    forum.closeTopic(topic, MIRA);
    await expect(api.sendMessage(FORUM, "x", { message_thread_id: topic })).rejects.toThrow("TOPIC_CLOSED");
    forum.promoteBot(MIRA, ["can_manage_topics"]);
    await api.sendMessage(FORUM, "x", { message_thread_id: topic });
    forum.deleteTopic(topic);
    await expect(api.sendMessage(FORUM, "x", { message_thread_id: topic })).rejects.toThrow("TOPIC_DELETED");
  });

  it("keep an answer to what was said in them, and General has no number", async () => {
    const forum = telegram.supergroup({ id: FORUM, title: "Yard", forum: true });
    const topic = forum.topic("Knots", MIRA);
    const asked = forum.as(MIRA).in(topic).sendText("which?");
    expect(asked).toMatchObject({
      message_thread_id: topic,
      is_topic_message: true,
      reply_to_message: { forum_topic_created: { name: "Knots" } },
    });
    const reply_parameters = { message_id: asked.message_id };
    expect(await api.sendMessage(FORUM, "this", { reply_parameters })).toMatchObject({
      message_thread_id: topic,
      is_topic_message: true,
    });
    const general = forum.as(MIRA).sendText("hello");
    expect(general).not.toHaveProperty("message_thread_id");
  });

  it("are told of when people make, rename, close and reopen them", async () => {
    const forum = telegram.supergroup({ id: FORUM, title: "Yard", forum: true });
    const topic = forum.topic("Knots", MIRA);
    forum.renameTopic(topic, "Ropes", MIRA);
    forum.closeTopic(topic, MIRA);
    forum.reopenTopic(topic, MIRA);
    const services = (await told()).map(({ message }) => message);
    expect(services).toMatchObject([
      { forum_topic_created: { name: "Knots" } },
      { forum_topic_edited: { name: "Ropes" } },
      { forum_topic_closed: {} },
      { forum_topic_reopened: {} },
    ]);
    expect(services.map((service) => service?.message_thread_id)).toEqual([topic, topic, topic, topic]);
  });

  it("are made by a bot that may, which hears of them as of others'", async () => {
    const forum = telegram.supergroup({ id: FORUM, title: "Yard", forum: true });
    await expect(api.createForumTopic(FORUM, "Knots")).rejects.toThrow("not enough rights to create a topic");
    forum.promoteBot(MIRA, ["can_manage_topics"]);
    const { message_thread_id: topic } = await api.createForumTopic(FORUM, "Knots");
    await api.sendMessage(FORUM, "x", { message_thread_id: topic });
    await api.editForumTopic(FORUM, topic, { name: "Ropes" });
    await api.closeForumTopic(FORUM, topic);
    await expect(api.closeForumTopic(FORUM, topic)).rejects.toThrow("TOPIC_NOT_MODIFIED");
    await api.reopenForumTopic(FORUM, topic);
    await api.deleteForumTopic(FORUM, topic);
    await expect(api.reopenForumTopic(FORUM, topic)).rejects.toThrow("TOPIC_ID_INVALID");
    const kinds = (await told()).flatMap(({ message }) => Object.keys(message ?? {}).at(-1) ?? []);
    expect(kinds).toEqual([
      "message_thread_id",
      "forum_topic_edited",
      "forum_topic_closed",
      "forum_topic_reopened",
    ]);
  });
});

describe("topics of a private chat", () => {
  it("are made by either side, where the bot has them switched on", async () => {
    const mira = telegram.privateChat(MIRA);
    const { message_thread_id } = await api.createForumTopic(700, "Packing");
    expect(mira.in(message_thread_id).sendText("list?")).toMatchObject({
      message_thread_id,
      is_topic_message: true,
    });
    await api.sendMessage(700, "x", { message_thread_id });
    await telegram.close();
    await open({ me: { has_topics_enabled: false } });
    telegram.privateChat(MIRA);
    await expect(api.createForumTopic(700, "Packing")).rejects.toThrow("the chat is not a forum");
  });
});

describe("a channel", () => {
  it("posts without a person, edits its posts, and takes the bot's", async () => {
    const author = telegram.channel({ id: CHANNEL, title: "Tides", username: "tides_demo" }).author("Editor");
    const { message_id } = author.sendText("bulletin 204");
    author.edit(message_id, "bulletin 205");
    const [post, edited] = await told();
    expect(post?.channel_post).toMatchObject({
      sender_chat: { id: CHANNEL },
      author_signature: "Editor",
      text: "bulletin 204",
    });
    expect(post?.channel_post).not.toHaveProperty("from");
    expect(edited?.edited_channel_post).toMatchObject({ text: "bulletin 205" });
    expect(await api.sendMessage("@tides_demo", "from the bot")).toMatchObject({
      chat: { id: CHANNEL },
      sender_chat: { id: CHANNEL },
    });
  });

  it("appears in its discussion group by itself", async () => {
    const channel = telegram.channel({ id: CHANNEL, title: "Tides" });
    const group = telegram.supergroup({ id: -1004, title: "Talk" });
    channel.link(group);
    channel.author().sendText("bulletin 204");
    expect(await api.getChat(-1004)).toMatchObject({ linked_chat_id: CHANNEL });
    const [post, forwarded] = await told();
    expect(forwarded?.message).toMatchObject({
      from: { id: 777_000 },
      chat: { id: -1004 },
      sender_chat: { id: CHANNEL },
      is_automatic_forward: true,
      forward_origin: { type: "channel", message_id: post?.channel_post?.message_id },
      text: "bulletin 204",
    });
  });

  it("counts reactions without saying whose", async () => {
    await api.getUpdates({ allowed_updates: ["message_reaction_count", "channel_post"] });
    const author = telegram.channel({ id: CHANNEL, title: "Tides" }).author();
    const { message_id } = author.sendText("x");
    author.react(message_id, "👍");
    expect((await told())[1]?.message_reaction_count).toMatchObject({
      message_id,
      reactions: [{ type: { emoji: "👍" }, total_count: 1 }],
    });
  });

  it("has direct messages, whose topic every send must name", async () => {
    const direct = telegram.channel({ id: CHANNEL, title: "Tides" }).directMessages(-1005);
    const asked = direct.as(MIRA).sendText("Can you feature my boat?");
    expect(asked).toMatchObject({
      chat: { is_direct_messages: true },
      direct_messages_topic: { topic_id: 700, user: { first_name: "Mira" } },
    });
    await expect(api.sendMessage(-1005, "x")).rejects.toThrow(
      "Bad Request: channel direct messages topic must be specified",
    );
    const sent = await api.sendMessage(-1005, "yes", { direct_messages_topic_id: 700 });
    expect(sent.direct_messages_topic).toMatchObject({ topic_id: 700 });
    await expect(api.sendChatAction(-1005, "typing")).rejects.toThrow("no chat actions");
  });
});
