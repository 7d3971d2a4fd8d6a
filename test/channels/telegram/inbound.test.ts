import { describe, expect, it } from "vitest";
import { ALLOWED, batchToEvents } from "../../../channels/telegram/inbound.ts";
import type { InboundEvent } from "../../../src/core/events.ts";
import { sample, samples } from "./fixtures.ts";
import { messageOf, OPTIONS, read, updateOf } from "./reading.ts";
import { SAMPLES, whole } from "./sample-events.ts";

describe("the sample updates", () => {
  const rows = samples.updates.map(({ kind, update }) => {
    const told = SAMPLES[kind];
    const title = told && "nothing" in told ? `${kind} as nothing: ${told.nothing}` : kind;
    return [title, kind, update, told] as const;
  });

  it.each(rows)("are read: %s", (_title, kind, update, told) => {
    expect(Object.keys(SAMPLES)).toContain(kind);
    expect(read(update)).toEqual(told === undefined || "nothing" in told ? [] : [whole(told, update)]);
  });

  it("are 47, and none of them is told of twice", () => {
    expect(samples.updates.map(({ kind }) => kind).toSorted()).toEqual(Object.keys(SAMPLES).toSorted());
    expect(samples.updates).toHaveLength(47);
  });

  it("come, where they say something, by an update that is asked for", () => {
    const asked: readonly string[] = ALLOWED;
    const coming = samples.updates.filter(({ update }) => read(update).length > 0);
    const names = coming.flatMap(({ update }) => Object.keys(update).filter((name) => name !== "update_id"));
    expect(names.filter((name) => !asked.includes(name))).toEqual([]);
  });
});

describe("what is asked for", () => {
  it("is what is read, and what tells of business accounts", () => {
    expect(ALLOWED).toEqual([
      "message",
      "edited_message",
      "channel_post",
      "edited_channel_post",
      "business_connection",
      "business_message",
      "edited_business_message",
      "deleted_business_messages",
      "guest_message",
      "callback_query",
      "stopped_message_generation",
      "message_reaction",
      "my_chat_member",
    ]);
  });

  it.each([
    "chat_member",
    "chat_join_request",
    "chat_boost",
    "removed_chat_boost",
    "message_reaction_count",
    "poll",
    "inline_query",
    "chosen_inline_result",
    "shipping_query",
    "pre_checkout_query",
    "purchased_paid_media",
    "business_connection",
    "managed_bot",
    "subscription",
  ] as const)("has nothing to say by %s", (kind) => {
    expect(read(updateOf(kind, { chat: { id: 1, type: "private" }, date: 1 }))).toEqual([]);
  });

  it("says nothing by a kind of update that does not exist yet", () => {
    expect(read(updateOf("hologram_message" as "message", sample("text_private").message ?? {}))).toEqual([]);
  });
});

describe("what was handed over at once", () => {
  const album = [sample("album_item_2"), sample("album_item_1")] as const;
  const addressed = (events: readonly InboundEvent[]) =>
    events.map((event) =>
      event.type === "message" || event.type === "edited" ? event.addressed : event.type,
    );

  it("is addressed, a picture of an album, when one behind it is, whatever stands between them", () => {
    const updates = [album[0], sample("message_reaction"), sample("migrate_to"), album[1], sample("poll")];
    expect(addressed(batchToEvents(updates, samples.bot, OPTIONS))).toEqual([
      true,
      "reaction",
      "chatMoved",
      true,
      false,
    ]);
  });

  it("is, behind the picture of an album that names us, the event that it is when it comes alone", () => {
    const updates = [album[1], album[0]];
    expect(batchToEvents(updates, samples.bot, OPTIONS)).toEqual(
      updates.flatMap((update) => batchToEvents([update], samples.bot, OPTIONS)),
    );
  });

  it("is addressed when the caption of an album's picture came to name us by an edit", () => {
    const edited_message = { ...album[1].message, edit_date: 1_788_200_070 };
    const updates = [album[0], updateOf("edited_message", edited_message)];
    expect(addressed(batchToEvents(updates, samples.bot, OPTIONS))).toEqual([true, true]);
  });

  it("is not addressed by an album of somebody else's, or of another chat, that has the same number", () => {
    const another = { ...album[0].message, from: { id: 5, is_bot: false, first_name: "Nia" } };
    const elsewhere = { ...album[0].message, chat: { id: -5, type: "group", title: "Boatyard" } };
    const updates = [updateOf("message", another), updateOf("message", elsewhere), album[1]];
    expect(addressed(batchToEvents(updates, samples.bot, OPTIONS))).toEqual([false, false, true]);
  });
});

describe("complaint 9: a message that is handed over again", () => {
  it("has the same id, and is the same event, under the same number and under another one", () => {
    for (const { update } of samples.updates.filter(({ update: { message } }) => message)) {
      expect(read(update)).toEqual(read(update));
      expect(read({ ...update, update_id: update.update_id + 5 })).toEqual(read(update));
    }
  });
});

describe("complaint 41: two plain messages of a private chat", () => {
  it("stand in one place", () => {
    const { message } = sample("text_private");
    const [one, other] = [
      { ...message, text: "hi" },
      { ...message, message_id: 42, text: "and?" },
    ].map(messageOf);
    expect([one?.id, other?.id]).toEqual(["41", "42"]);
    expect(other?.place).toEqual(one?.place);
  });
});
