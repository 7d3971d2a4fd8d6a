import type { AttachmentOutcome, ContentBlock, TextBlock } from "../core/blocks.ts";
import type { MessageEvent } from "../core/events.ts";
import type { WaitingMessage } from "../store/inbox.ts";

const UNUSABLE: ReadonlySet<string> = new Set<AttachmentOutcome>([
  "too_large",
  "unsupported",
  "unreadable",
  "unavailable",
]);

/** What the agent is given of an intent: the blocks of its messages in order, what others said framed as data. */
export function contentOf(messages: readonly WaitingMessage[]): readonly ContentBlock[] {
  const blocks = messages.flatMap((message) => [
    ...framesOf(message.event),
    ...message.event.content.flatMap((part, seq): readonly ContentBlock[] => {
      if (part.type !== "text") return message.taken.get(seq)?.blocks ?? [];
      // Providers refuse a blank text, and with it every later turn of the thread that it stands in.
      return part.text.trim() === "" ? [] : [said(message.event, part)];
    }),
  ]);
  // A message that is nothing we know is still a message: a turn is never empty.
  return blocks.length > 0 ? blocks : [{ type: "text", text: "[an empty message]" }];
}

/** What the person is told of attachments that could not be used, as one sentence; "" when there are none. */
export function unusableIn(messages: readonly WaitingMessage[]): string {
  return messages
    .flatMap((message) => [...message.taken.values()])
    .filter(({ outcome }) => UNUSABLE.has(outcome))
    .flatMap(({ blocks }) => blocks)
    .map((block) => (block.type === "text" ? block.text : ""))
    .join("\n");
}

/** Who speaks, where several do, and what the message quotes or forwards: every line marked, so no text can end its frame. */
function framesOf(event: MessageEvent): readonly ContentBlock[] {
  const lines: string[] = [];
  if (event.place.kind === "group") lines.push(`[from ${oneLine(event.from.name)}]`);
  if (event.forward)
    lines.push(`[forwarded from ${oneLine(event.forward.from)}; lines with > are their words]`);
  if (event.quote) {
    const author = event.quote.from === undefined ? "" : ` from ${oneLine(event.quote.from)}`;
    lines.push(`[in reply to a message${author}:]`);
    lines.push(quoted(event.quote.text));
  }
  return lines.length > 0 ? [{ type: "text", text: lines.join("\n") }] : [];
}

/**
 * The text of a message as the agent is given it. What was forwarded is others' words to its last line; and in a group,
 * where we say who speaks, a line that looks like ours is marked as a quote, so that nobody can speak as another.
 */
function said({ forward, place }: MessageEvent, { text }: TextBlock): TextBlock {
  if (forward) return { type: "text", text: quoted(text) };
  if (place.kind !== "group") return { type: "text", text };
  const lines = text.split(LINE_END).map((line) => (OURS.test(line) ? `> ${line}` : line));
  return { type: "text", text: lines.join("\n") };
}

// Also the line ends of Unicode: a model takes them for what they are.
const LINE_END = /\r\n|[\n-\r\u0085\u2028\u2029]/;
/** How our own lines begin, whatever is put before them that nobody sees. */
const OURS = /^[\s\p{Cc}\p{Cf}]*\[\s*(?:from|forwarded|in reply)\b/iu;

function quoted(text: string): string {
  return text
    .split(LINE_END)
    .map((line) => `> ${line}`)
    .join("\n");
}

/** A name without what could end the brackets around it, or turn them round. */
function oneLine(name: string): string {
  const words = name.replaceAll(/[\s[\]\p{Cc}\p{Bidi_Control}]+/gu, " ").trim();
  return words === "" ? "somebody" : words.slice(0, 80).toWellFormed();
}
