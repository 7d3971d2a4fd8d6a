import { describe, expect, it } from "vitest";
import {
  actionDestination,
  destination,
  guestQuery,
  placeOf,
  placeOfChat,
} from "../../../channels/telegram/place.ts";
import type { ChatAddress } from "../../../src/core/identity.ts";
import { sample, samples } from "./fixtures.ts";
import { FORUM } from "./reading.ts";

describe("an address", () => {
  it.each([
    [{ chat: "700100001" }, { chat_id: 700100001 }, { chat_id: 700100001 }],
    [
      { chat: "-1002000000002", topic: "15" },
      { chat_id: -1002000000002, message_thread_id: 15 },
      { chat_id: -1002000000002, message_thread_id: 15 },
    ],
    [
      { chat: "-1002000000002", topic: "1" },
      { chat_id: -1002000000002 },
      { chat_id: -1002000000002, message_thread_id: 1 },
    ],
    [
      { chat: "-1002000000004", topic: "direct:55" },
      { chat_id: -1002000000004, direct_messages_topic_id: 55 },
      undefined,
    ],
    [
      { chat: "business:bc_demo:1:700100002" },
      { chat_id: 700100002, business_connection_id: "bc_demo:1" },
      { chat_id: 700100002, business_connection_id: "bc_demo:1" },
    ],
  ])("%j is where a message goes, and a sign of life", (at, message, action) => {
    const to = { channel: "family", ...at };
    expect([destination(to), actionDestination(to)]).toEqual([message, action]);
  });

  it("of a guest takes an answer to its question, and nothing else", () => {
    const to = { channel: "family", chat: "guest:-1002000000077", topic: "gq_demo_1" };
    expect([guestQuery(to), actionDestination(to)]).toEqual(["gq_demo_1", undefined]);
    expect(() => destination(to)).toThrow(expect.objectContaining({ code: "send.refused" }));
    expect(guestQuery({ channel: "family", chat: "-1002000000077", topic: "gq_demo_1" })).toBeUndefined();
  });

  it.each([
    ["text_private", { chat_id: 700100001 }],
    ["forum_topic_message", { chat_id: -1002000000002, message_thread_id: 15 }],
    ["reply_thread_not_topic", { chat_id: -1002000000001 }],
    ["private_topic_message", { chat_id: 700100001, message_thread_id: 902 }],
    ["channel_direct_message", { chat_id: -1002000000004, direct_messages_topic_id: 700100002 }],
  ])("leads back to where %s came from", (kind, to) => {
    const { message } = sample(kind);
    expect(message && destination(addressIn(placeOf(message, samples.bot)))).toEqual(to);
  });

  it("leads back to a business account's chat, and to General", () => {
    const { business_message } = sample("business_message");
    const { message } = sample("forum_topic_message");
    const general = { ...message, chat: FORUM, message_thread_id: undefined, is_topic_message: undefined };
    expect(business_message && destination(addressIn(placeOf(business_message, samples.bot)))).toEqual({
      chat_id: 700100002,
      business_connection_id: "bc_demo_1",
    });
    const place = placeOf(JSON.parse(JSON.stringify(general)) as never, samples.bot);
    expect(destination(addressIn(place))).toEqual({ chat_id: FORUM.id });
    expect(actionDestination(addressIn(place))).toEqual({ chat_id: FORUM.id, message_thread_id: 1 });
    expect(placeOfChat(FORUM)).not.toHaveProperty("topic");
  });
});

function addressIn({ chat, topic }: { readonly chat: string; readonly topic?: string }): ChatAddress {
  return { channel: "family", chat, ...(topic === undefined ? {} : { topic }) };
}
