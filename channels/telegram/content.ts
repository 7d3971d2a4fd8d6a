import type { Location, Message, Poll, Sticker } from "grammy/types";
import type { Unfetched } from "../../src/core/blocks.ts";
import { durationWords, oneLine } from "../../src/core/words.ts";
import { type Content, announced, familyOf, photo, text } from "./announced.ts";
import { toMarkdown } from "./markdown.ts";
import { chatName } from "./people.ts";
import { richContent } from "./rich.ts";

/** What a message, or a reply's copy of one, holds besides whom it answers. */
export type Said = Omit<Partial<Message>, "reply_to_message">;

/**
 * What a message says: its text or caption as Markdown, then its file as announced; what is neither becomes words that
 * name it. Nothing for service messages; never empty for any other, also of a kind that does not exist yet.
 */
export function contentOf(message: Said, username: string | undefined): Content {
  return [...text(saidIn(message, username)), ...otherThanText(message)];
}

/** A message of whatever kind in a few words: how a reply names what it answers. */
export function inWords(message: Said): string {
  const others = otherThanText(message).map((part) => {
    if (part.type === "text") return part.text;
    // A sticker's picture comes with its words.
    return message.sticker ? "" : `[${part.declared.label ?? part.declared.filename ?? part.kind}]`;
  });
  return [saidIn(message), ...others].filter((words) => words !== "").join("\n");
}

/** The files of a message, as announced. */
export function mediaOf(message: Said): readonly Unfetched[] {
  return otherThanText(message).filter((part) => part.type === "unfetched");
}

/** Its text or caption as Markdown. */
function saidIn(message: Said, username?: string): string {
  return message.text === undefined
    ? toMarkdown(message.caption ?? "", message.caption_entities, username)
    : toMarkdown(message.text, message.entities, username);
}

// The order matters: for older clients a live photo is a photo too, an animation a document, a venue a location.
function otherThanText(message: Said): Content {
  if (message.rich_message) return richContent(message.rich_message.blocks);
  if (message.live_photo)
    return photo(message.live_photo.photo ?? message.photo ?? [], "live photo", "[live photo, not visible]");
  if (message.photo) return photo(message.photo, "photo", "[photo, not visible]");
  if (message.animation) return [announced("video", message.animation, "animation")];
  if (message.document) return [announced(familyOf(message.document.mime_type), message.document)];
  if (message.voice) return [announced("audio", message.voice, "voice note")];
  if (message.audio) return [announced("audio", message.audio)];
  if (message.video) return [announced("video", message.video)];
  if (message.video_note) return [announced("video", message.video_note, "video note")];
  if (message.sticker) return sticker(message.sticker);
  const words = inBrackets(message);
  if (words !== undefined) return text(words);
  if (message.text !== undefined || message.caption !== undefined) return [];
  const unknown = Object.keys(message).filter((key) => !ENVELOPE.has(key) && message[key as keyof Said]); // its own keys
  if (unknown.length === 0 || unknown.some((key) => SERVICE.has(key))) return [];
  return text(`[a message of a kind that I cannot read: ${unknown.join(", ").replaceAll("_", " ")}]`);
}

/** A still one is a picture that its words go before; what moves cannot be looked at and is told of. */
function sticker(given: Sticker): Content {
  const { emoji, set_name: set, is_animated, is_video } = given;
  const kind = is_animated ? "animated" : is_video ? "video" : "";
  const name = ["sticker", emoji ?? "", kind].filter((part) => part !== "").join(" ");
  const words = text(bracketed(set === undefined ? name : `${name}, from the set “${set}”`));
  if (kind !== "") return words;
  return [...words, announced("image", { ...given, mime_type: "image/webp" }, "sticker")];
}

function inBrackets(message: Said): string | undefined {
  if (message.venue) {
    const { title, address, location } = message.venue;
    return bracketed(`venue ${title}, ${address}, ${coordinates(location)}`);
  }
  if (message.location) return bracketed(locationWords(message.location));
  if (message.contact) {
    const { first_name, last_name, phone_number } = message.contact;
    return bracketed(`contact ${[first_name, last_name ?? ""].join(" ").trim()}, ${phone_number}`);
  }
  if (message.poll) return pollWords(message.poll);
  if (message.checklist) {
    const { title, tasks } = message.checklist;
    return listed(
      `checklist: ${title}`,
      tasks.map((task) => `[${task.completion_date ? "x" : " "}] ${oneLine(task.text)}`),
    );
  }
  if (message.dice) return bracketed(`dice ${message.dice.emoji} ${message.dice.value}`);
  if (message.story) return bracketed(`story from ${chatName(message.story.chat)}`);
  if (message.paid_media)
    return bracketed(`paid media for ${message.paid_media.star_count} stars, not visible`);
  if (message.game) return bracketed(`game ${message.game.title}: ${message.game.description}`);
  if (message.invoice) {
    const { title, description, total_amount, currency } = message.invoice;
    return bracketed(`invoice ${title}: ${description}, ${total_amount} in the smallest unit of ${currency}`);
  }
  if (message.gift) return giftWords(`gift worth ${message.gift.gift.star_count} stars`, message.gift.text);
  if (message.unique_gift)
    return giftWords(`gift ${message.unique_gift.gift.name}`, message.unique_gift.text);
  if (message.giveaway) return bracketed(`giveaway of ${message.giveaway.winner_count} prizes`);
  if (message.giveaway_winners) return "[winners of a giveaway]";
  if (message.web_app_data) return bracketed(`data from a web app: ${message.web_app_data.data}`);
  return undefined;
}

