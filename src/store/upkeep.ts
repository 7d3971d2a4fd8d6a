import type { ChannelId, ChatId } from "../core/identity.ts";
import { pruneApprovals } from "./approval-upkeep.ts";
import { openTasks, recoverTasks } from "./background-runs.ts";
import { pruneCounts } from "./budgets.ts";
import { pruneTasks } from "./background.ts";
import { endLeases } from "./channel-lease.ts";
import { pruneQuestions } from "./choices.ts";
import type { Database } from "./database.ts";
import { beforeClaim, withTrace } from "./inbox.ts";
import { isAside, isOpenAttachment, isOpenMessage, isOpenPiece, isPieceInDoubt } from "./open-rows.ts";
import { prunePairing } from "./pairing.ts";
import { abandonedChats, CRASHES_BEFORE_ALONE, giveBackHeld } from "./takeover.ts";
import { pruneSchedules } from "./schedules.ts";

/** What a process that died left behind. */
export type Recovered = { readonly turns: number; readonly messages: number };

/**
 * Takes over from holders that are gone: their claimed messages wait again (with the crash counted), their turns are
 * abandoned, their holds and leases end. Only for the one owner of a data folder. Where many processes are at the same facts,
 * each of these is taken over when its time is over, by whoever comes for it: a chat by `claimTurn`, its delivery by
 * `holdDelivery`, a fetch, a task, memory and a lease by what begins them.
 */
export async function recover(database: Database, now: number): Promise<Recovered> {
  return await database.db.transaction().execute(async (trx) => {
    const stopped = await trx
      .selectFrom("chat")
      .select("id")
      .where("owner", "!=", "")
      .whereRef("stop_epoch", "=", "epoch")
      .execute();
    for (const { id } of stopped) await giveBackHeld(trx, id, now);
    await trx.updateTable("chat").set({ owner: "", until: 0 }).where("owner", "!=", "").execute();
    await endLeases(trx);
    await recoverTasks(trx);
    await trx.updateTable("attachment").set({ until: 0 }).where(isOpenAttachment).execute();
    await trx.updateTable("memory_work").set({ held_until: 0 }).where("held_until", ">", 0).execute();
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

/**
 * Work that was in flight at two crashes, which is run alone at the next start. It may be what ended the process, or may only
 * have run beside that.
 */
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
  readonly attachments: readonly { readonly id: number; readonly channel: ChannelId }[];
  readonly deliveries: readonly {
    readonly chat: ChatId;
    readonly at: number;
    readonly channel: ChannelId;
  }[];
  /** By their rows. */
  readonly tasks: readonly { readonly row: number; readonly at: number }[];
};

/** `now` is epoch ms. What somebody is at is listed when their time is over. */
export async function openWork(database: Database, now: number): Promise<OpenWork> {
  const { db } = database;
  const turns = await db
    .selectFrom("inbox")
    .select((eb) => ["chat_id", eb.fn.min("due_at").as("at")])
    .where(isOpenMessage)
    .where("state", "=", "waiting")
    .where("intent", ">", 0)
    .groupBy("chat_id")
    .execute();
  const abandoned = await abandonedChats(db, now);
  const attachments = await db
    .selectFrom("attachment")
    .select(["id", "channel"])
    .where(isOpenAttachment)
    .where("until", "<=", now)
    .execute();
  const deliveries = await db
    .selectFrom("piece")
    .select((eb) => ["chat_id", "channel", eb.fn.min("not_before").as("at")])
    .where(isOpenPiece)
    .where("state", "in", ["planned", "sending"])
    .groupBy(["chat_id", "channel"])
    .execute();
  // What was found out meanwhile may decide them, and whoever was to look may be gone.
  const doubts = await db
    .selectFrom("piece")
    .select((eb) => ["chat_id", "channel", eb.fn.min("not_before").as("at")])
    .where(isPieceInDoubt)
    .groupBy(["chat_id", "channel"])
    .execute();
  return {
    turns: [
      ...turns.map((row) => ({ chat: row.chat_id, at: row.at })),
      ...abandoned.map((chat) => ({ chat, at: now })),
    ],
    attachments,
    deliveries: [...deliveries, ...doubts].map(({ chat_id: chat, at, channel }) => ({ chat, at, channel })),
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
    await pruneApprovals(trx, before);
    await pruneCounts(trx, before);
    const questions = await pruneQuestions(trx, before);
    const tasks = await pruneTasks(trx, before);
    await pruneSchedules(trx, before);
    return Number(inbox.numDeletedRows + turns.numDeletedRows + pieces.numDeletedRows) + questions + tasks;
  });
}
