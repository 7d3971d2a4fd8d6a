import { sql, type SqlBool } from "kysely";
import type { ChatId, ThreadId } from "../core/identity.ts";
import type { Fact, FactOwner, MemorySignal } from "../core/memory.ts";
import type { Database } from "./database.ts";
import { changeFacts, type FactChanges, isOwners } from "./memory-facts.ts";
import type { Queries } from "./tables.ts";

/** A thread in which somebody has spoken with an agent that remembers. Times are epoch ms. */
export type Touch = {
  readonly owner: FactOwner;
  readonly thread: ThreadId;
  readonly chat: ChatId;
  readonly signals: readonly MemorySignal[];
  /** So long nobody must have spoken there before it is gone through, */
  readonly quietMs: number;
  /** but not longer than this after the first of it. */
  readonly mostMs: number;
};

/** Marks a thread to be gone through, once for all turns until then, in the transaction that ends the turn. */
export async function touch(trx: Queries, of: Touch, now: number): Promise<void> {
  const { owner, thread, chat, signals, quietMs, mostMs } = of;
  const [correction, reinforcement] = [flag(signals, "correction"), flag(signals, "reinforcement")];
  const soon = now + quietMs;
  await trx
    .insertInto("memory_work")
    .values({
      ...owner,
      thread,
      chat_id: chat,
      after: "",
      first_at: now,
      due_at: Math.min(soon, now + mostMs),
      touches: 1,
      correction,
      reinforcement,
      attempts: 0,
      epoch: 0,
      since: 0,
    })
    .onConflict((conflict) =>
      conflict.columns(["thread", "scope", "subject", "agent"]).doUpdateSet((eb) => ({
        first_at: eb
          .case()
          .when("memory_work.first_at", "=", 0)
          .then(now)
          .else(eb.ref("memory_work.first_at"))
          .end(),
        due_at: eb
          .case()
          // A model that fails is not asked sooner because people go on speaking.
          .when(eb.and([eb("memory_work.attempts", ">", 0), eb("memory_work.due_at", ">", soon)]))
          .then(eb.ref("memory_work.due_at"))
          .when("memory_work.first_at", "=", 0)
          .then(Math.min(soon, now + mostMs))
          .when(eb("memory_work.first_at", "<", soon - mostMs))
          .then(eb("memory_work.first_at", "+", mostMs))
          .else(soon)
          .end(),
        touches: eb("memory_work.touches", "+", 1),
        correction: either(eb.ref("memory_work.correction"), correction),
        reinforcement: either(eb.ref("memory_work.reinforcement"), reinforcement),
        // What was given up is tried again.
        attempts: eb
          .case()
          .when("memory_work.first_at", "=", 0)
          .then(0)
          .else(eb.ref("memory_work.attempts"))
          .end(),
      })),
    )
    .execute();
}

function flag(signals: readonly MemorySignal[], signal: MemorySignal): number {
  return signals.includes(signal) ? 1 : 0;
}

/** What stood there stays: what a signal says holds until the thread has been gone through. */
function either<Column>(before: Column, now: number): Column | number {
  return now === 1 ? 1 : before;
}

/** A thread that is being gone through. */
export type BegunWork = {
  readonly owner: FactOwner;
  readonly thread: ThreadId;
  readonly chat: ChatId;
  readonly after: string;
  readonly signals: readonly MemorySignal[];
  /** How often it was begun, this time included. */
  readonly attempt: number;
  readonly firstAt: number;
  readonly touches: number;
  readonly epoch: number;
  /** Until then (epoch ms) nobody else begins with it. */
  readonly heldUntil: number;
};

/** No model is waited for so long: whoever began before that is gone, or has stalled. */
const HELD_MS = 4 * 60_000;

/** When a thread can be gone through: not while somebody is at it. */
const freeAt = sql<number>`case when held_until > due_at then held_until else due_at end`;

/** Whose threads are to be gone through, of which chat, and when; epoch ms. */
export async function openMemory(
  db: Queries,
): Promise<readonly { readonly owner: FactOwner; readonly chat: ChatId; readonly at: number }[]> {
  const rows = await db
    .selectFrom("memory_work")
    .select((eb) => ["scope", "channel", "subject", "agent", "chat_id as chat", eb.fn.min(freeAt).as("at")])
    .where("due_at", ">", 0)
    .groupBy(["scope", "channel", "subject", "agent", "chat_id"])
    .execute();
  return rows.map(({ at, chat, ...owner }) => ({ owner, chat, at }));
}

/** Whose threads of a chat with an agent are to be gone through. */
export async function ownersWaiting(db: Queries, chat: ChatId, agent: string): Promise<readonly FactOwner[]> {
  return await db
    .selectFrom("memory_work")
    .select(["scope", "channel", "subject", "agent"])
    .distinct()
    .where("chat_id", "=", chat)
    .where("agent", "=", agent)
    .where("due_at", ">", 0)
    .execute();
}

