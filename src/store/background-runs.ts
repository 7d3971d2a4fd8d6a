import type { Selectable, Transaction } from "kysely";
import type { BackgroundTask } from "../core/background.ts";
import type { PieceBody } from "../core/channel.ts";
import type { EffectLog } from "../core/effects.ts";
import { GatewayError } from "../core/errors.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { BackgroundTaskRow } from "./agent-tables.ts";
import { effectsOfTask, type TaskOrigin, toTask } from "./background.ts";
import { addressOf } from "./chats.ts";
import type { Database } from "./database.ts";
import { type EffectsBy, effectsOf, forgetEffects } from "./effects.ts";
import { isOpenTask } from "./open-rows.ts";
import { pausedUntil } from "./pauses.ts";
import { insertPieces } from "./pieces.ts";
import type { Queries, Tables } from "./tables.ts";
import { heldUntil, type TaskHold } from "./task-holds.ts";
import { countSpent, type Spent } from "./thread-facts.ts";
import { wasSpokenTo } from "./unasked.ts";

/** A task that has ended the process this many times is given up. */
export const CRASHES_BEFORE_ERROR = 3;
/** What a pause holds back whose end nobody knows is looked at again so often. */
const PAUSED_AGAIN_MS = 3_600_000;
/** A task for whoever works on it. */
export type OpenTask = TaskOrigin & {
  readonly row: number;
  /** What is written of a run with another one is not taken. */
  readonly epoch: number;
  readonly task: BackgroundTask;
  /** How many of its earlier runs have failed. */
  readonly failures: number;
  readonly error: string;
};

export type TaskClaim =
  | { readonly kind: "run"; readonly open: OpenTask }
  /** It has ended, and its chat has not been told. */
  | { readonly kind: "tell"; readonly open: OpenTask }
  /** Its chat is to be told, but a turn is running there, until `at` (epoch ms) at the latest without another word of it. */
  | { readonly kind: "after turn"; readonly chat: ChatId; readonly at: number }
  | { readonly kind: "wait"; readonly at: number }
  /** There is nothing to do, or its connection is off. */
  | { readonly kind: "idle" };

/**
 * Takes what is to be done next about a task. Only one worker of a process asks at a time, so one that is "running" was left
 * behind where it is its own, or its time is over: it is begun anew, and the crash counts.
 */
export async function claimTask(
  database: Database,
  row: number,
  by: {
    readonly owner: string;
    readonly now: number;
    /** Until when it is theirs, unless they renew it. */
    readonly until: number;
    readonly isOpen: (channel: ChannelId) => boolean;
    /** What the agent is told of a task that is given up. */
    readonly givenUp: string;
  },
): Promise<TaskClaim> {
  return await database.light(async (trx) => {
    const found = await openRow(trx, database, row);
    if (!found || !by.isOpen(found.channel)) return { kind: "idle" };
    if (found.status !== "pending" && found.status !== "running") return await toTell(trx, found, by.now);
    if (found.not_before > by.now) return { kind: "wait", at: found.not_before };
    if (found.status === "running" && found.owner !== by.owner && found.until > by.now)
      return { kind: "wait", at: found.until };
    const crashed = found.crashes >= CRASHES_BEFORE_ERROR;
    const next = crashed
      ? { status: "error" as const, error: "crashed", result: by.givenUp, ended_at: by.now }
      : { status: "running" as const, attempts: found.attempts + 1, crashes: found.crashes + 1 };
    const now = await trx
      .updateTable("background_task")
      .set({ ...next, epoch: found.epoch + 1, owner: by.owner, until: by.until })
      .where("id", "=", row)
      .returningAll()
      .executeTakeFirstOrThrow();
    if (!crashed) return { kind: "run", open: toOpen(now) };
    await forgetEffects(trx, effectsOfTask(now));
    return await toTell(trx, now, by.now);
  });
}

async function openRow(
  trx: Transaction<Tables>,
  { dialect }: Database,
  row: number,
): Promise<Row | undefined> {
  return await trx
    .selectFrom("background_task")
    .selectAll()
    .where("id", "=", row)
    .where(isOpenTask)
    .$if(dialect === "postgres", (query) => query.forUpdate())
    .executeTakeFirst();
}

async function toTell(trx: Queries, row: Row, now: number): Promise<TaskClaim> {
  // Where the agent keeps still it says nothing of this either, until that is over.
  const paused = await pausedUntil(trx, row.chat_id, now);
  if (paused > 0)
    return { kind: "after turn", chat: row.chat_id, at: Math.min(paused, now + PAUSED_AGAIN_MS) };
  // It is held: nobody has asked for it at this time.
  if (row.not_before > now && !(await wasSpokenTo(trx, row.chat_id, row.ended_at)))
    return { kind: "wait", at: row.not_before };
  const held = await trx
    .selectFrom("chat")
    .select("until")
    .where("id", "=", row.chat_id)
    .where("owner", "!=", "")
    .where("until", ">", now)
    .executeTakeFirst();
  return held
    ? { kind: "after turn", chat: row.chat_id, at: held.until }
    : { kind: "tell", open: toOpen(row) };
}

/** Whether a run is still the newest of its task: between the claim and the work it may have been changed, or forgotten. */
export async function isNewest(database: Database, open: OpenTask): Promise<boolean> {
  return (await newest(database.db, open).executeTakeFirst()) !== undefined;
}

