import type { ContentBlock, TextBlock } from "../core/blocks.ts";
import type { EditEvent, MessageEvent, Quote } from "../core/events.ts";
import { type Language, say } from "../core/sentences.ts";
import type { Aside } from "../store/asides.ts";
import { isQuoted, quotedSeq } from "../store/attachments.ts";
import type { WaitingMessage } from "../store/inbox.ts";
import { asideBlocks, EDITED_ANEW, reactionWords } from "./asides.ts";
import { nameOf, notPosing, originOf, quoted, speakerOf, timeWords } from "./frames.ts";
import { scheduledWords } from "./scheduled.ts";

/**
 * What the agent is given of an intent: the blocks of its messages in order, what others said framed as data, and before
 * them what it is told beside them.
 */
export function contentOf(
  messages: readonly WaitingMessage[],
  asides: readonly Aside[] = [],
): readonly ContentBlock[] {
  const blocks = messages.flatMap((message) => {
    const { event, speaker } = message;
    if (event.type === "reaction") return [{ type: "text" as const, text: reactionWords(event, speaker) }];
    if (event.type === "scheduled") return [{ type: "text" as const, text: scheduledWords(event) }];
    return messageBlocks({ ...message, event });
  });
  // A message that is nothing we know is still a message: a turn is never empty.
  const own = blocks.length > 0 ? blocks : [{ type: "text" as const, text: "[an empty message]" }];
  return [...asideBlocks(asides), ...lateNote(messages), ...own];
}

/** What is said before messages that are answered late, because we were away or the agent kept still. */
function lateNote(messages: readonly WaitingMessage[]): readonly TextBlock[] {
  const why = messages.find(({ late }) => late !== undefined)?.late;
  if (why === undefined) return [];
  const what = messages.length === 1 ? "this message" : "these messages";
  return [
    { type: "text", text: `[while you were ${why} ${what} came; answer once, as far as it is still of use]` },
  ];
}

type Said = Omit<WaitingMessage, "event"> & { readonly event: MessageEvent | EditEvent };

function messageBlocks(message: Said): readonly ContentBlock[] {
  const { event, taken } = message;
  return [
    ...framesOf(message),
    ...event.content.flatMap((part, seq): readonly ContentBlock[] => {
      if (part.type !== "text") return ownMedia(message, taken.get(seq)?.blocks ?? []);
      // Providers refuse a blank text, and with it every later turn of the thread that it stands in.
      return part.text.trim() === "" ? [] : [said(event, part)];
    }),
  ];
}

/**
 * What the person is told of attachments that could not be used, a sentence for each; "" when there are none. Of what
 * a message only quotes the agent alone is told: the person has not sent it now.
 */
export function unusableIn(messages: readonly WaitingMessage[], language: Language = "en"): string {
  return messages
    .flatMap((message) => [...message.taken])
    .flatMap(([seq, { notice }]) =>
      notice === undefined || isQuoted(seq) ? [] : [say(notice.key, language, notice.values)],
    )
    .join("\n");
}

/**
 * Who speaks, where several do, and what the message quotes or forwards. The media of what it quotes come right behind
 * that.
 */
function framesOf({ event, taken, speaker, late }: Said): readonly ContentBlock[] {
  const { type, place, from, forward, quote, sentAt } = event;
  const sent = late ? timeWords(sentAt) : undefined;
  const lines: string[] = [];
  if (type === "edited") lines.push(EDITED_ANEW);
  if (place.kind === "group") lines.push(`[from ${speakerOf(from, speaker)}]`);
  if (sent !== undefined) lines.push(`[sent ${sent}]`);
  if (forward) lines.push(`[forwarded from ${originOf(forward)}; lines with > are their words]`);
  if (quote) {
    const author = quote.from === undefined ? "" : ` from ${nameOf(quote.from)}`;
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

function ownMedia({ event }: Said, blocks: readonly ContentBlock[]): readonly ContentBlock[] {
  if (!event.forward) return blocks;
  return blocks.map((block) => (block.type === "text" ? block : { ...block, forwarded: true }));
}

/**
 * The text of a message as the agent is given it. What was forwarded is others' words to its last line; of others a line
 * that looks like ours is marked as a quote, so that nobody can speak as another.
 */
function said({ forward }: MessageEvent | EditEvent, { text }: TextBlock): TextBlock {
  return { type: "text", text: forward ? quoted(text) : notPosing(text) };
}
