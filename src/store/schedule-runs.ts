import type { Selectable, Transaction } from "kysely";
import type { ScheduledEvent } from "../core/events.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { HeldWhy } from "../core/schedules.ts";
import { MOST_NOTES, trimAsides } from "./asides.ts";
import { currentThread } from "./chats.ts";
import type { Database } from "./database.ts";
import { insertEvent, openIntent } from "./inbox.ts";
import { isActiveSchedule, isOpenMessage } from "./open-rows.ts";
import type { ScheduleRow } from "./schedule-tables.ts";
import type { Queries, Tables } from "./tables.ts";
import { giveUnaskedBack, takeUnasked } from "./unasked.ts";

/** A schedule as it stands, for whoever works on it: what it writes is taken only while it still stands so. */
export type DueSchedule = Selectable<ScheduleRow>;

export async function activeSchedule({ db }: Database, id: number): Promise<DueSchedule | undefined> {
  return await db
    .selectFrom("schedule")
    .selectAll()
    .where("id", "=", id)
    .where(isActiveSchedule)
    .executeTakeFirst();
}

/** Schedules that are due until then (epoch ms), and when; also those that were last due later, for the clock was set back. */
export async function openSchedules(
  { db }: Database,
  until: number,
): Promise<readonly { readonly id: number; readonly at: number }[]> {
  return await db
    .selectFrom("schedule")
    .select(["id", "next_at as at"])
    .where(isActiveSchedule)
    .where((eb) => eb.or([eb("next_at", "<=", until), eb("last_at", ">", until)]))
    .execute();
}

/** Where a platform finds the chat of one of the operator's schedules; undefined while nobody has written there. */
export async function metChat(
  { db }: Database,
  { channel, to_chat: chat, to_topic: topic }: DueSchedule,
): Promise<{ readonly chat: ChatId; readonly kind: "private" | "group" } | undefined> {
  return await db
    .selectFrom("address")
    .innerJoin("chat", "chat.id", "address.chat_id")
    .select(["chat.id as chat", "chat.kind"])
    .where("address.channel", "=", channel)
    .where("address.chat", "=", chat)
    .where("address.topic", "=", topic)
    .executeTakeFirst();
}

/**
 * "changed" where somebody else was faster or it was changed meanwhile: then nothing is written. "busy" where an earlier time of
 * it is not done yet, "capped" where the chat has had all unasked messages of the day.
 */
export type Fired = "fired" | "changed" | "busy" | "capped";

/**
 * A time of a schedule becomes a message, and the schedule is due next, in one transaction: whoever dies before or after it,
 * and however many workers come, it is done once.
 */
export async function fireSchedule(
  database: Database,
  row: DueSchedule,
  by: {
    readonly channel: ChannelId;
    readonly chat: ChatId;
    readonly agent: string;
    readonly event: ScheduledEvent;
    /** When it is due next; undefined where that was the last time. */
    readonly next: number | undefined;
    readonly perDay: number;
    /** When a time that is the last one is tried again, where the day has had its messages. */
    readonly laterAt: number;
    readonly now: number;
  },
): Promise<Fired> {
  const { channel, chat, agent, event, next, now } = by;
  return await database.db.transaction().execute(async (trx) => {
    if (!(await isUnchanged(trx, database, row))) return "changed";
    if (await isOpen(trx, row.last_inbox)) {
      await moveOn(trx, row, { next, chat });
      return "busy";
    }
    const thread = await currentThread(trx, chat, agent);
    const message = {
      channel,
      chat,
      key: event.id,
      type: event.type,
      payload: JSON.stringify(event),
      payloadHash: "",
      contentHash: "",
      sender: "",
      ref: "",
      why: "",
      agent,
      thread,
      intent: 0,
      album: "",
      receivedAt: now,
      dueAt: now,
    };
    const of = { schedule: row.id, name: event.schedule.name, due: event.sentAt, missed: event.missed };
    if (!(await takeUnasked(trx, { chat, day: event.day, most: by.perDay }))) {
      if (next === undefined) {
        await putOff(trx, row.id, { at: by.laterAt, held: "cap" });
        return "capped";
      }
      // It is not made up for, but the agent gets to know that it was left out.
      const why = `no more unasked messages on ${event.day}`;
      await insertEvent(trx, {
        ...message,
        why,
        state: "aside",
        trace: { at: now, step: "left out", why, ...of },
      });
      await trimAsides(trx, chat, { type: "scheduled", keep: MOST_NOTES, why: "newer ones came", now });
      await moveOn(trx, row, { next, chat, held: "cap" });
      return "capped";
    }
    const id = await insertEvent(trx, {
      ...message,
      state: "waiting",
      trace: { at: now, step: "due", ...of },
    });
    if (id === undefined) {
      // It was done at that time before the clock was set back.
      await giveUnaskedBack(trx, { chat, day: event.day });
      await moveOn(trx, row, { next, chat });
      return "changed";
    }
    await openIntent(trx, id);
    await moveOn(trx, row, { next, chat, held: "", fired: { id, now } });
    return "fired";
  });
}

