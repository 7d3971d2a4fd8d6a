import type { BusinessConnection } from "grammy/types";
import { describe, expect, it } from "vitest";
import { connectionIn, ownerIn } from "../../../channels/telegram/business.ts";
import { sample, samples } from "./fixtures.ts";
import { bot, GROUP, OWNER, read, TOMAS, updateOf } from "./reading.ts";

const { business_message: MESSAGE } = sample("business_message");
const { guest_message: GUEST } = sample("guest_message");

describe("a message to a business account", () => {
  const owner = { id: OWNER, is_bot: false, first_name: "Otto" };

  it("stands in another chat than the one that its writer has with the bot, and where three may read", () => {
    const own = updateOf("message", { ...MESSAGE, business_connection_id: undefined });
    const chats = [own, sample("business_message")].map((update) => read(update)[0]);
    expect(chats).toMatchObject([
      { place: { chat: "700100002" }, from: { id: "700100002" } },
      { place: { chat: "business:bc_demo_1:700100002", kind: "group" }, from: { id: "700100002" } },
    ]);
  });

  it("has no topic, whatever the bot's own chats have", () => {
    const [event] = read(updateOf("business_message", { ...MESSAGE, message_thread_id: 5 }));
    expect(event).toMatchObject({ type: "message", place: { chat: "business:bc_demo_1:700100002" } });
    expect(event?.type === "message" && event.place).not.toHaveProperty("topic");
  });

  it.each([
    ["is the owner's own", { from: owner }],
    ["is ours, which comes back", { from: owner, sender_business_bot: bot(samples.bot.id) }],
    ["is another bot's for the owner", { from: TOMAS, sender_business_bot: bot(5) }],
    ["is a bot's", { from: bot(5) }],
    ["came by a connection that is not known, or may not be answered in", { business_connection_id: "bc_2" }],
    ["names no connection", { business_connection_id: undefined }],
  ])("is nothing where it %s", (_what, fields) => {
    const told = { ...MESSAGE, ...fields };
    expect(read(updateOf("business_message", told))).toEqual([]);
    expect(read(updateOf("edited_business_message", { ...told, edit_date: 1_788_200_400 }))).toEqual([]);
  });

  it("is edited and taken back where it stands", () => {
    const edited = { ...MESSAGE, text: "And Monday?", edit_date: 1_788_200_400 };
    const place = { chat: "business:bc_demo_1:700100002", kind: "group" };
    expect(read(updateOf("edited_business_message", edited))).toMatchObject([
      { type: "edited", ref: "80", place, content: [{ text: "And Monday?" }] },
    ]);
    expect(read(sample("deleted_business_messages"))).toMatchObject([
      { type: "deleted", place, refs: ["51", "52"] },
    ]);
  });

  it("is taken back without a word where it was never taken in, or where none is named", () => {
    const { deleted_business_messages: deleted } = sample("deleted_business_messages");
    const without = { ...deleted, message_ids: [] };
    expect(read(updateOf("deleted_business_messages", without))).toEqual([]);
    expect(read(sample("deleted_business_messages"), { businessOwner: () => undefined })).toEqual([]);
  });
});

describe("a business connection", () => {
  const connection = (fields: object) =>
    ({ id: "bc", user: TOMAS, user_chat_id: 1, date: 1, is_enabled: true, ...fields }) as BusinessConnection;

  it("has an owner for us only while it is on and we may answer", () => {
    expect(
      [
        { rights: { can_reply: true } },
        { rights: {} },
        {},
        { rights: { can_reply: true }, is_enabled: false },
      ].map((fields) => ownerIn(connection(fields))),
    ).toEqual([String(TOMAS.id), undefined, undefined, undefined]);
  });

  it("is named by what comes through it, and by nothing else", () => {
    const named = samples.updates.filter(({ update }) => connectionIn(update) !== undefined);
    expect(named.map(({ kind, update }) => [kind, connectionIn(update)])).toEqual([
      ["business_message", "bc_demo_1"],
      ["deleted_business_messages", "bc_demo_1"],
    ]);
    expect(connectionIn(updateOf("edited_business_message", { ...MESSAGE }))).toBe("bc_demo_1");
  });
});

describe("a message from where we are a guest", () => {
  it("stands in a chat of its own, for one answer, and not in the one whose number it has", () => {
    const another = { ...GUEST, guest_query_id: "gq_demo_2", message_id: 82 };
    const inside = { ...GUEST, guest_query_id: undefined };
    const updates = [
      sample("guest_message"),
      updateOf("guest_message", another),
      updateOf("message", inside),
    ];
    expect(updates.map((update) => read(update)[0])).toMatchObject([
      { place: { chat: "guest:-1002000000077", topic: "gq_demo_1", kind: "group" } },
      { place: { chat: "guest:-1002000000077", topic: "gq_demo_2", kind: "group" } },
      { place: { chat: "-1002000000077", kind: "group" } },
    ]);
  });

  it.each([
    ["a group", GROUP, `guest:${GROUP.id}`],
    ["two people", { id: 700100002, type: "private", first_name: "Tomás" }, "guest:700100002"],
  ])("is for us without a mention, in a chat of %s", (_whose, chat, address) => {
    expect(read(updateOf("guest_message", { ...GUEST, chat, text: "hm?", entities: [] }))).toMatchObject([
      { addressed: true, place: { chat: address, kind: "group" } },
    ]);
  });

  it("is nothing where a bot wrote it", () => {
    expect(read(updateOf("guest_message", { ...GUEST, from: bot(5) }))).toEqual([]);
  });
});
