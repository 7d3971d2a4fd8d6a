import type { MessageEntity } from "grammy/types";

// In the order in which the first wins where two would cover the same text.
const FOUND = [
  ["url", /https?:\/\/[^\s]+[^\s.,;:!?)]/g],
  ["bot_command", /(?<![\w/])\/\w{1,64}(?:@\w{3,32})?/g],
  ["mention", /(?<![\w/@])@\w{4,32}/g],
] as const;

/** What Telegram marks by itself in a person's text, as far as bots look at it: links, commands and mentions. */
export function foundEntities<Name extends "entities" | "caption_entities">(
  name: Name,
  text: string,
): Partial<Record<Name, MessageEntity[]>> {
  const found: MessageEntity[] = [];
  for (const [type, pattern] of FOUND) {
    for (const { index: offset, 0: match } of text.matchAll(pattern)) {
      const { length } = match;
      const isFree = found.every(
        (other) => offset + length <= other.offset || offset >= other.offset + other.length,
      );
      if (isFree) found.push({ type, offset, length });
    }
  }
  if (found.length === 0) return {};
  // One key of the two that `Name` can be.
  return { [name]: found.toSorted((a, b) => a.offset - b.offset) } as Partial<Record<Name, MessageEntity[]>>;
}
