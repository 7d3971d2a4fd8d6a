import type { ChannelId } from "./identity.ts";

/**
 * Whose facts an agent keeps: those of a person, or those of a group. What belongs to one is never shown to the other, also
 * where it is about the same person. `subject` is the platform's id of the person, or the number of the chat.
 */
export type FactOwner = {
  readonly scope: "person" | "chat";
  readonly channel: ChannelId;
  readonly subject: string;
  readonly agent: string;
};

/** One thing that is remembered of a person, or of a group. */
export type Fact = {
  /** Counts what is remembered of this owner: a number that people can type. */
  readonly id: number;
  readonly content: string;
  /** 0 to 1, as the model that wrote it down was sure. */
  readonly confidence: number;
  /** When it was said, ISO 8601: what was said later holds, whenever it was written down. */
  readonly saidAt: string;
};

/** What a distilling model proposes; nothing of it is trusted. */
export type FactDraft = {
  readonly content: string;
  readonly confidence: number;
  /** ISO 8601, of the message that it is taken from. */
  readonly saidAt: string;
  /** The id of that message; absent where there is none. */
  readonly saidIn?: string;
  /** Ids of facts that it takes the place of. */
  readonly replaces: readonly number[];
};

/** What the person's words in a turn say about what is remembered, found without a model. */
export type MemorySignal = "correction" | "reinforcement";