/** When the next thread of an owner is due; undefined where none waits. */
export async function nextDue(db: Queries, owner: FactOwner): Promise<number | undefined> {
  const row = await db
    .selectFrom("memory_work")
    .select(freeAt.as("at"))
    .where(isOwners(owner))
    .where("due_at", ">", 0)
    .orderBy("at")
    .limit(1)
    .executeTakeFirst();
  return row?.at;
}

/**
 * Begins with the thread of an owner that is due longest and that nobody is at, the attempt counted: what ends the process in
 * it is not begun for ever. Without `due` (epoch ms) each that waits is.
 */
export async function beginWork(
  database: Database,
  owner: FactOwner,
  { due = Infinity, now }: { readonly due?: number; readonly now: number },
): Promise<BegunWork | undefined> {
  return await database.light(async (trx) => {
    const row = await trx
      .selectFrom("memory_work")
      .selectAll()
      .where(isOwners(owner))
      .where("due_at", ">", 0)
      .where("due_at", "<=", Math.min(due, Number.MAX_SAFE_INTEGER))
      .where("held_until", "<=", now)
      .orderBy("due_at")
      .limit(1)
      .$if(database.dialect === "postgres", (query) => query.forUpdate())
      .executeTakeFirst();
    if (!row) return undefined;
    const heldUntil = now + HELD_MS;
    await trx
      .updateTable("memory_work")
      // Turns from now on are the first of the next time.
      .set({ attempts: row.attempts + 1, first_at: now, held_until: heldUntil })
      .where(isRow({ owner, thread: row.thread }))
      .execute();
    return {
      owner,
      thread: row.thread,
      chat: row.chat_id,
      after: row.after,
      signals: [
        ...(row.correction === 1 ? (["correction"] as const) : []),
        ...(row.reinforcement === 1 ? (["reinforcement"] as const) : []),
      ],
      attempt: row.attempts + 1,
      firstAt: row.first_at,
      touches: row.touches,
      epoch: row.epoch,
      heldUntil,
    };
  });
}

/** What is not done now: it was given back by us, or has failed and is tried again. */
export async function putOff(
  database: Database,
  work: BegunWork,
  { until, counted }: { readonly until: number; readonly counted: boolean },
): Promise<void> {
  await database.db
    .updateTable("memory_work")
    .set({ due_at: until, attempts: counted ? work.attempt : work.attempt - 1, held_until: 0 })
    .where(isRow(work))
    .where("epoch", "=", work.epoch)
    .where("held_until", "=", work.heldUntil)
    .execute();
}

/** It is not tried again before the next turn; where there was one meanwhile, with that. */
export async function giveUp(database: Database, work: BegunWork): Promise<void> {
  await database.db
    .updateTable("memory_work")
    .set((eb) => ({
      due_at: eb.case().when("touches", "=", work.touches).then(0).else(eb.ref("due_at")).end(),
      first_at: eb.case().when("touches", "=", work.touches).then(0).else(eb.ref("first_at")).end(),
      attempts: 0,
      held_until: 0,
    }))
    .where(isRow(work))
    .where("epoch", "=", work.epoch)
    .where("held_until", "=", work.heldUntil)
    .execute();
}

/**
 * Commits what was distilled and moves the watermark with it, on the facts as they stand then. Gives whether it was taken:
 * after `/forget` it is not, nor where somebody else has begun with it since.
 */
export async function finishWork(
  database: Database,
  work: BegunWork,
  done: {
    readonly upTo: string;
    readonly more: boolean;
    readonly now: number;
    /** Pure. Of what was said until `since`, nothing is to come back. */
    readonly decide: (facts: readonly Fact[], since: number) => FactChanges;
  },
): Promise<boolean> {
  const { owner, thread } = work;
  const { upTo, more, now } = done;
  // What a power cut takes back is done again, the watermark with it.
  return await database.light(async (trx) => {
    // All of the owner's: one process at a time changes what is remembered of them.
    const rows = await trx
      .selectFrom("memory_work")
      .select(["thread", "epoch", "touches", "since", "held_until"])
      .where(isOwners(owner))
      .orderBy("thread")
      .$if(database.dialect === "postgres", (query) => query.forUpdate())
      .execute();
    const row = rows.find((each) => each.thread === thread);
    if (row?.held_until !== work.heldUntil) return false;
    if (row.epoch !== work.epoch) {
      // It is begun anew at once, on what is left.
      await trx.updateTable("memory_work").set({ held_until: 0 }).where(isRow(work)).execute();
      return false;
    }
    await changeFacts(trx, owner, thread, now, (facts) => done.decide(facts, row.since));
    const quiet = row.touches === work.touches;
    await trx
      .updateTable("memory_work")
      .set({
        after: upTo,
        attempts: 0,
        held_until: 0,
        ...(more
          ? { due_at: now }
          : quiet
            ? { due_at: 0, first_at: 0, correction: 0, reinforcement: 0 }
            : {}),
      })
      .where(isRow(work))
      .execute();
    return true;
  });
}

function isRow({ owner, thread }: Pick<BegunWork, "owner" | "thread">) {
  return sql<SqlBool>`thread = ${thread} and ${isOwners(owner)}`;
}
