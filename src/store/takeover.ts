import { PostgresAdapter, sql, type Transaction } from "kysely";
import type { ChatId } from "../core/identity.ts";
import { forgetTaken } from "./attachments.ts";
import { withdrawFollowing } from "./edits.ts";
import { beforeClaim, withTrace } from "./inbox.ts";
import { isOpenMessage } from "./open-rows.ts";
import type { Queries, Tables } from "./tables.ts";

/** After two crashes with the same work in flight it runs alone at the next start, so that a third crash is its own. */
export const CRASHES_BEFORE_ALONE = 2;
/**
 * Beside other processes it is a suspect after one more, and no two suspects run at once: a worker that is ended takes all
 * with it that it was at, and what was innocent must not wait for itself.
 */
const CRASHES_BEFORE_SUSPECT = 3;

/**
 * Gives back what a holder had claimed that is gone, or has stalled for too long: its messages wait again, the crash counted,
 * and it holds the chat no longer. A turn that a person has stopped before ends so instead: they were told.
 */
export async function giveBackHeld(trx: Transaction<Tables>, chat: ChatId, now: number): Promise<void> {
  const { stopped } = await trx
    .updateTable("chat")
    .set({ owner: "", until: 0 })
    .where("id", "=", chat)
    .returning((eb) => eb.case().when("stop_epoch", "=", eb.ref("epoch")).then(1).else(0).end().as("stopped"))
    .executeTakeFirstOrThrow();
  await trx
    .updateTable("turn")
    .set(
      stopped === 1
        ? { state: "stopped", error: "turn.stopped", ended_at: now }
        : { state: "abandoned", error: "its process ended, or stalled", ended_at: now },
    )
    .where("chat_id", "=", chat)
    .where("state", "=", "running")
    .execute();
  if (stopped === 1) return await endStopped(trx, chat, now);
  await trx
    .updateTable("inbox")
    .set({ state: beforeClaim, trace: withTrace({ at: now, step: "taken over" }) })
    .where("chat_id", "=", chat)
    .where(isOpenMessage)
    .where("state", "=", "claimed")
    .execute();
}

async function endStopped(trx: Transaction<Tables>, chat: ChatId, now: number): Promise<void> {
  const rows = await trx
    .updateTable("inbox")
    .set({ state: "consumed", payload: "", ended_at: now, trace: withTrace({ at: now, step: "stopped" }) })
    .where("chat_id", "=", chat)
    .where(isOpenMessage)
    .where("state", "=", "claimed")
    .returning("id")
    .execute();
  const messages = rows.map(({ id }) => id);
  if (messages.length === 0) return;
  await forgetTaken(trx, messages);
  await withdrawFollowing(trx, chat, { messages, now });
}

/** Chats whose holder is gone with messages that it had claimed: whoever claims there next gives them back first. */
export async function abandonedChats(db: Queries, now: number): Promise<readonly ChatId[]> {
  const rows = await db
    .selectFrom("inbox")
    .innerJoin("chat", "chat.id", "inbox.chat_id")
    .select("inbox.chat_id")
    .distinct()
    .where(isOpenMessage)
    .where("inbox.state", "=", "claimed")
    .where("chat.until", "<=", now)
    .execute();
  return rows.map((row) => row.chat_id);
}

/**
 * Whether what has been in flight at so many crashes must wait, because another suspect is running somewhere now. It is
 * asked in the transaction that claims it: two of them cannot find the way free at once.
 */
export async function othersAreSuspect(
  trx: Transaction<Tables>,
  crashes: number,
  now: number,
): Promise<boolean> {
  if (crashes < CRASHES_BEFORE_SUSPECT) return false;
  await oneAtATime(trx);
  const running = await trx
    .selectFrom("inbox")
    .innerJoin("chat", "chat.id", "inbox.chat_id")
    .select("inbox.id")
    .where(isOpenMessage)
    .where("inbox.state", "=", "claimed")
    .where("inbox.claims", ">", CRASHES_BEFORE_SUSPECT)
    .where("chat.until", ">", now)
    .limit(1)
    .executeTakeFirst();
  return running !== undefined;
}

/** SQLite has one writer at a time anyway. */
async function oneAtATime(trx: Transaction<Tables>): Promise<void> {
  if (trx.getExecutor().adapter instanceof PostgresAdapter)
    await sql`select pg_advisory_xact_lock(hashtext('perch suspects'), hashtext(current_schema()))`.execute(
      trx,
    );
}
