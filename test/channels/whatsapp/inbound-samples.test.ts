import { expect, it, onTestFinished } from "vitest";
import { readMediaRef } from "../../../channels/whatsapp/baileys/media/media-ref.ts";
import { sealWith } from "../../../channels/whatsapp/baileys/keys/seal.ts";
import type { InboundEvent } from "../../../src/core/events.ts";
import { BOB, CAROL, GROUP, hearing, type HearingOptions, IN_GROUP, samples, WITH_BOB } from "./hearing.ts";

/** Media stand here without their sealed reference, whose contents are looked at on their own. */
type Expected = readonly unknown[];

function bob(n: number | string, content: readonly unknown[], more: object = {}): unknown {
  const id = typeof n === "string" ? n : `3A${String(n).padStart(18, "0")}`;
  return {
    type: "message",
    unique: true,
    id,
    ref: id,
    place: WITH_BOB,
    from: BOB,
    sentAt: expect.any(String),
    content,
    addressed: true,
    ...more,
  };
}

function carol(n: number, content: readonly unknown[], more: object = {}): unknown {
  const id = `3A${String(n).padStart(18, "0")}`;
  return {
    type: "message",
    unique: true,
    id: `${CAROL.id}/${id}`,
    ref: expect.stringContaining(`${id}/`),
    place: IN_GROUP,
    from: CAROL,
    sentAt: expect.any(String),
    content,
    addressed: false,
    ...more,
  };
}

const said = (text: string) => ({ type: "text", text });
const file = (kind: string, declared: object) => ({ type: "unfetched", kind, declared });
const photo = file("image", { mimeType: "image/png", bytes: 70, label: "photo" });

const EVENTS: Readonly<Record<string, Expected>> = {
  text_dm_lid: [bob(1, [said("What is on my calendar today?")], { sentAt: "2026-11-30T01:01:49.000Z" })],
  text_dm_pn: [bob(2, [said("same chat, phone addressing")])],
  text_extended_link: [bob(3, [said("see https://example.com/a")])],
  text_reply_quoted: [
    bob(4, [said("this one")], {
      quote: { text: "Which file did you mean?", ref: "3EB0AAAAAAAAAAAAAAAAAA" },
    }),
  ],
  text_forwarded: [bob(5, [said("fwd")], { forward: { from: "somebody" } })],
  text_group_mention: [
    carol(6, [said("summarise please")], {
      ref: "3A000000000000000006/90000000000003@lid",
      addressed: true,
    }),
  ],
  text_group_pn: [
    carol(7, [said("old style group")], { ref: "3A000000000000000007/15550000003@s.whatsapp.net" }),
  ],
  image_caption: [bob(8, [said("what is this?"), photo])],
  video: [bob(9, [said("clip"), file("video", { mimeType: "video/mp4", bytes: 400, durationSeconds: 3 })])],
  video_note_ptv: [
    bob(10, [file("video", { mimeType: "video/mp4", bytes: 400, durationSeconds: 3, label: "video note" })]),
  ],
  voice_note: [
    bob(11, [
      file("audio", {
        mimeType: "audio/ogg; codecs=opus",
        bytes: 18_046,
        durationSeconds: 2,
        label: "voice note",
      }),
    ]),
  ],
  audio_file: [bob(12, [file("audio", { mimeType: "audio/mpeg", bytes: 300, durationSeconds: 10 })])],
  document: [bob(13, [file("file", { mimeType: "application/pdf", filename: "invoice.pdf", bytes: 9 })])],
  document_with_caption: [
    bob(14, [said("clean this up"), file("file", { mimeType: "text/csv", filename: "data.csv", bytes: 8 })]),
  ],
  sticker: [
    bob(15, [said("[sticker]"), file("image", { mimeType: "image/webp", bytes: 98, label: "sticker" })]),
  ],
  view_once_image: [bob(16, [photo])],
  view_once_unavailable: [
    bob(17, [
      said("[a message to be viewed once, which only the phone shows: ask for it to be sent normally]"),
    ]),
  ],
  ephemeral_text: [bob(18, [said("gone in 24 h")])],
  album: [
    bob(20, [said("first"), photo], { albumId: "3A000000000000000090" }),
    bob(21, [photo], { albumId: "3A000000000000000090" }),
  ],
  location: [
    bob(22, [said("[location 52.52, 13.405, Berlin, Berlin, Germany, https://example.com/berlin]")]),
  ],
  live_location: [bob(23, [said("[live location 52.52, 13.405, accurate to 12 m]\non my way")])],
  contact: [bob(24, [said("[contact Dana Example, +15550000009]")])],
  contacts_array: [bob(25, [said("[contact A]\n[contact B]")])],
  poll_creation: [bob("3A000000000000000091", [said("[poll: Lunch?]\n- Pizza\n- Salad")])],
  poll_vote: [bob(27, [said("[vote in the poll “Lunch?”: Pizza]")])],
  reaction_add: [reaction(28, { added: ["👍"], removed: [] })],
  reaction_remove: [reaction(29, { added: [], removed: ["👍"] })],
  edit: [edit(30, "What is on my calendar tomorrow?")],
  edit_wrapped: [edit(31, "wrapped edit")],
  revoke: [
    {
      type: "deleted",
      id: "3A000000000000000002/deleted/3A000000000000000032",
      place: WITH_BOB,
      refs: ["3A000000000000000002"],
      sentAt: expect.any(String),
    },
  ],
  self_chat_from_phone: [],
  owner_to_contact_from_phone: [
    bob(34, [said("private chat with Bob")], {
      place: { chat: BOB.id, kind: "private" },
      from: { id: "lid:90000000000001", name: "Owner", also: ["+15550000001"] },
      own: true,
    }),
  ],
  status_broadcast: [],
  newsletter: [],
  offline_append: [bob(37, [said("sent while you were offline")], { sentAt: "2026-09-21T14:13:20.000Z" })],
  // Told of only when it stays so: see the tests of the journal.
  undecryptable: [],
  unknown_content: [bob(39, [said("[unsupported message]")])],
  group_participant_add: [],
  group_subject: [],
  call_offer: [],
  typing: [],
  button_reply: [bob(43, [said("Yes")])],
  list_reply: [bob(44, [said("Option 1")])],
  event_message: [bob(45, [said("[event “Standup”, from 2026-09-21T15:13:20.000Z]")])],
  group_invite: [bob(46, [said("[invitation to the group “Other group”]")])],
  ad_click_text: [
    bob(47, [
      said("Hi, I saw your ad"),
      said("[written from the advertisement “Ad”: Body, https://example.com/ad]"),
    ]),
  ],
  read_receipt: [delivery(BOB.id, "read")],
  played_receipt: [delivery(BOB.id, "read")],
  group_receipt: [delivery(GROUP, "delivered")],
};

