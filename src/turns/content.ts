import type { ContentBlock, TextBlock } from "../core/blocks.ts";
import type { Forward, MessageEvent, Quote } from "../core/events.ts";
import { say } from "../core/sentences.ts";
import { oneLine } from "../core/words.ts";
import { isQuoted, quotedSeq } from "../store/attachments.ts";
import type { WaitingMessage } from "../store/inbox.ts";

/** What the agent is given of an intent: the blocks of its messages in order, what others said framed as data. */
export function contentOf(messages: readonly WaitingMessage[]): readonly ContentBlock[] {
  const blocks = messages.flatMap((message) => [
    ...framesOf(message),
    ...message.event.content.flatMap((part, seq): readonly ContentBlock[] => {
      if (part.type !== "text") return message.taken.get(seq)?.blocks ?? [];
      // Providers refuse a blank text, and with it every later turn of the thread that it stands in.
      return part.text.trim() === "" ? [] : [said(message.event, part)];
    }),
  ]);
  // A message that is nothing we know is still a message: a turn is never empty.
  return blocks.length > 0 ? blocks : [{ type: "text", text: "[an empty message]" }];
}

/**
 * What the person is told of attachments that could not be used, a sentence for each; "" when there are none. Of what
 * a message only quotes the agent alone is told: the person has not sent it now.
 */
export function unusableIn(messages: readonly WaitingMessage[]): string {
  return messages
    .flatMap((message) => [...message.taken])
    .flatMap(([seq, { notice }]) =>
      notice === undefined || isQuoted(seq) ? [] : [say(notice.key, "en", notice.values)],
    )
    .join("\n");
}

/**
 * Who speaks, where several do, and what the message quotes or forwards: every line marked, so no text can end its
 * frame. The media of what it quotes come right behind that.
 */
function framesOf({ event, taken, speaker }: WaitingMessage): readonly ContentBlock[] {
  const { place, from, forward, quote } = event;
  const lines: string[] = [];
  // The number stands last, where no name can put another.
  if (place.kind === "group")
    lines.push(`[from ${name(from.name)}${speaker === undefined ? "" : ` (${speaker})`}]`);
  if (forward) lines.push(`[forwarded from ${originOf(forward)}; lines with > are their words]`);
  if (quote) {
    const author = quote.from === undefined ? "" : ` from ${name(quote.from)}`;
    lines.push(`[in reply to a message${author}:]`, quoted(quote.text));
  }
  if (lines.length === 0) return [];
  return [{ type: "text", text: lines.join("\n") }, ...(quote ? quotedMedia(quote, taken) : [])];
}

/** Nothing where the quoted message is one of this intent, which has them already. */
function quotedMedia({ media = [] }: Quote, taken: WaitingMessage["taken"]): readonly ContentBlock[] {
  return media
    .flatMap((_unfetched, at) => taken.get(quotedSeq(at))?.blocks ?? [])
    .map((block) => (block.type === "text" ? block : { ...block, quoted: true }));
}

function originOf({ from, signature, sentAt }: Forward): string {
  return [
    name(from),
    ...(signature === undefined ? [] : [`signed ${name(signature)}`]),
    ...(sentAt === undefined ? [] : [`sent ${sentAt.slice(0, "2026-01-01".length)}`]),
  ].join(", ");
}

/**
 * The text of a message as the agent is given it. What was forwarded is others' words to its last line; and in a group,
 * where we say who speaks, a line that looks like ours is marked as a quote, so that nobody can speak as another.
 */
function said({ forward, place }: MessageEvent, { text }: TextBlock): TextBlock {
  if (forward) return { type: "text", text: quoted(text) };
  if (place.kind !== "group") return { type: "text", text };
  const lines = text.split(LINE_END).map((line) => (OURS.test(seen(line)) ? `> ${line}` : line));
  return { type: "text", text: lines.join("\n") };
}

// Also the line ends of Unicode: a model takes them for what they are.
const LINE_END = /\r\n|[\n-\r\u0085\u2028\u2029]/;
/** How our own lines begin. */
const OURS = /^\s*[[【〔]\s*(?:from|forwarded|in reply)\b/iu;

/** A line as a reader takes it: without what nobody sees, and with signs of other widths as the usual ones. */
function seen(line: string): string {
  return line.normalize("NFKC").replaceAll(/(?!\s)[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, "");
}

function quoted(text: string): string {
  return text
    .split(LINE_END)
    .map((line) => `> ${line}`)
    .join("\n");
}

/** As it may stand in our brackets. */
function name(given: string): string {
  const words = oneLine(given);
  return words === "" ? "somebody" : words.slice(0, 80).toWellFormed();
}
