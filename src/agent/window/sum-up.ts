import { RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import type { Summary } from "../state.ts";
import { appendHistory, type History } from "./history.ts";
import { summarise, type Summarising } from "./summary.ts";

/** What is to leave a thread, and what stood for earlier messages until now. */
export type Leaving = {
  readonly dropped: readonly BaseMessage[];
  /**
   * The thread up to the last of them, with what stays of it in between: the file tells what was answered too, though that is
   * still needed.
   */
  readonly upTo: readonly BaseMessage[];
  readonly earlier: Summary | undefined;
  /** Absent for work that no thread is kept of: then there is no file either. */
  readonly history?: History;
};

export type SummedUp = { readonly summary: Summary; readonly gone: readonly RemoveMessage[] };

/**
 * Writes what leaves a thread to its history file, then a summary of it: only then may the messages go. A run that ends between
 * can be run again, as what stands in the file is not written again. The file comes first: a summary for which there is no
 * room on the disk would be paid for with each turn. @throws what the model or the disk throws.
 */
export async function sumUp(leaving: Leaving, by: Summarising): Promise<SummedUp> {
  const { dropped, upTo, earlier, history } = leaving;
  const path = history === undefined ? "" : await appendHistory(history, upTo);
  by.signal?.throwIfAborted();
  const text = await summarise(dropped, earlier?.text, by);
  by.signal?.throwIfAborted();
  return {
    summary: { text, path, times: (earlier?.times ?? 0) + 1 },
    gone: dropped.flatMap(({ id }) => (id === undefined ? [] : [new RemoveMessage({ id })])),
  };
}

/** The messages up to and with the last of `dropped`. */
export function upToLast(
  messages: readonly BaseMessage[],
  dropped: readonly BaseMessage[],
): readonly BaseMessage[] {
  const last = dropped.at(-1);
  return messages.slice(0, messages.findLastIndex((message) => message === last) + 1);
}
