import type { Location, Message, PaidMediaInfo, Poll, PollMedia, Sticker, WebAppData } from "grammy/types";
import type { Unfetched } from "../../src/core/blocks.ts";
import { durationWords, oneLine } from "../../src/core/words.ts";
import { type Content, announced, familyOf, photo, text } from "./announced.ts";
import { fence, toMarkdown } from "./markdown.ts";
import { chatName } from "./people.ts";
import { richContent } from "./rich.ts";
import { unknownIn } from "./unknown.ts";

/** What a message, or a reply's copy of one, holds besides whom it answers. */
export type Said = Omit<Partial<Message>, "reply_to_message">;

/**
 * What a message says: its text or caption as Markdown, then its file as announced; what is neither becomes words that
 * name it. Nothing for service messages and for kinds that do not exist yet.
 */
export function contentOf(message: Said, username: string | undefined): Content {
  return [...text(saidIn(message, username)), ...otherThanText(message)];
}

/** A message of whatever kind in a few words: how a reply names what it answers. */
export function inWords(message: Said): string {
  const words = briefly(message);
  return words === "" ? unknownIn(message) : words;
}

function briefly(message: Said): string {
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
  if (message.poll) return poll(message.poll);
  if (message.paid_media) return paidMedia(message.paid_media);
  return text(inBrackets(message));
}

/** A still one is a picture that its words go before; of what moves there is a small still one. */
function sticker(given: Sticker): Content {
  const { emoji, set_name: set, is_animated, is_video, thumbnail } = given;
  const kind = is_animated ? "animated" : is_video ? "video" : "";
  const name = ["sticker", emoji ?? "", kind].filter((part) => part !== "").join(" ");
  const words = text(bracketed(set === undefined ? name : `${name}, from the set “${set}”`));
  if (kind === "") return [...words, announced("image", { ...given, mime_type: "image/webp" }, "sticker")];
  return thumbnail ? [...words, announced("image", thumbnail, "still of the sticker")] : words;
}

function inBrackets(message: Said): string {
  if (message.venue) {
    const { title, address, location } = message.venue;
    return bracketed(`venue ${title}, ${address}, ${coordinates(location)}`);
  }
  if (message.location) return bracketed(locationWords(message.location));
  if (message.contact) {
    const { first_name, last_name, phone_number } = message.contact;
    return bracketed(`contact ${[first_name, last_name ?? ""].join(" ").trim()}, ${phone_number}`);
  }
  if (message.checklist) {
    const { title, tasks } = message.checklist;
    return listed(
      `checklist: ${title}`,
      tasks.map((task) => `[${task.completion_date ? "x" : " "}] ${oneLine(task.text)}`),
    );
  }
  if (message.dice) return bracketed(`dice ${message.dice.emoji} ${message.dice.value}`);
  if (message.story) return bracketed(`story from ${chatName(message.story.chat)}`);
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
  if (message.web_app_data) return webAppWords(message.web_app_data);
  return "";
}

function coordinates({ latitude, longitude }: Location): string {
  return `${latitude}, ${longitude}`;
}

/** For "until it is switched off" Telegram writes this many seconds. */
const FOR_EVER_SECONDS = 0x7fffffff;

/** Of a live one the first step only: each next one is an edit of the message, which says nothing to us. */
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

/** The question and what can be chosen, then the media of all of them in this order. */
function poll(given: Poll): Content {
  const { question, description, options, correct_option_ids: right, media } = given;
  const kind = [
    given.type === "quiz" ? "quiz" : "poll",
    ...(given.allows_multiple_answers ? ["several answers allowed"] : []),
    ...(given.is_closed ? ["closed"] : []),
  ].join(", ");
  const lines = options.map(({ text: option, voter_count: votes, media: shown }, at) => {
    const said = [
      ...besides(shown),
      ...(right?.includes(at) ? ["right"] : []),
      ...(votes > 0 ? [`${votes} ${votes === 1 ? "vote" : "votes"}`] : []),
    ].join(", ");
    return `${oneLine(option)}${said === "" ? "" : ` [${said}]`}`;
  });
  const asked = [question, ...(description ? [description] : []), ...besides(media)].join(" — ");
  return [
    ...text(listed(`${kind}: ${asked}`, lines)),
    ...[media, ...options.map((option) => option.media)].flatMap((shown) => (shown ? mediaOf(shown) : [])),
  ];
}

/** What stands beside a question or an answer, in a few words. */
function besides(media: PollMedia | undefined): readonly string[] {
  if (!media) return [];
  return [media.link?.url ?? "", briefly(media)].map(oneLine).filter((words) => words !== "");
}

/** Of what has not been paid for there are no more than the sides. */
function paidMedia({ star_count: stars, paid_media: media }: PaidMediaInfo): Content {
  const shown = media.flatMap((one) => (one.type === "preview" ? [] : otherThanText(one)));
  const words = `paid media for ${stars} stars${shown.length === 0 ? ", not visible" : ""}`;
  return [...text(bracketed(words)), ...shown];
}

/** A bad client can send whatever it likes; the fence is one that it cannot close. */
function webAppWords({ data, button_text: button }: WebAppData): string {
  return `${bracketed(`data from a web app, button “${button}”`)}\n${fence(data)}`;
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
