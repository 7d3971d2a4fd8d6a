import { describe, expect, it } from "vitest";
import { sample } from "./fixtures.ts";
import { bot, GROUP, read, updateOf } from "./reading.ts";

const WRITTEN = 1_788_200_041;
const EDITED = WRITTEN + 60;

describe("complaint 37: an edit", () => {
  it("is all of the message as it reads now, under an id of its own for each edit", () => {
    const { message } = sample("photo_with_caption");
    const [original] = read(sample("photo_with_caption"));
    const edits = [EDITED, EDITED + 9].map((edit_date) =>
      edited({ ...message, caption: "a tern?", edit_date }),
    );
    expect(edits).toEqual(
      [EDITED, EDITED + 9].map((at) => ({
        ...original,
        type: "edited",
        id: `43/edit/${at}`,
        sentAt: new Date(at * 1000).toISOString(),
        content: [{ type: "text", text: "a tern?" }, pictureOf(original)],
      })),
    );
  });

  it("comes to be for us when it names us, and keeps quote, topic and album", () => {
    const fields = {
      ...sample("album_item_1").message,
      message_thread_id: 15,
      is_topic_message: true,
      chat: { ...GROUP, is_forum: true },
      reply_to_message: { message_id: 12, date: WRITTEN, chat: GROUP, from: bot(5), text: "rope" },
    };
    expect(edited(fields)).toMatchObject({
      addressed: true,
      place: { topic: "15" },
      quote: { text: "rope", ref: "12" },
      albumId: "14000000000000001",
    });
    expect(edited({ ...fields, caption: "compare these", caption_entities: [] })).toMatchObject({
      addressed: false,
    });
  });

  it("comes also where nothing that can be seen has changed, which intake recognises", () => {
    const [original] = read(sample("text_private"));
    expect(edited({ ...sample("text_private").message })).toEqual({
      ...original,
      type: "edited",
      id: `41/edit/${EDITED}`,
      sentAt: new Date(EDITED * 1000).toISOString(),
    });
  });

  const location = { latitude: 1.5, longitude: -2 };
  it.each([
    ["a step of a live location", { text: undefined, location: { ...location, live_period: 900 } }],
    ["the end of a live location, which is told of as a plain one", { text: undefined, location }],
    ["a service message", { text: undefined, pinned_message: { message_id: 3, date: 0, chat: GROUP } }],
    ["a post forwarded by itself", { is_automatic_forward: true, sender_chat: GROUP }],
    ["another bot's", { from: bot(5) }],
    ["what nobody else sees", { message_id: 0, ephemeral_message_id: 4 }],
  ])("is nothing where it is %s", (_what, fields) => {
    expect(edited({ ...sample("text_private").message, ...fields })).toBeUndefined();
  });
});

describe("a group that got another id", () => {
  it("says so once, whichever of the two tells it, and whoever made it so", () => {
    const old = { id: -4, type: "group", title: "Crew" };
    const now = { id: -1009, type: "supergroup", title: "Crew" };
    const base = { message_id: 5, date: WRITTEN, from: bot(1087968824) };
    const moved = { type: "chatMoved", id: "moved/-4/-1009", from: "-4", to: "-1009" };
    expect(read(updateOf("message", { ...base, chat: old, migrate_to_chat_id: now.id }))).toEqual([moved]);
    expect(read(updateOf("message", { ...base, chat: now, migrate_from_chat_id: old.id }))).toEqual([moved]);
  });
});

function edited(message: object) {
  return read(updateOf("edited_message", { edit_date: EDITED, ...message }))[0];
}

function pictureOf(event: ReturnType<typeof read>[number] | undefined) {
  return event?.type === "message" ? event.content[1] : undefined;
}