function coordinates({ latitude, longitude }: Location): string {
  return `${latitude}, ${longitude}`;
}

/** For "until it is switched off" Telegram writes this many seconds. */
const FOR_EVER_SECONDS = 0x7fffffff;

/** Of a live one the first step only: each next one is an edit of the message, and edits begin no turn. */
function locationWords(location: Location): string {
  const { horizontal_accuracy: metres, live_period: seconds, heading } = location;
  return [
    `${seconds === undefined ? "location" : "live location"} ${coordinates(location)}`,
    ...(metres === undefined ? [] : [`accurate to ${Math.round(metres)} m`]),
    ...(heading === undefined ? [] : [`heading ${heading}°`]),
    ...(seconds === undefined
      ? []
      : [`shared ${seconds === FOR_EVER_SECONDS ? "until switched off" : `for ${durationWords(seconds)}`}`]),
  ].join(", ");
}

function pollWords(poll: Poll): string {
  const kind = [
    poll.type === "quiz" ? "quiz" : "poll",
    ...(poll.allows_multiple_answers ? ["several answers allowed"] : []),
    ...(poll.is_closed ? ["closed"] : []),
  ].join(", ");
  const options = poll.options.map(({ text: option, voter_count: votes }, at) => {
    const said = [
      ...(poll.correct_option_ids?.includes(at) ? ["right"] : []),
      ...(votes > 0 ? [`${votes} ${votes === 1 ? "vote" : "votes"}`] : []),
    ].join(", ");
    return `${oneLine(option)}${said === "" ? "" : ` [${said}]`}`;
  });
  return listed(`${kind}: ${poll.question}${poll.description ? ` — ${poll.description}` : ""}`, options);
}

function giftWords(gift: string, words: string | undefined): string {
  return bracketed(words === undefined ? gift : `${gift}: ${words}`);
}

function listed(title: string, lines: readonly string[]): string {
  return [bracketed(title), ...lines.map((line) => `- ${line}`)].join("\n");
}

function bracketed(words: string): string {
  return `[${oneLine(words)}]`;
}

const ENVELOPE = keys(
  "message_id",
  "message_thread_id",
  "from",
  "sender_chat",
  "date",
  "guest_query_id",
  "chat",
  "business_connection_id",
  "is_topic_message",
  "direct_messages_topic",
  "sender_tag",
  "receiver_user",
  "ephemeral_message_id",
  "sender_boost_count",
  "sender_business_bot",
  "forward_origin",
  "is_automatic_forward",
  "reply_to_message",
  "reply_to_checklist_task_id",
  "reply_to_poll_option_id",
  "is_paid_post",
  "external_reply",
  "quote",
  "reply_to_story",
  "via_bot",
  "guest_bot_caller_user",
  "guest_bot_caller_chat",
  "edit_date",
  "effect_id",
  "has_protected_content",
  "show_caption_above_media",
  "is_from_offline",
  "author_signature",
  "link_preview_options",
  "paid_star_count",
  "reply_markup",
  "media_group_id",
  "has_media_spoiler",
  "suggested_post_info",
);

const SERVICE = keys(
  "boost_added",
  "channel_chat_created",
  "chat_background_set",
  "chat_owner_changed",
  "chat_owner_left",
  "chat_shared",
  "checklist_tasks_added",
  "checklist_tasks_done",
  "community_chat_added",
  "community_chat_joined",
  "community_chat_removed",
  "connected_website",
  "delete_chat_photo",
  "direct_message_price_changed",
  "forum_topic_closed",
  "forum_topic_created",
  "forum_topic_edited",
  "forum_topic_reopened",
  "general_forum_topic_hidden",
  "general_forum_topic_unhidden",
  "gift_upgrade_sent",
  "giveaway_completed",
  "giveaway_created",
  "group_chat_created",
  "left_chat_member",
  "managed_bot_created",
  "message_auto_delete_timer_changed",
  "migrate_from_chat_id",
  "migrate_to_chat_id",
  "new_chat_members",
  "new_chat_photo",
  "new_chat_title",
  "paid_message_price_changed",
  "passport_data",
  "pinned_message",
  "poll_option_added",
  "poll_option_deleted",
  "proximity_alert_triggered",
  "refunded_payment",
  "successful_payment",
  "suggested_post_approval_failed",
  "suggested_post_approved",
  "suggested_post_declined",
  "suggested_post_paid",
  "suggested_post_refunded",
  "supergroup_chat_created",
  "users_shared",
  "video_chat_ended",
  "video_chat_participants_invited",
  "video_chat_scheduled",
  "video_chat_started",
  "write_access_allowed",
);

function keys(...names: readonly (keyof Message)[]): ReadonlySet<string> {
  return new Set(names);
}
