import type { ChatId } from "../core/identity.ts";
import { openTasks, recoverTasks } from "./background-runs.ts";
import { pruneTasks } from "./background.ts";
import { endLeases } from "./channel-lease.ts";
import { pruneQuestions } from "./choices.ts";
import type { Database } from "./database.ts";
import { beforeClaim, withTrace } from "./inbox.ts";
import { isAside, isOpenAttachment, isOpenMessage, isOpenPiece, isPieceInDoubt } from "./open-rows.ts";
import { prunePairing } from "./pairing.ts";

/** What a process that died left behind. */
export type Recovered = { readonly turns: number; readonly messages: number };

/**
 * Takes over from holders that are gone: their claimed messages wait again (with the crash counted), their turns are
 * abandoned, their holds and leases end. Only for the one owner of a data folder; many processes wait for `until` instead.
 */
export async function recover(database: Database, now: number): Promise<Recovered> {
  return await database.db.transaction().execute(async (trx) => {
    await trx.updateTable("chat").set({ owner: "", until: 0 }).where("owner", "!=", "").execute();
    await endLeases(trx);
    await recoverTasks(trx);
    const turns = await trx
      .updateTable("turn")
      .set({ state: "abandoned", error: "the process ended", ended_at: now })
      .where("state", "=", "running")
      .executeTakeFirstOrThrow();
    const messages = await trx
      .updateTable("inbox")
      .set({ state: beforeClaim, trace: withTrace({ at: now, step: "found after a crash" }) })
      .where(isOpenMessage)
      .where("state", "=", "claimed")
      .executeTakeFirstOrThrow();
    return { turns: Number(turns.numUpdatedRows), messages: Number(messages.numUpdatedRows) };
  });
}

/** After two crashes with the same work in flight it is run alone at the next start, so that a third one is its own. */
const CRASHES_BEFORE_ALONE = 2;

/** Work that was in flight at two crashes. It may be what ended the process, or may only have run beside that. */
export async function suspects(
  database: Database,
): Promise<{ readonly chats: readonly ChatId[]; readonly attachments: readonly number[] }> {
  const { db } = database;
  const chats = await db
    .selectFrom("inbox")
    .select("chat_id")
    .distinct()
    .where(isOpenMessage)
    .where("state", "=", "waiting")
    .where("claims", ">=", CRASHES_BEFORE_ALONE)
    .orderBy("chat_id")
    .execute();
  const attachments = await db
    .selectFrom("attachment")
    .select("id")
    .where(isOpenAttachment)
    .where("attempts", ">=", CRASHES_BEFORE_ALONE)
    .execute();
  return { chats: chats.map((row) => row.chat_id), attachments: attachments.map((row) => row.id) };
}

/** All work that the facts know of, so that a lost wake-up is only late. `at` is epoch ms. */
export type OpenWork = {
  readonly turns: readonly { readonly chat: ChatId; readonly at: number }[];
  readonly attachments: readonly number[];
  readonly deliveries: readonly { readonly chat: ChatId; readonly at: number }[];
  /** By their rows. */
  readonly tasks: readonly { readonly row: number; readonly at: number }[];
};

export async function openWork(database: Database): Promise<OpenWork> {
  const { db } = database;
  const turns = await db
    .selectFrom("inbox")
    .select((eb) => ["chat_id", eb.fn.min("due_at").as("at")])
    .where(isOpenMessage)
    .where("state", "=", "waiting")
    .where("intent", ">", 0)
    .groupBy("chat_id")
    .execute();
  const attachments = await db.selectFrom("attachment").select("id").where(isOpenAttachment).execute();
  const deliveries = await db
    .selectFrom("piece")
    .select((eb) => ["chat_id", eb.fn.min("not_before").as("at")])
    .where(isOpenPiece)
    .where("state", "in", ["planned", "sending"])
    .groupBy("chat_id")
    .execute();
  // What was found out meanwhile may decide them, and whoever was to look may be gone.
  const doubts = await db
    .selectFrom("piece")
    .select((eb) => ["chat_id", eb.fn.min("not_before").as("at")])
    .where(isPieceInDoubt)
    .groupBy("chat_id")
    .execute();
  return {
    turns: turns.map((row) => ({ chat: row.chat_id, at: row.at })),
    attachments: attachments.map((row) => row.id),
    deliveries: [...deliveries, ...doubts].map((row) => ({ chat: row.chat_id, at: row.at })),
    tasks: await openTasks(database),
  };
}

/**
 * Forgets what ended before `before` (epoch ms): the rows that recognise repeats, turns, and pieces. So are asides from
 * before that. Nothing that is open, parked or set aside is touched. Gives the number of rows.
 */
export async function prune(database: Database, before: number): Promise<number> {
  return await database.db.transaction().execute(async (trx) => {
    // Nobody has spoken to the agent there since: what it was to be told then has no end of its own.
    await trx
      .updateTable("inbox")
      .set((eb) => ({ state: "withdrawn", ended_at: eb.ref("received_at") }))
      .where(isAside)
      .where("received_at", "<", before)
      .execute();
    await trx
      .deleteFrom("attachment")
      .where("inbox_id", "in", (eb) =>
        eb
          .selectFrom("inbox")
          .select("id")
          .where("ended_at", ">", 0)
          .where("ended_at", "<", before)
          .where("state", "!=", "dead"),
      )
      .execute();
    const inbox = await trx
      .deleteFrom("inbox")
      .where("ended_at", ">", 0)
      .where("ended_at", "<", before)
      .where("state", "!=", "dead")
      .executeTakeFirstOrThrow();
    const turns = await trx
      .deleteFrom("turn")
      .where("ended_at", ">", 0)
      .where("ended_at", "<", before)
      .executeTakeFirstOrThrow();
    await trx
      .deleteFrom("sent")
      .where("piece_id", "in", (eb) =>
        eb.selectFrom("piece").select("id").where("ended_at", ">", 0).where("ended_at", "<", before),
      )
      .execute();
    const pieces = await trx
      .deleteFrom("piece")
      .where("ended_at", ">", 0)
      .where("ended_at", "<", before)
      .executeTakeFirstOrThrow();
    // What was set aside can be tried again, and must not do again what was done.
    await trx
      .deleteFrom("effect")
      .where("at", "<", before)
      .where("thread", "not in", (eb) => eb.selectFrom("inbox").select("thread").where("state", "=", "dead"))
      .execute();
    await prunePairing(trx, before);
    const questions = await pruneQuestions(trx, before);
    const tasks = await pruneTasks(trx, before);
    return Number(inbox.numDeletedRows + turns.numDeletedRows + pieces.numDeletedRows) + questions + tasks;
  });
}