/** Whether a run is still the newest of its task; then it is theirs until the new end (epoch ms). */
export async function renewTask({ db }: Database, { row, epoch }: OpenTask, until: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("background_task")
    .set({ until })
    .where("id", "=", row)
    .where("epoch", "=", epoch)
    .where("status", "=", "running")
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/**
 * What the runs of a task do outside. One of them does not do again what another has done: they are forgotten when the
 * task ends.
 */
export function taskEffects(database: Database, open: OpenTask, by: EffectsBy): EffectLog {
  const { chat, row, thread, epoch } = open;
  const assertOurs = async (trx: Queries): Promise<void> => {
    const runs = await newest(trx, open)
      .$if(database.dialect === "postgres", (query) => query.forUpdate())
      .executeTakeFirst();
    if (!runs)
      throw new GatewayError("store.hold_lost", `task ${row} was changed meanwhile; nothing was written`);
  };
  const of = { ...effectsOfTask({ id: row, thread }), chat, again: epoch > 1, assertOurs };
  return effectsOf(database, of, by);
}

function newest(trx: Queries, { row, epoch }: OpenTask) {
  return trx
    .selectFrom("background_task")
    .select("id")
    .where("id", "=", row)
    .where("epoch", "=", epoch)
    .where("status", "=", "running");
}

/** What a run took counts to the thread that has begun the task, whatever came of it. */
export async function countRun(
  database: Database,
  { row }: OpenTask,
  spent: Spent,
  now: number,
): Promise<void> {
  await database.light(async (trx) => {
    const found = await trx
      .selectFrom("background_task")
      .select(["chat_id", "agent", "thread"])
      .where("id", "=", row)
      .executeTakeFirst();
    // Of a chat that was forgotten nothing is known any more.
    if (found) await countSpent(trx, { ...found, chat: found.chat_id }, spent, now);
  });
}

/** What a run came to. False where it is not the newest any more, or its chat is gone: then nothing is written. */
export async function endTask(
  database: Database,
  open: OpenTask,
  end: { readonly status: "success" | "error"; readonly result: string; readonly error: string },
  now: number,
): Promise<boolean> {
  return await leaveRunning(database, open, () => ({ ...end, ended_at: now }), true);
}

/** A run that failed is begun again at `at` (epoch ms). */
export async function retryTask(database: Database, open: OpenTask, at: number): Promise<boolean> {
  return await leaveRunning(database, open, ({ crashes }) => ({
    status: "pending",
    not_before: at,
    crashes: crashes - 1,
  }));
}

/** A run that we have ended ourselves, at a shutdown, is as if it had not been begun. */
export async function giveTaskBack(database: Database, open: OpenTask): Promise<boolean> {
  return await leaveRunning(database, open, ({ attempts, crashes }) => ({
    status: "pending",
    attempts: attempts - 1,
    crashes: crashes - 1,
  }));
}

async function leaveRunning(
  database: Database,
  { row, epoch }: OpenTask,
  become: (row: Row) => Partial<Omit<Row, "id">>,
  over = false,
): Promise<boolean> {
  return await database.db.transaction().execute(async (trx) => {
    const found = await openRow(trx, database, row);
    if (found?.epoch !== epoch || found.status !== "running") return false;
    await trx.updateTable("background_task").set(become(found)).where("id", "=", row).execute();
    if (over) await forgetEffects(trx, effectsOfTask(found));
    return true;
  });
}

/**
 * Plans what is said of the end of a task, once; gives the chat that it is said in, or until when (epoch ms) it is `held`
 * there.
 */
export async function tellTask(
  database: Database,
  { row, epoch }: OpenTask,
  bodies: readonly PieceBody[],
  by: { readonly hold: TaskHold | undefined; readonly now: number },
): Promise<{ readonly chat: ChatId; readonly held?: number } | undefined> {
  return await database.db.transaction().execute(async (trx) => {
    const found = await openRow(trx, database, row);
    if (found?.epoch !== epoch) return undefined;
    const { chat, to } = toOpen(found);
    if ((await pausedUntil(trx, chat, by.now)) > 0) return { chat, held: by.now };
    const held = by.hold && (await heldUntil(trx, found, by.hold));
    if (held !== undefined) {
      await trx.updateTable("background_task").set({ not_before: held }).where("id", "=", row).execute();
      return { chat, held };
    }
    await trx.updateTable("background_task").set({ told: 1 }).where("id", "=", row).execute();
    const pieces = bodies.map((body, seq) => ({ chat, to, turn: 0, seq, body }));
    await insertPieces(trx, pieces, by.now);
    return { chat };
  });
}

/** Tasks about which something is to be done, and when (epoch ms). */
export async function openTasks({
  db,
}: Database): Promise<readonly { readonly row: number; readonly at: number }[]> {
  const rows = await db
    .selectFrom("background_task")
    .select(["id", "not_before", "status", "until"])
    .where(isOpenTask)
    .execute();
  return rows.map(({ id, status, not_before, until }) => ({
    row: id,
    // One that runs is looked at again when it should have been renewed.
    at: status === "running" ? until : not_before,
  }));
}

/** What a process that died was at is begun again; how often that was is counted. */
export async function recoverTasks(trx: Queries): Promise<void> {
  await trx
    .updateTable("background_task")
    .set({ status: "pending", owner: "", until: 0 })
    .where(isOpenTask)
    .where("status", "=", "running")
    .execute();
}

type Row = Selectable<BackgroundTaskRow>;

function toOpen(row: Row): OpenTask {
  return {
    row: row.id,
    epoch: row.epoch,
    chat: row.chat_id,
    to: addressOf(row.channel, row.to_chat, row.to_topic),
    agent: row.agent,
    thread: row.thread,
    language: row.language,
    person: row.person,
    byOwner: row.by_owner === 1,
    task: toTask(row),
    failures: row.attempts - row.crashes,
    error: row.error,
  };
}
