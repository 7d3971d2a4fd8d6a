import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { cameMeanwhile } from "../messages.ts";

export type WindowLimits = {
  /** At most so many messages. */
  readonly messages: number;
  /** At most so many characters of text and tool arguments. */
  readonly characters: number;
};

/** The newest part of a thread that fits the limits; see `newestBySize`. */
export function newest(messages: readonly BaseMessage[], limits: WindowLimits): readonly BaseMessage[] {
  return newestBySize(messages, { messages: limits.messages, size: limits.characters }, length);
}

/**
 * The newest part of a thread that fits the limits, where `sizeOf` says how large a message is.
 * A message with tool calls and the results after it stay together; the newest human message, what came since and the
 * newest message are always there, whole, even where they alone break the limits; what would stand before the first human
 * message is left out. The order is kept.
 */
export function newestBySize(
  messages: readonly BaseMessage[],
  limits: { readonly messages: number; readonly size: number },
  sizeOf: (message: BaseMessage) => number,
): readonly BaseMessage[] {
  const asked = messages.findLastIndex((each) => HumanMessage.isInstance(each) && !cameMeanwhile(each));
  const held = messages.flatMap((each, at) =>
    at === asked || (asked >= 0 && at > asked && cameMeanwhile(each)) ? [at] : [],
  );
  let room = limits.messages;
  let left = limits.size;
  const sizeBetween = (from: number, to: number): number =>
    messages.slice(from, to).reduce((sum, message) => sum + sizeOf(message), 0);
  const take = (from: number, to: number): void => {
    room -= to - from;
    left -= sizeBetween(from, to);
  };
  // Their places are taken first, so that a long tool loop cannot push out what was asked.
  for (const at of held) take(at, at + 1);

  let start = messages.length;
  let isNewest = true;
  while (start > 0) {
    if (held.includes(start - 1)) {
      start -= 1;
      continue;
    }
    const from = batchStart(messages, start);
    if (!isNewest && (start - from > room || sizeBetween(from, start) > left)) break;
    take(from, start);
    isNewest = false;
    start = from;
  }

  if (asked < 0) return messages.slice(start);
  if (start > asked) return messages.filter((_each, at) => at >= start || held.includes(at));
  const firstHuman = messages.findIndex((message, at) => at >= start && HumanMessage.isInstance(message));
  return messages.slice(firstHuman);
}

/** Where the message, or the batch of tool results with the calls before it, begins that ends before `end`. */
function batchStart(messages: readonly BaseMessage[], end: number): number {
  let start = end - 1;
  while (start > 0 && ToolMessage.isInstance(messages[start])) start -= 1;
  const head = messages[start];
  const called = AIMessage.isInstance(head) && (head.tool_calls?.length ?? 0) > 0;
  // Results without a call before them are no batch; each stands for itself and is left to repair.
  return called || ToolMessage.isInstance(head) ? start : end - 1;
}

/** The characters of a message's text and arguments. */
export function length(message: BaseMessage): number {
  const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
  return calls.reduce((sum, call) => sum + JSON.stringify(call.args).length, message.text.length);
}
