import type { Database } from "./database.ts";
import { withTrace } from "./inbox.ts";
import type { Queries } from "./tables.ts";
import { rowIdsOf, type Intent, isOf, type RunningTurn, waitingIntents } from "./waiting-intents.ts";

/** The rows that interrupt this turn, up to the last that does; none where something else stands before them. */
async function interrupting(trx: Queries, turn: RunningTurn, most: number): Promise<readonly number[]> {
  const { chat } = turn.hold;
  const own = await trx
    .selectFrom("inbox")
    .select((eb) => eb.fn.countAll().as("n"))
    .where("turn_id", "=", turn.id)
    .where("state", "=", "claimed")
    .where("intent", ">", 0)
    .executeTakeFirstOrThrow();
  const joining: Intent[] = [];
  let left = most - Number(own.n);
  for (const rows of await waitingIntents(trx, chat)) {
    left -= rows.length;
    const joins =
      isOf(rows, turn) && rows.every(({ during }) => during === "steer" || during === "interrupt");
    if (!joins || left < 0) break;
    joining.push(rows);
  }
  const last = joining.findLastIndex((rows) => rows.some(({ during }) => during === "interrupt"));
  return rowIdsOf(joining.slice(0, last + 1).flat());
}

/** Whether something waits that interrupts this turn. */
export async function isInterrupted(database: Database, turn: RunningTurn, most: number): Promise<boolean> {
  return (await interrupting(database.db, turn, most)).length > 0;
}

/**
 * In the transaction that breaks a turn off: its messages wait again with no crash counted, with what was steered into it
 * and what interrupts it, as one.
 */
export async function joinInterrupted(
  trx: Queries,
  turn: RunningTurn,
  { most, now }: { readonly most: number; readonly now: number },
): Promise<void> {
  const joining = await interrupting(trx, turn, most);
  const claimed = trx.updateTable("inbox").where("turn_id", "=", turn.id).where("state", "=", "claimed");
  const trace = withTrace({ at: now, step: "interrupted", turn: turn.id });
  await claimed.where("intent", "=", 0).set({ state: "aside", trace }).execute();
  await claimed
    .set((eb) => ({
      state: "waiting",
      intent: turn.intent,
      during: "",
      claims: eb("claims", "-", 1),
      trace,
    }))
    .execute();
  if (joining.length === 0) return;
  await trx
    .updateTable("inbox")
    .set({
      intent: turn.intent,
      during: "",
      trace: withTrace({ at: now, step: "interrupts", turn: turn.id, joins: turn.intent }),
    })
    .where("id", "in", joining)
    .execute();
}