/** What a sample is about. */
const BEFORE: Readonly<Record<string, readonly string[]>> = {
  poll_vote: ["poll_creation"],
  reaction_remove: ["reaction_add"],
  edit: ["text_dm_lid"],
  edit_wrapped: ["text_dm_lid"],
  revoke: ["text_dm_pn"],
};

function reaction(n: number, change: object): unknown {
  const ref = "3EB0BBBBBBBBBBBBBBBBBB";
  return {
    type: "reaction",
    id: `${ref}/reaction/${BOB.id}/3A${String(n).padStart(18, "0")}`,
    place: WITH_BOB,
    ref,
    from: BOB,
    sentAt: expect.any(String),
    ...change,
  };
}

function edit(n: number, words: string): unknown {
  return bob(1, [said(words)], {
    type: "edited",
    unique: undefined,
    id: `3A000000000000000001/edit/3A${String(n).padStart(18, "0")}`,
    sentAt: "2026-09-21T14:13:20.000Z",
  });
}

function delivery(chat: string, status: string): unknown {
  const ref = "3EB0B0EEB35ECE176EFDF6";
  const sentAt = "2026-09-21T14:13:20.000Z";
  return { type: "delivery", id: `${ref}/${status}`, chat, ref, status, sentAt };
}

async function heard(kind: string, options?: HearingOptions): Promise<readonly InboundEvent[]> {
  const test = await hearing(options);
  onTestFinished(() => test.close());
  const before = (await test.hears(...(BEFORE[kind] ?? []))).length;
  return (await test.hears(kind)).slice(before);
}

/** References are sealed; whatever else an event says stands there as it is. */
function withoutRefs(event: InboundEvent): unknown {
  if (event.type !== "message" && event.type !== "edited") return event;
  return {
    ...event,
    content: event.content.map((part) => {
      if (part.type === "text") return part;
      const { ref: _sealed, ...rest } = part;
      return rest;
    }),
  };
}

it("has an expectation for each of the 49 samples", async () => {
  expect((await samples()).map(({ kind }) => kind)).toEqual(Object.keys(EVENTS));
});

it.each(Object.keys(EVENTS))("reads %s", async (kind) => {
  expect((await heard(kind)).map(withoutRefs)).toEqual(EVENTS[kind]);
});

it("takes what the owner writes to themselves for a message where that is asked for", async () => {
  const [event] = await heard("self_chat_from_phone", { settings: { selfChat: true } });
  const owner = { id: "lid:90000000000001", also: ["+15550000001"] };
  expect(event).toEqual({
    type: "message",
    unique: true,
    id: "3A000000000000000033",
    ref: "3A000000000000000033",
    place: { chat: owner.id, kind: "private", also: owner.also },
    from: { ...owner, name: "Owner" },
    sentAt: "2026-09-21T14:13:20.000Z",
    content: [said("note to self: ask the agent")],
    addressed: true,
  });
});

it("refuses a call where that is asked for, and tells the agent", async () => {
  const test = await hearing({ settings: { calls: "reject" } });
  onTestFinished(() => test.close());
  const [event] = await test.hears("call_offer");
  expect(test.rejected).toEqual(["CALL1"]);
  expect(event).toMatchObject({
    id: "call/CALL1",
    place: WITH_BOB,
    content: [said("[voice call, refused: calls cannot be answered here]")],
  });
});

it("names the file of a message so that it can be fetched", async () => {
  const [event] = await heard("voice_note");
  const [part] = event?.type === "message" ? event.content : [];
  if (part?.type !== "unfetched") throw new Error("no file");
  const read = readMediaRef(part.ref, await sealWith(undefined, "test"));
  expect(read).toMatchObject({
    sort: "audio",
    bytes: 18_046,
    of: { id: "3A000000000000000011", chat: "90000000000002@lid", fromMe: false },
  });
  expect(read.key).toHaveLength(32);
});
