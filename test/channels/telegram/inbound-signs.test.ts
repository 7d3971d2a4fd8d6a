import type { Chat } from "grammy/types";
import { describe, expect, it } from "vitest";
import { sample } from "./fixtures.ts";
import { bot, CHANNEL, FORUM, GROUP, read, TOMAS, updateOf } from "./reading.ts";

const { callback_query: PRESS } = sample("callback_query");
const { stopped_message_generation: STOPPED } = sample("stopped_message_generation");
const { message_reaction: REACTION } = sample("message_reaction");
const { my_chat_member: MEMBER } = sample("my_chat_member_blocked");

describe("a pressed button", () => {
  it("says where it stood: chat, topic and message", () => {
    const message = { ...PRESS?.message, chat: FORUM, message_thread_id: 55, is_topic_message: true };
    expect(press({ message })).toMatchObject({
      type: "choice",
      place: { chat: String(FORUM.id), topic: "55", kind: "group", title: "Boatyard" },
      key: "ok:run42",
      ref: "35",
    });
  });

  it("says in which chat, and no more, where Telegram does not show the message any more", () => {
    expect(press({ message: { message_id: 35, date: 0, chat: GROUP } })).toEqual({
      type: "choice",
      id: PRESS?.id,
      place: { chat: String(GROUP.id), kind: "group", title: GROUP.title },
      from: { id: "700100001", name: "Mira Oduya" },
      sentAt: "1970-01-01T00:00:00.000Z",
      key: "ok:run42",
    });
  });

  it("says in a business account's chat that it is one", () => {
    const message = { ...PRESS?.message, business_connection_id: "bc_demo_1" };
    expect(press({ message })?.place.chat).toBe("business:bc_demo_1:700100001");
  });

  it.each([
    ["of no known chat", { message: undefined, inline_message_id: "x" }],
    ["of a game, which carries nothing", { data: undefined, game_short_name: "hop" }],
  ])("is nothing: %s", (_what, fields) => {
    expect(press(fields)).toBeUndefined();
  });

  it("is the wish to stop where it is the Stop below an answer, unless that answer is there", () => {
    const isOverButton = (data: string) => data === "stop:old";
    const asked = (data: string) => press({ data }, { isOverButton });
    expect(asked("stop:7")).toEqual({
      type: "stop",
      id: PRESS?.id,
      place: { chat: "700100001", kind: "private" },
      from: { id: "700100001", name: "Mira Oduya" },
      sentAt: "1970-01-01T00:00:00.000Z",
    });
    expect(asked("stop:old")).toBeUndefined();
    expect(asked("stopped")).toMatchObject({ type: "choice", key: "stopped" });
    expect(press({ data: "stop:old" })).toMatchObject({ type: "stop" });
  });
});

describe("Telegram's own Stop", () => {
  it("stops in the topic whose draft it was, unless that draft is over", () => {
    const update = updateOf("stopped_message_generation", { ...STOPPED, message_thread_id: 902 });
    const isOver = (draft: number) => draft !== STOPPED?.draft_id;
    expect(read(update, { isOver })).toMatchObject([
      { type: "stop", place: { chat: "700100001", topic: "902" } },
    ]);
    expect(read(update, { isOver: () => true })).toEqual([]);
  });

  it("is a repeat when it is handed over again, and another one when the next draft has the same number", () => {
    const update = sample("stopped_message_generation");
    expect(read(update)).toEqual(read(update));
    expect(read({ ...update, update_id: 1 })[0]).not.toMatchObject({ id: read(update)[0]?.id });
  });
});

describe("a reaction", () => {
  const emoji = (sign: string) => ({ type: "emoji", emoji: sign });
  it.each([
    ["one more", [], [emoji("👍")], ["👍"], []],
    ["another instead", [emoji("👍")], [emoji("👎")], ["👎"], ["👍"]],
    ["one less", [emoji("👍"), emoji("🔥")], [emoji("🔥")], [], ["👍"]],
    ["an emoji of its own", [], [{ type: "custom_emoji", custom_emoji_id: "537" }], ["custom emoji 537"], []],
    ["a paid one", [], [{ type: "paid" }], ["paid star"], []],
    ["one of a later Bot API", [], [{ type: "hologram" }], ["a reaction that I cannot read"], []],
  ])("is told as what has changed: %s", (_what, old_reaction, new_reaction, added, removed) => {
    expect(reaction({ old_reaction, new_reaction })).toMatchObject({ ref: "33", added, removed });
  });

  it("is a chat's where who set it is not told", () => {
    expect(reaction({ user: undefined, actor_chat: CHANNEL })).toMatchObject({
      from: { id: String(CHANNEL.id), name: CHANNEL.title },
    });
  });

  it("says no topic in a forum, for Telegram does not", () => {
    expect(reaction({ chat: FORUM })?.place).toEqual({
      chat: String(FORUM.id),
      kind: "group",
      title: "Boatyard",
    });
  });

  it.each([
    ["by a bot", { user: bot(5) }],
    ["by nobody", { user: undefined }],
    ["that is as before", { old_reaction: [emoji("👍")] }],
  ])("is nothing %s", (_what, fields) => {
    expect(reaction(fields)).toBeUndefined();
  });
});

describe("our own standing in a chat", () => {
  it.each([
    ["blocked", { status: "kicked", until_date: 0 }, "gone"],
    ["removed", { status: "left" }, "gone"],
    ["muted", { status: "restricted", is_member: true, can_send_messages: false }, "gone"],
    ["removed while muted", { status: "restricted", is_member: false, can_send_messages: true }, "gone"],
    [
      "an administrator of a channel who may not post",
      { status: "administrator", can_post_messages: false },
      "gone",
      CHANNEL,
    ],
    [
      "an administrator of a channel who may post",
      { status: "administrator", can_post_messages: true },
      "here",
      CHANNEL,
    ],
    ["an administrator of a group", { status: "administrator", can_post_messages: false }, "here"],
    [
      "restricted, but not in what we do",
      { status: "restricted", is_member: true, can_send_messages: true },
      "here",
    ],
    ["a member", { status: "member" }, "here"],
  ])("is told: %s", (_what, new_chat_member, now, chat: Chat = GROUP) => {
    const update = updateOf("my_chat_member", { ...MEMBER, chat, new_chat_member });
    expect(read(update)).toEqual([
      {
        type: "membership",
        id: `membership/1788200000/${new_chat_member.status}`,
        place: { chat: String(chat.id), kind: "group", title: chat.title },
        sentAt: "2026-08-31T18:13:20.000Z",
        now,
      },
    ]);
  });

  it("is not told by what becomes of others", () => {
    const new_chat_member = { status: "left", user: TOMAS };
    expect(read(updateOf("chat_member", { ...MEMBER, chat: GROUP, new_chat_member }))).toEqual([]);
  });
});

function press(fields: object, options: Parameters<typeof read>[1] = {}) {
  const [event] = read(updateOf("callback_query", { ...PRESS, ...fields }), options);
  return event?.type === "choice" || event?.type === "stop" ? event : undefined;
}

function reaction(fields: object) {
  const [event] = read(updateOf("message_reaction", { ...REACTION, ...fields }));
  return event?.type === "reaction" ? event : undefined;
}
