import { describe, expect, it } from "vitest";
import { toEvents } from "../../../channels/telegram/inbound.ts";
import { sample, samples } from "./fixtures.ts";
import { bot, CHANNEL, FORUM, GROUP, group, OPTIONS, read, RIGHT_BEFORE, updateOf } from "./reading.ts";

const { bot: me } = samples;

describe("addressing in a group", () => {
  it.each([
    ["nobody", "hello", [], {}, false],
    ["a mention, whatever its capitals", "hey @Fern_Demo_Bot", [["mention", 4, 14]], {}, true],
    ["a mention behind signs of two units", "👋👋 @fern_demo_bot", [["mention", 5, 14]], {}, true],
    ["a name that only looks like ours", "hey @fern_demo_bot2", [["mention", 4, 15]], {}, false],
    ["the words without an entity", "hey @fern_demo_bot", [], {}, false],
    ["a command", "/ask x", [["bot_command", 0, 4]], {}, true],
    ["a command for us", "/ask@fern_demo_bot", [["bot_command", 0, 18]], {}, true],
    ["a command for another bot", "/ask@other_bot", [["bot_command", 0, 14]], {}, false],
    ["a path within a text", "see /etc", [["bot_command", 4, 4]], {}, false],
  ] as const)("hears %s", (_what, text, entities, extra, addressed) => {
    const marks = entities.map(([type, offset, length]) => ({ type, offset, length }));
    expect(group(text, { entities: marks, ...extra })?.addressed).toBe(addressed);
  });

  it("hears a reply to us that is no command for another bot, and a mention of us by number", () => {
    expect(group("why?", { reply_to_message: { ...RIGHT_BEFORE, from: bot(me.id) } })?.addressed).toBe(true);
    expect(group("why?", { reply_to_message: RIGHT_BEFORE })?.addressed).toBe(false);
    const forAnother = { entities: [{ type: "bot_command", offset: 0, length: 14 }] };
    const toUs = { reply_to_message: { ...RIGHT_BEFORE, from: bot(me.id) } };
    expect(group("/ask@other_bot", { ...forAnother, ...toUs })?.addressed).toBe(false);
    const mention = { type: "text_mention", offset: 0, length: 4, user: bot(me.id) };
    expect(group("Fern, why?", { entities: [mention] })?.addressed).toBe(true);
  });

  it("does not take a topic that we made for a reply to us", () => {
    const created = { ...RIGHT_BEFORE, from: bot(me.id), forum_topic_created: { name: "a", icon_color: 1 } };
    const event = group("hello", {
      reply_to_message: created,
      is_topic_message: true,
      message_thread_id: 12,
    });
    expect([event?.addressed, event?.quote, event?.place.topic]).toEqual([false, undefined, "12"]);
  });

  it.each([
    ["a mention", { type: "mention", text: "@fern_demo_bot", username: "Fern_Demo_Bot" }, true],
    [
      "a mention with its sign",
      { type: "mention", text: "@fern_demo_bot", username: "@fern_demo_bot" },
      true,
    ],
    ["a mention by number", { type: "text_mention", text: "Fern", user: bot(me.id) }, true],
    ["a command for us", { type: "bot_command", text: "x", bot_command: "/ask@fern_demo_bot" }, true],
    ["a mention of another", { type: "mention", text: "@fern_demo_bot", username: "fern_demo" }, false],
    ["a command for another", { type: "bot_command", text: "x", bot_command: "/ask@other_bot" }, false],
    ["words alone", "@fern_demo_bot", false],
  ])("hears, or does not, %s deep in a rich message", (_what, text, addressed) => {
    const inside = { type: "paragraph", text: ["so ", { type: "bold", text: [text] }] };
    const blocks = [
      { type: "list", items: [{ label: "•", blocks: [{ type: "blockquote", blocks: [inside] }] }] },
    ];
    expect(group(undefined, { rich_message: { blocks } })?.addressed).toBe(addressed);
  });

  it("hears a reply to us that reaches over from another topic, but none from another chat", () => {
    const origin = { type: "user", sender_user: bot(me.id), date: 1 };
    expect(group("so?", { external_reply: { origin, chat: GROUP, message_id: 9 } })?.addressed).toBe(true);
    expect(group("so?", { external_reply: { origin, chat: FORUM, message_id: 9 } })?.addressed).toBe(false);
  });
});

describe("the topic of a message", () => {
  it.each([
    ["a forum's topic", { chat: FORUM, message_thread_id: 55, is_topic_message: true }, "55"],
    ["General, of which nothing is told", { chat: FORUM }, "1"],
    [
      "complaint 57: General by its number",
      { chat: FORUM, message_thread_id: 1, is_topic_message: true },
      "1",
    ],
    ["a thread of replies in General", { chat: FORUM, message_thread_id: 31 }, "1"],
    ["a thread of replies in a group without topics", { message_thread_id: 31 }, undefined],
    ["a group without topics", {}, undefined],
    [
      "a channel's direct messages",
      { chat: { ...GROUP, is_direct_messages: true }, direct_messages_topic: { topic_id: 7 } },
      "direct:7",
    ],
  ])("is read: %s", (_what, fields, topic) => {
    expect(group("hello", fields)?.place.topic).toBe(topic);
  });

  it("of a private chat is one where the bot has topics, also where the message does not say so", () => {
    const update = updateOf("message", { ...sample("text_private").message, message_thread_id: 902 });
    const topicOf = (has_topics_enabled: boolean) => {
      const [event] = toEvents(update, { ...me, has_topics_enabled }, OPTIONS);
      return event?.type === "message" ? event.place.topic : undefined;
    };
    expect([topicOf(true), topicOf(false)]).toEqual(["902", undefined]);
  });

  it("gives its name along where the message tells it", () => {
    const forum_topic_created = { name: "Rigging", icon_color: 1 };
    const fields = { chat: FORUM, message_thread_id: 12, is_topic_message: true };
    const first = group("hello", { ...fields, reply_to_message: { ...RIGHT_BEFORE, forum_topic_created } });
    expect([first?.place.title, group("hello", fields)?.place.title]).toEqual([
      "Boatyard › Rigging",
      "Boatyard",
    ]);
  });
});

describe("who speaks for a group or a channel", () => {
  it("is that group or channel, so that nobody gets in by an account that all of them share", () => {
    const anonymous = group("hello", { from: bot(1087968824), sender_chat: GROUP });
    const asChannel = group("hello", { from: bot(136817688), sender_chat: CHANNEL });
    expect([anonymous?.from.id, asChannel?.from.id]).toEqual([String(GROUP.id), String(CHANNEL.id)]);
  });

  it("is heard in channels only where their posts are taken in", () => {
    const post = sample("channel_post");
    const edited = updateOf("edited_channel_post", { ...post.channel_post, edit_date: 1_788_200_070 });
    expect([post, edited].map((update) => read(update)[0]?.type)).toEqual(["message", "edited"]);
    expect([post, edited].flatMap((update) => read(update, { channelPosts: false }))).toEqual([]);
  });

  it("is the channel where a post does not say who wrote it", () => {
    const channel_post = { ...sample("channel_post").channel_post, from: undefined, sender_chat: undefined };
    expect(read(updateOf("channel_post", channel_post))).toMatchObject([
      { from: { id: String(CHANNEL.id), name: CHANNEL.title }, addressed: true },
    ]);
  });
});
