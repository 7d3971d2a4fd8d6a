import type { ChatId, Hold, ThreadId } from "../core/identity.ts";
import { isOpenMessage } from "./open-rows.ts";
import type { Queries } from "./tables.ts";
import { WAITING_COLUMNS } from "./waiting.ts";

/** A turn that runs while more is said in its chat. */
export type RunningTurn = {
  readonly id: number;
  readonly hold: Hold;
  readonly agent: string;
  readonly thread: ThreadId;
  readonly intent: number;
};

/** A message that waits. */
export type Row = Awaited<ReturnType<typeof waitingRows>>[number];
/** What is answered as one. */
export type Intent = readonly [Row, ...Row[]];

/** What waits in a chat for turns, in the order in which it would have them. */
export async function waitingIntents(trx: Queries, chat: ChatId): Promise<readonly Intent[]> {
  const intents: [Row, ...Row[]][] = [];
  for (const row of await waitingRows(trx, chat)) {
    const last = intents.at(-1);
    if (last?.[0].intent === row.intent) last.push(row);
    else intents.push([row]);
  }
  return intents;
}

async function waitingRows(trx: Queries, chat: ChatId) {
  return await trx
    .selectFrom("inbox")
    .select([...WAITING_COLUMNS, "during"])
    .where("chat_id", "=", chat)
    .where(isOpenMessage)
    .where("state", "=", "waiting")
    .where("intent", ">", 0)
    .orderBy("intent")
    .orderBy("id")
    .execute();
}

/**
 * Whether what waits can be told to the agent of a turn. What was in flight at a crash has a turn of its own, or it would take the
 * innocent with it.
 */
export function isOf(rows: Intent, { agent, thread }: RunningTurn): boolean {
  return rows.every(
    (row) =>
      row.agent === agent && row.thread === thread && row.task === "" && row.claims === 0 && row.digest === 0,
  );
}

export function rowIdsOf(rows: readonly { readonly id: number }[]): readonly number[] {
  return rows.map(({ id }) => id);
}
