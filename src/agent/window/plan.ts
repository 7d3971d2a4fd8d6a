import type { BaseMessage } from "@langchain/core/messages";
import { length, newest, newestBySize, type WindowLimits } from "../harness/window.ts";
import { noteIn } from "../messages.ts";

/** Of a window: a request that takes more is summed up first. */
export const FULL = 0.85;
/** Of a window: so much of the newest is kept then. */
const KEPT = 0.1;
/** Of the limits of messages and characters, in the same way: a summary must not be due again a few messages later. */
const KEPT_OF_LIMITS = 0.25;

/** What a thread is measured by. */
export type Measure = {
  readonly limits: WindowLimits;
  /** What the model takes at once, in tokens. */
  readonly window: number;
  /** What a message of it takes, in tokens. */
  readonly tokensOf: (message: BaseMessage) => number;
};

/** Messages of the thread and, in their order among them, notes that requests alone have. */
export type Parts = { readonly kept: readonly BaseMessage[]; readonly dropped: readonly BaseMessage[] };

/**
 * What stays of a thread that is summed up: about a tenth of the window, whole tool batches, and always the newest human message
 * with its corrections and the newest batch. Notes stay.
 */
export function splitForSummary(messages: readonly BaseMessage[], measure: Measure): Parts {
  const { limits, window } = measure;
  return split(messages, measure, {
    tokens: window * KEPT,
    messages: Math.max(2, Math.floor(limits.messages * KEPT_OF_LIMITS)),
    characters: limits.characters * KEPT_OF_LIMITS,
  });
}

/** What stays of a request where nothing can be summed up; `fixed` is what the rest of it takes, in tokens. */
export function splitForRoom(messages: readonly BaseMessage[], measure: Measure, fixed: number): Parts {
  return split(messages, measure, {
    tokens: Math.max(1, measure.window * FULL - fixed),
    ...measure.limits,
  });
}

/** Whether the limits of messages and characters leave something out. */
export function exceedsLimits(messages: readonly BaseMessage[], limits: WindowLimits): boolean {
  const own = messages.filter((message) => !noteIn(message));
  return newest(own, limits).length < own.length;
}

function split(
  messages: readonly BaseMessage[],
  { tokensOf }: Measure,
  room: WindowLimits & { readonly tokens: number },
): Parts {
  const own = messages.filter((message) => !noteIn(message));
  // Whichever of the two it takes more of; 1 is all that there is.
  const shareOf = (message: BaseMessage): number =>
    Math.max(length(message) / room.characters, tokensOf(message) / room.tokens);
  const kept = new Set(newestBySize(own, { messages: room.messages, size: 1 }, shareOf));
  return {
    kept: messages.filter((message) => noteIn(message) !== undefined || kept.has(message)),
    dropped: own.filter((message) => !kept.has(message)),
  };
}
