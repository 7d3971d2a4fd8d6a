import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { CorrectionWords } from "../core/agent.ts";
import type { BlobRef, ContentBlock } from "../core/blocks.ts";
import { mediaWords } from "./words.ts";

/** What a person sent in one turn, as it stands in a thread: references to media, never bytes. */
export type PerchContent = {
  readonly content: readonly ContentBlock[];
  /** ISO 8601. */
  readonly sentAt: string;
  /** Of how many messages it is made; 1 without it. */
  readonly messages?: number;
  /** It was said while a turn ran: it belongs to the question before it and asks none of its own. */
  readonly meanwhile?: true;
  /** Bytes of its media that a model refused, by the model's key: that model is not sent them again. */
  readonly refused?: Readonly<Record<string, readonly BlobRef[]>>;
};

/**
 * The message that enters the thread. Its plain content is the text and one line of words for each medium, which is
 * what the model sees of it later; with `paths` where the agent can open them.
 */
export function humanMessage(id: string, said: PerchContent, paths: boolean): HumanMessage {
  return new HumanMessage({
    id,
    content: said.content.map((block) => shortWords(block, paths)).join("\n"),
    additional_kwargs: { perch: perchOf(said) },
  });
}

/** What is kept with a message of a person; `said` may be a whole turn. */
export function perchOf({ content, sentAt, messages = 1, meanwhile }: PerchContent): PerchContent {
  return {
    content,
    sentAt,
    ...(messages === 1 ? {} : { messages }),
    ...(meanwhile ? { meanwhile } : {}),
  };
}

/** What `humanMessage` was given; undefined for messages that somebody else put into the thread. */
export function perchContent(message: BaseMessage): PerchContent | undefined {
  const perch = message.additional_kwargs["perch"];
  if (typeof perch !== "object" || perch === null || !("content" in perch)) return undefined;
  return perch as PerchContent; // written by this file alone
}

/** Whether a person has asked with it: what they said while a turn ran goes with that one's question. */
export function isQuestion(message: BaseMessage): boolean {
  const perch = perchContent(message);
  return perch !== undefined && perch.meanwhile !== true;
}

export function isSteered(message: BaseMessage): boolean {
  return perchContent(message)?.meanwhile === true;
}

/** Whether it came while a turn ran, so that it goes with the question before it. */
export function cameMeanwhile(message: BaseMessage): boolean {
  return isCorrection(message) || isSteered(message);
}

/** A correction in a thread: it belongs to the question before it and asks none of its own. */
export function correctionMessage({ id, text }: CorrectionWords): HumanMessage {
  return new HumanMessage({ id, content: text, additional_kwargs: { perchCorrection: true } });
}

export function isCorrection(message: BaseMessage): boolean {
  return message.additional_kwargs["perchCorrection"] === true;
}

/** What has become of background tasks: it stands in the thread before a question, and nobody has said it. */
export function tasksMessage(id: string, text: string): HumanMessage {
  return new HumanMessage({ id, content: text, additional_kwargs: { perchTasks: true } });
}

export function isTasks(message: BaseMessage): boolean {
  return message.additional_kwargs["perchTasks"] === true;
}

/**
 * A word of ours that requests have and the thread has not. `lasting` where later requests have it at the same place, so
 * that what stands behind it can be cached.
 */
export function noteMessage(text: string, { lasting }: { readonly lasting: boolean }): HumanMessage {
  return new HumanMessage({ content: text, additional_kwargs: { perchNote: { lasting } } });
}

export function noteIn(message: BaseMessage): { readonly lasting: boolean } | undefined {
  return message.additional_kwargs["perchNote"] as { readonly lasting: boolean } | undefined; // written above alone
}

/**
 * What the agent has looked at with its tools. Requests have it once, behind the results of those calls, and the thread has
 * it not; nobody has said it.
 */
export function viewedMessage(content: readonly ContentBlock[]): HumanMessage {
  return new HumanMessage({
    content: content.map((block) => shortWords(block, true)).join("\n"),
    additional_kwargs: { perchViewed: content },
  });
}

export function viewedIn(message: BaseMessage): readonly ContentBlock[] | undefined {
  return message.additional_kwargs["perchViewed"] as readonly ContentBlock[] | undefined; // written above alone
}

/** What was offered last, and what was said beside it: models may ask in the same breath, and say no more after it. */
export type Offer = { readonly choices: readonly string[]; readonly beside: string };

/** What is sent with the answer of a turn. */
export type Given = { readonly presented: readonly string[]; readonly offer?: Offer };

/** The same message, which says what messages of its turn have given that are no longer in the thread. */
export function withGiven(message: AIMessage, given: Given): AIMessage {
  message.additional_kwargs = { ...message.additional_kwargs, perchGiven: given };
  return message;
}

export function givenIn(message: BaseMessage): Given | undefined {
  return message.additional_kwargs["perchGiven"] as Given | undefined; // written above alone
}

/** Where the newest message stands that is to be answered; -1 where there is none. */
export function newestQuestion(messages: readonly BaseMessage[]): number {
  const ofPerson = messages.findLastIndex(isQuestion);
  if (ofPerson >= 0) return ofPerson;
  // Work without a thread, or a graph's own.
  return messages.findLastIndex(
    (message) =>
      HumanMessage.isInstance(message) &&
      !cameMeanwhile(message) &&
      noteIn(message) === undefined &&
      viewedIn(message) === undefined,
  );
}

/** The same message, with what a model has refused of it; the same id, so that it takes the other's place. */
export function withRefused(message: BaseMessage, model: string, blobs: readonly BlobRef[]): HumanMessage {
  const perch = perchContent(message);
  return new HumanMessage({
    ...(message.id === undefined ? {} : { id: message.id }),
    content: message.content,
    response_metadata: message.response_metadata,
    additional_kwargs: {
      ...message.additional_kwargs,
      perch: { ...perch, refused: { ...perch?.refused, [model]: blobs } },
    },
  });
}

function shortWords(block: ContentBlock, paths: boolean): string {
  if (block.type === "text") return block.text;
  const words = `[${mediaWords(block, { paths })}]`;
  return block.caption === undefined ? words : `${words}\n${block.caption}`;
}
