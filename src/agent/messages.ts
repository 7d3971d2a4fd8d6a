import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { ContentBlock } from "../core/blocks.ts";
import { mediaWords } from "./words.ts";

/** What a person sent in one turn, as it stands in a thread: references to media, never bytes. */
export type PerchContent = {
  readonly content: readonly ContentBlock[];
  /** ISO 8601. */
  readonly sentAt: string;
};

/** The message that enters the thread. Its plain content is the text and one line of words for each medium. */
export function humanMessage(id: string, { content, sentAt }: PerchContent): HumanMessage {
  return new HumanMessage({
    id,
    content: content.map(shortWords).join("\n"),
    additional_kwargs: { perch: { content, sentAt } },
  });
}

/** What `humanMessage` was given; undefined for messages that somebody else put into the thread. */
export function perchContent(message: BaseMessage): PerchContent | undefined {
  const perch = message.additional_kwargs["perch"];
  if (typeof perch !== "object" || perch === null || !("content" in perch)) return undefined;
  return perch as PerchContent; // written by humanMessage alone
}

function shortWords(block: ContentBlock): string {
  if (block.type === "text") return block.text;
  const words = `[${mediaWords(block)}]`;
  return block.caption === undefined ? words : `${words}\n${block.caption}`;
}
