import type { InboundEvent, MessageEvent } from "../../../src/core/events.ts";

const MIRA = { id: "700100001", name: "Mira Oduya" };
const TOMAS = { id: "700100002", name: "Tomás" };
const KEEPERS = { chat: "-1002000000001", kind: "group", title: "Lighthouse Keepers" } as const;
const TIDE = { chat: "-1002000000003", kind: "group", title: "Tide Bulletins" } as const;

/** What each sample says: a message of Mira's to us in her private chat, in all that is not told otherwise; or nothing. */
export type Told = Partial<MessageEvent> | Exclude<InboundEvent, MessageEvent> | { readonly nothing: string };

export const SAMPLES: Readonly<Record<string, Told>> = {
  text_private: { content: [text("👋 hi *not bold* see https://example.com and @fern_demo_bot")] },
  command_group_with_botname: { place: KEEPERS, content: [text("/ask what is the tide at 6?")] },
  photo_with_caption: {
    content: [
      text("what bird is this?"),
      file("image", "AgACAgQAAx0DEMO_ph1_y", { mimeType: "image/jpeg", bytes: 150912, label: "photo" }),
    ],
  },
  document_pdf: {
    content: [
      text("please summarise"),
      file("file", "BQACAgQAAxDEMO_doc1", {
        mimeType: "application/pdf",
        filename: "tide table; v2 (final).pdf",
        bytes: 482113,
      }),
    ],
  },
  document_too_big: {
    content: [
      file("file", "BQACAgQAAxDEMO_big#73400320", {
        mimeType: "application/zip",
        filename: "survey.zip",
        bytes: 73400320,
      }),
    ],
  },
  audio_music: {
    content: [
      file("audio", "CQACAgQAAxDEMO_aud", {
        mimeType: "audio/mpeg",
        filename: "foghorn.mp3",
        bytes: 5139922,
        durationSeconds: 214,
      }),
    ],
  },
  voice: {
    content: [
      file("audio", "AwACAgQAAxDEMO_voice", {
        mimeType: "audio/ogg",
        bytes: 27310,
        durationSeconds: 7,
        label: "voice note",
      }),
    ],
  },
  video: {
    content: [
      text("the leak starts at 0:05"),
      {
        ...file("video", "BAACAgQAAxDEMO_vid", {
          mimeType: "video/mp4",
          filename: "IMG_0001.MOV",
          bytes: 8123345,
          durationSeconds: 12,
        }),
        thumbnail: "AAMCAgADEMO_thumb",
      },
    ],
  },
  video_note: {
    content: [
      {
        ...file("video", "DQACAgQAAxDEMO_vn", { bytes: 901233, durationSeconds: 9, label: "video note" }),
        thumbnail: "AAMCAgADEMO_thumb",
      },
    ],
  },
  animation_gif: {
    content: [
      file("video", "CgACAgQAAxDEMO_gif", {
        mimeType: "video/mp4",
        filename: "wave.mp4",
        bytes: 120334,
        durationSeconds: 3,
        label: "animation",
      }),
    ],
  },
  sticker_static: {
    content: [
      text("[sticker 🦊, from the set “DemoFoxes”]"),
      {
        ...file("image", "CAACAgIAAxDEMO_st1", { mimeType: "image/webp", bytes: 21880, label: "sticker" }),
        thumbnail: "AAMCAgADEMO_thumb",
      },
    ],
  },
  sticker_animated_tgs: {
    content: [
      text("[sticker 🎉 animated, from the set “DemoParty”]"),
      file("image", "AAMCAgADEMO_thumb", { bytes: 9120, label: "still of the sticker" }),
    ],
  },
  sticker_video_webm: {
    content: [
      text("[sticker 😹 video, from the set “DemoCats”]"),
      file("image", "AAMCAgADEMO_thumb", { bytes: 9120, label: "still of the sticker" }),
    ],
  },
  album_item_1: {
    place: KEEPERS,
    content: [
      text("@fern_demo_bot compare these"),
      file("image", "AgACAgQAAx0DEMO_al1_y", { mimeType: "image/jpeg", bytes: 150912, label: "photo" }),
    ],
    albumId: "14000000000000001",
  },
  album_item_2: {
    place: KEEPERS,
    addressed: false,
    content: [
      file("image", "AgACAgQAAx0DEMO_al2_y", { mimeType: "image/jpeg", bytes: 150912, label: "photo" }),
    ],
    albumId: "14000000000000001",
  },
  location_live: {
    content: [
      text("[live location 53.3498, -6.2603, accurate to 12 m, heading 90°, shared for 15 min 00 s]"),
    ],
  },
  venue: { content: [text("[venue Demo Pier, 1 Quay St, 53.34, -6.25]")] },
  contact: { content: [text("[contact Nia Sample, +15550100]")] },
  poll: { place: KEEPERS, addressed: false, content: [text("[poll: Lunch?]\n- Soup\n- Chips")] },
  dice: { content: [text("[dice 🎯 6]")] },
  forward_from_channel: {
    content: [text("Storm warning for Saturday.")],
    forward: { from: "Tide Bulletins", signature: "Editor", sentAt: "2026-08-30T18:13:20.000Z" },
  },
  forward_hidden_user: {
    content: [text("don't tell anyone")],
    forward: { from: "Quiet Person", sentAt: "2026-08-31T17:13:20.000Z" },
  },
  reply_with_quote: {
    place: KEEPERS,
    from: TOMAS,
    content: [text("is this still true?")],
    quote: { text: "18:04", from: "Fernbot", ref: "12" },
  },
  external_reply: {
    place: KEEPERS,
    content: [text("@fern_demo_bot check this")],
    quote: {
      text: "gale force 9",
      from: "Tide Bulletins",
      media: [
        file("image", "AgACAgQAAx0DEMO_ext_y", { mimeType: "image/jpeg", bytes: 150912, label: "photo" }),
      ],
    },
  },
  edited_message: {
    type: "edited",
    id: "65/edit/1788200400",
    ref: "65",
    place: { chat: MIRA.id, kind: "private" },
    from: MIRA,
    sentAt: "2026-08-31T18:20:00.000Z",
    content: [text("what bird is THIS? (typo fixed)")],
    addressed: true,
  },
  channel_post: {
    place: TIDE,
    from: { id: TIDE.chat, name: TIDE.title },
    content: [text("Tide bulletin #204")],
  },
  anonymous_admin: {
    place: KEEPERS,
    from: { id: KEEPERS.chat, name: KEEPERS.title },
    addressed: false,
    content: [text("please behave")],
  },
  forum_topic_message: {
    place: { chat: "-1002000000002", topic: "15", kind: "group", title: "Boatyard › Rigging" },
    addressed: false,
    content: [text("which knot here?")],
  },
  reply_thread_not_topic: {
    place: KEEPERS,
    content: [text("and tomorrow?")],
    quote: { text: "Low tide 12:11", from: "Fernbot", ref: "31" },
  },
  private_topic_message: {
    place: { chat: MIRA.id, topic: "902", kind: "private" },
    content: [text("new thread: packing list")],
  },
  channel_direct_message: {
    place: { chat: "-1002000000004", topic: "direct:700100002", kind: "group", title: "Tide Bulletins" },
    from: TOMAS,
    addressed: false,
    content: [text("Can you feature my boat?")],
  },
  migrate_to: {
    type: "chatMoved",
    id: "moved/-400000001/-1002000000009",
    from: "-400000001",
    to: "-1002000000009",
  },
  migrate_from: {
    type: "chatMoved",
    id: "moved/-400000001/-1002000000009",
    from: "-400000001",
    to: "-1002000000009",
  },
  new_chat_members_bot_added: { nothing: "a service message; my_chat_member says that we are here" },
  my_chat_member_blocked: {
    type: "membership",
    id: "membership/1788200000/kicked",
    place: { chat: MIRA.id, kind: "private" },
    sentAt: "2026-08-31T18:13:20.000Z",
    now: "gone",
  },
  message_reaction: {
    type: "reaction",
    id: "33/reaction/700100001/1788200000",
    place: KEEPERS,
    ref: "33",
    from: MIRA,
    sentAt: "2026-08-31T18:13:20.000Z",
    added: ["👍"],
    removed: [],
  },
  callback_query: {
    type: "choice",
    id: "3000000000000000001",
    place: { chat: MIRA.id, kind: "private" },
    from: MIRA,
    sentAt: "1970-01-01T00:00:00.000Z",
    key: "ok:run42",
    ref: "35",
  },
  rich_message_inbound: { content: [text("## Plan\n\nDo **this** first\n\n1. buy rope")] },
  live_photo: {
    content: [
      file("image", "AgACAgQAAx0DEMO_lp_y", { mimeType: "image/jpeg", bytes: 150912, label: "live photo" }),
    ],
  },
  paid_media: { content: [text("[paid media for 10 stars, not visible]")] },
  checklist: { content: [text("[checklist: Trip]\n- [x] Passports\n- [ ] Tickets")] },
  story: { content: [text("[story from Tide Bulletins]")] },
  business_message: {
    place: { chat: `business:bc_demo_1:${TOMAS.id}`, kind: "group" },
    from: TOMAS,
    content: [text("Are you open on Sunday?")],
  },
  deleted_business_messages: {
    type: "deleted",
    id: "51/deleted",
    place: { chat: `business:bc_demo_1:${TOMAS.id}`, kind: "group" },
    refs: ["51", "52"],
    sentAt: "1970-01-01T00:00:00.000Z",
  },
  guest_message: {
    place: { chat: "guest:-1002000000077", topic: "gq_demo_1", kind: "group", title: "Unknown Group" },
    content: [text("@fern_demo_bot translate: bonjour")],
  },
  stopped_message_generation: {
    type: "stop",
    id: "stop/128000026/500000146",
    place: { chat: MIRA.id, kind: "private" },
    from: MIRA,
    sentAt: "1970-01-01T00:00:00.000Z",
  },
  poll_answer: { nothing: "an answer to a poll of our own, and we send none; it is not asked for" },
};

/** The event that a table's row stands for. */
export function whole(
  told: Exclude<Told, { readonly nothing: string }>,
  { update_id: _number, ...update }: object & { readonly update_id: number },
): unknown {
  if ("type" in told && told.type !== "message") return told;
  const [message] = Object.values(update) as [{ readonly message_id: number; readonly date: number }]; // of a message
  const ref = String(message.message_id);
  return {
    type: "message",
    id: ref,
    ref,
    place: { chat: MIRA.id, kind: "private" },
    from: MIRA,
    sentAt: new Date(message.date * 1000).toISOString(),
    addressed: true,
    ...told,
  };
}

function text(words: string): MessageEvent["content"][number] {
  return { type: "text", text: words };
}

function file(kind: "image" | "audio" | "video" | "file", ref: string, declared: object) {
  return { type: "unfetched", kind, ref, declared } as const;
}
