import type { ChatId } from "../core/identity.ts";
import type { Queries } from "./tables.ts";
import { takeUnasked, wasSpokenTo } from "./unasked.ts";

/** What the result of a task meets in its chat, where nobody may be waiting for it. Times are epoch ms. */
export type TaskHold = {
  /** The end of the quiet hours; undefined where none hold. */
  readonly quietUntil: number | undefined;
  /** With what it is counted: "2026-12-24", and how many of that day may be sent. */
  readonly day: string;
  readonly perDay: number;
  /** When it is told where that day has had them. */
  readonly laterAt: number;
};

/**
 * Until when (epoch ms) a task that has ended is not told; undefined where it is told now, which is counted with the
 * day's. Who has spoken to the agent since it ended is there, and waits for it.
 */
export async function heldUntil(
  trx: Queries,
  task: { readonly chat_id: ChatId; readonly ended_at: number },
  { quietUntil, day, perDay, laterAt }: TaskHold,
): Promise<number | undefined> {
  if (await wasSpokenTo(trx, task.chat_id, task.ended_at)) return undefined;
  if (quietUntil !== undefined) return quietUntil;
  return (await takeUnasked(trx, { chat: task.chat_id, day, most: perDay })) ? undefined : laterAt;
}
