import { describe, expect, it } from "vitest";
import { sample } from "./fixtures.ts";
import { CHANNEL, group, RIGHT_BEFORE } from "./reading.ts";

describe("what a message answers", () => {
  const photo = sample("photo_with_caption").message?.photo;
  const voice = sample("voice").message?.voice;
  const picture = {
    type: "unfetched",
    kind: "image",
    ref: "AgACAgQAAx0DEMO_ph1_y",
    declared: { mimeType: "image/jpeg", bytes: 150912, label: "photo" },
  };

  it("complaint 35: comes with its picture, and words for it", () => {
    const reply = group("and this?", { reply_to_message: { ...RIGHT_BEFORE, caption: "a bird", photo } });
    expect(reply?.quote).toEqual({ text: "a bird\n[photo]", from: "Tomás", ref: "12", media: [picture] });
  });

  it("comes with its picture where only a part of the caption is quoted", () => {
    const reply = group("true?", {
      reply_to_message: { ...RIGHT_BEFORE, caption: "a bird at 18:04", photo },
      quote: { text: "18:04", position: 10, entities: [{ type: "bold", offset: 0, length: 5 }] },
    });
    expect(reply?.quote).toMatchObject({ text: "**18:04**", media: [picture] });
  });

  it.each([
    ["a voice note", { voice }, "[voice note]", ["AwACAgQAAxDEMO_voice"]],
    [
      "a sticker",
      { sticker: sample("sticker_static").message?.sticker },
      "[sticker 🦊, from the set “DemoFoxes”]",
      ["CAACAgIAAxDEMO_st1"],
    ],
    ["a place", { location: { latitude: 1, longitude: 2 } }, "[location 1, 2]", undefined],
  ])("is told in words: %s", (_what, fields, text, refs) => {
    const { quote } = group("this", { reply_to_message: { ...RIGHT_BEFORE, ...fields } }) ?? {};
    expect([quote?.text, quote?.media?.map(({ ref }) => ref)]).toEqual([text, refs]);
  });

  it("is the one answer of a poll, or the one line of a checklist, that it is about", () => {
    const { poll } = sample("poll").message ?? {};
    const { checklist } = sample("checklist").message ?? {};
    const toOption = { reply_to_message: { ...RIGHT_BEFORE, poll }, reply_to_poll_option_id: "1" };
    const toTask = { reply_to_message: { ...RIGHT_BEFORE, checklist }, reply_to_checklist_task_id: 2 };
    expect([group("this", toOption)?.quote?.text, group("this", toTask)?.quote?.text]).toEqual([
      "Chips",
      "Tickets",
    ]);
  });

  it("is said to be of another chat where no more is known of it", () => {
    const external_reply = { origin: { type: "hidden_user", sender_user_name: "Q", date: 1 }, message_id: 5 };
    expect(group("hm", { external_reply })?.quote).toEqual({
      text: "[a message of another chat]",
      from: "Q",
    });
  });

  it("is a story, by the name of whose it is", () => {
    const story = { chat: CHANNEL, id: 9 };
    expect(group("nice", { reply_to_story: story })?.quote).toEqual({ text: "[story]", from: CHANNEL.title });
  });

  it("is named, where it is of a kind that does not exist yet, and is nothing where it is a service message", () => {
    const quoteOf = (fields: object) =>
      group("hm", { reply_to_message: { ...RIGHT_BEFORE, ...fields } })?.quote;
    expect(quoteOf({ hologram_note: {} })?.text).toBe(
      "[a message of a kind that I cannot read: hologram note]",
    );
    expect(quoteOf({ pinned_message: { message_id: 3 } })).toBeUndefined();
  });
});
