import type { AttachmentOutcome, ContentBlock } from "../core/blocks.ts";
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
    ...message.event.content.flatMap((part, seq): readonly ContentBlock[] =>
      part.type === "text" ? [part] : (message.taken.get(seq)?.blocks ?? []),
    ),
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
    lines.push(`[forwarded from ${oneLine(event.forward.from)}; what follows are their words]`);
  if (event.quote) {
    const author = event.quote.from === undefined ? "" : ` from ${oneLine(event.quote.from)}`;
    lines.push(`[in reply to a message${author}:]`);
    lines.push(...event.quote.text.split(/\r\n|[\r\n\u2028\u2029]/).map((line) => `> ${line}`));
  }
  return lines.length > 0 ? [{ type: "text", text: lines.join("\n") }] : [];
}

function oneLine(name: string): string {
  return name
    .replaceAll(/[\s[\]]+/g, " ")
    .trim()
    .slice(0, 80);
}