/** It is tried again at `at` (epoch ms); what it is due for stays. */
export async function putScheduleOff(
  database: Database,
  row: DueSchedule,
  to: { readonly at: number; readonly held: HeldWhy },
): Promise<boolean> {
  return await database.db.transaction().execute(async (trx) => {
    if (!(await isUnchanged(trx, database, row))) return false;
    await putOff(trx, row.id, to);
    return true;
  });
}

/** This time is left out, and nobody is told. */
export async function leaveScheduleOut(
  database: Database,
  row: DueSchedule,
  to: { readonly next: number; readonly held: HeldWhy },
): Promise<boolean> {
  return await database.db.transaction().execute(async (trx) => {
    if (!(await isUnchanged(trx, database, row))) return false;
    await moveOn(trx, row, to);
    return true;
  });
}

/** The clock was set back to `now`, and what is to come is as far away as it was wrong: from now on it is `next` (epoch ms). */
export async function reckonAnew(
  database: Database,
  row: DueSchedule,
  { next, now }: { readonly next: number; readonly now: number },
): Promise<void> {
  await database.db.transaction().execute(async (trx) => {
    if (!(await isUnchanged(trx, database, row))) return;
    await trx
      .updateTable("schedule")
      .set({ due_at: next, next_at: next, last_at: now })
      .where("id", "=", row.id)
      .execute();
  });
}

async function isUnchanged(
  trx: Transaction<Tables>,
  { dialect }: Database,
  { id, due_at, next_at, spec }: DueSchedule,
): Promise<boolean> {
  const row = await trx
    .selectFrom("schedule")
    .select("id")
    .where("id", "=", id)
    .where("due_at", "=", due_at)
    .where("next_at", "=", next_at)
    .where("spec", "=", spec)
    .where(isActiveSchedule)
    .$if(dialect === "postgres", (query) => query.forUpdate())
    .executeTakeFirst();
  return row !== undefined;
}

async function isOpen(trx: Queries, message: number): Promise<boolean> {
  const row = await trx
    .selectFrom("inbox")
    .select("id")
    .where("id", "=", message)
    .where(isOpenMessage)
    .executeTakeFirst();
  return row !== undefined;
}

async function putOff(
  trx: Queries,
  id: number,
  { at, held }: { readonly at: number; readonly held: HeldWhy },
): Promise<void> {
  await trx.updateTable("schedule").set({ next_at: at, held }).where("id", "=", id).execute();
}

async function moveOn(
  trx: Queries,
  row: DueSchedule,
  to: {
    readonly next: number | undefined;
    readonly chat?: ChatId;
    readonly held?: HeldWhy | "";
    readonly fired?: { readonly id: number; readonly now: number };
  },
): Promise<void> {
  const { next, chat, held, fired } = to;
  await trx
    .updateTable("schedule")
    .set({
      ...(next === undefined
        ? { state: "done" as const, next_at: row.due_at }
        : { due_at: next, next_at: next }),
      ...(chat === undefined ? {} : { chat_id: chat }),
      ...(held === undefined ? {} : { held }),
      ...(fired === undefined ? {} : { last_at: fired.now, fires: row.fires + 1, last_inbox: fired.id }),
    })
    .where("id", "=", row.id)
    .execute();
}
