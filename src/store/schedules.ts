import type { Selectable } from "kysely";
import type { ChatAddress, ChatId } from "../core/identity.ts";
import type { Schedule, ScheduleRule, When } from "../core/schedules.ts";
import type { Database } from "./database.ts";
import { keepStill } from "./holds.ts";
import { isActiveSchedule } from "./open-rows.ts";
import { outcomeOf } from "./schedule-outcomes.ts";
import type { ScheduleRow } from "./schedule-tables.ts";
import type { Queries } from "./tables.ts";

/** Of what is over, so many are listed. */
const MOST_DONE = 10;

/** Where an agent makes a schedule, and who asked for it. */
export type ScheduleOrigin = {
  readonly chat: ChatId;
  readonly to: ChatAddress;
  readonly agent: string;
  readonly person: string;
};

export type NewSchedule = {
  readonly name: string;
  readonly when: When;
  readonly timeZone: string;
  readonly prompt: string;
  /** Epoch ms. */
  readonly dueAt: number;
};

/** "taken" where one that is to come has the name; "too many" where as many are to come as may. One that is over gives its name up. */
export async function insertSchedule(
  database: Database,
  { chat, to, agent, person }: ScheduleOrigin,
  made: NewSchedule,
  { most, now }: { readonly most: number; readonly now: number },
): Promise<{ readonly schedule: Schedule } | { readonly refused: "taken" | "too many" }> {
  return await database.db.transaction().execute(async (trx) => {
    await keepStill(trx, chat); // two that are made at once have two names, and are counted
    const there = await trx
      .selectFrom("schedule")
      .select(["id", "name", "state"])
      .where("origin", "=", "agent")
      .where("chat_id", "=", chat)
      .execute();
    const active = there.filter(({ state }) => state === "active");
    if (active.some(({ name }) => name === made.name)) return { refused: "taken" };
    if (active.length >= most) return { refused: "too many" };
    const over = there.filter(({ name }) => name === made.name).map(({ id }) => id);
    if (over.length > 0) await trx.deleteFrom("schedule").where("id", "in", over).execute();
    const row = await trx
      .insertInto("schedule")
      .values({
        ...FRESH,
        ...whenColumns(made.when),
        origin: "agent",
        name: made.name,
        channel: to.channel,
        to_chat: to.chat,
        to_topic: to.topic ?? "",
        chat_id: chat,
        agent,
        person,
        time_zone: made.timeZone,
        prompt: made.prompt,
        state: "active",
        due_at: made.dueAt,
        next_at: made.dueAt,
        created_at: now,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    return { schedule: await toSchedule(trx, row) };
  });
}

const FRESH = { held: "", last_inbox: 0, last_at: 0, fires: 0 } as const;

/**
 * Makes the operator's schedules what perch.yaml says: new ones are made, those that are gone there go, and one that is due at
 * other times begins anew with the first of them. `next` gives that (epoch ms), or nothing where it is over.
 */
export async function takeUpSchedules(
  database: Database,
  rules: ReadonlyMap<string, ScheduleRule>,
  { next, now }: { readonly next: (rule: ScheduleRule) => number | undefined; readonly now: number },
): Promise<void> {
  await database.db.transaction().execute(async (trx) => {
    const rows = await trx.selectFrom("schedule").selectAll().where("origin", "=", "operator").execute();
    const known = new Map(rows.map((row) => [row.name, row]));
    const gone = rows.filter(({ name }) => !rules.has(name)).map(({ id }) => id);
    if (gone.length > 0) await trx.deleteFrom("schedule").where("id", "in", gone).execute();
    for (const [name, rule] of rules) {
      const row = known.get(name);
      const columns = {
        ...whenColumns(rule.when),
        channel: rule.channel,
        to_chat: rule.chat,
        to_topic: rule.topic ?? "",
        agent: rule.agent ?? "",
        time_zone: rule.timeZone,
        prompt: rule.prompt,
      };
      const same =
        row && row.kind === columns.kind && row.spec === columns.spec && row.time_zone === columns.time_zone;
      const times = same ? {} : timesOf(next(rule), now);
      if (row)
        await trx
          .updateTable("schedule")
          .set({ ...columns, ...times })
          .where("id", "=", row.id)
          .execute();
      else
        await trx
          .insertInto("schedule")
          .values({
            ...FRESH,
            ...columns,
            ...timesOf(next(rule), now),
            origin: "operator",
            name,
            chat_id: 0,
            person: "",
            created_at: now,
          })
          // Another process that has read the same file was faster.
          .onConflict((conflict) => conflict.doNothing())
          .execute();
    }
  });
}

function timesOf(dueAt: number | undefined, now: number): Pick<Row, "state" | "due_at" | "next_at" | "held"> {
  return dueAt === undefined
    ? { state: "done", due_at: now, next_at: now, held: "past" }
    : { state: "active", due_at: dueAt, next_at: dueAt, held: "" };
}

/** Who had it made, by the platform's id; "" for the operator, and where it is gone. */
export async function personOfSchedule(trx: Queries, id: number): Promise<string> {
  const row = await trx.selectFrom("schedule").select("person").where("id", "=", id).executeTakeFirst();
  return row?.person ?? "";
}

/** Ends one that was made in a chat; `by` is its number there or its name. The operator's are not ended so. */
export async function cancelSchedule(
  trx: Queries,
  chat: ChatId,
  by: { readonly number: number } | { readonly name: string },
): Promise<Schedule | undefined> {
  const row = await trx
    .deleteFrom("schedule")
    .where("origin", "=", "agent")
    .where("chat_id", "=", chat)
    .where(isActiveSchedule)
    .$if("number" in by, (query) => query.where("id", "=", "number" in by ? by.number : 0))
    .$if("name" in by, (query) => query.where("name", "=", "name" in by ? by.name : ""))
    .returningAll()
    .executeTakeFirst();
  return row && (await toSchedule(trx, row));
}

/** What is to come in a chat, the operator's as well, and what lately was. */
export async function schedulesIn(db: Queries, chat: ChatId): Promise<readonly Schedule[]> {
  const rows = await db
    .selectFrom("schedule")
    .selectAll()
    .where((eb) =>
      eb.or([
        eb("chat_id", "=", chat),
        eb.and([
          eb("origin", "=", "operator"),
          eb.exists(
            eb
              .selectFrom("address")
              .select("address.chat_id")
              .whereRef("address.channel", "=", "schedule.channel")
              .whereRef("address.chat", "=", "schedule.to_chat")
              .whereRef("address.topic", "=", "schedule.to_topic")
              .where("address.chat_id", "=", chat),
          ),
        ]),
      ]),
    )
    .orderBy("id")
    .execute();
  const over = rows.filter(({ state }) => state === "done").at(-MOST_DONE)?.id ?? 0;
  const told = rows.filter(({ state, id }) => state === "active" || id >= over);
  return await Promise.all(told.map((row) => toSchedule(db, row)));
}

/** All that there are, for the operator. */
export async function allSchedules({
  db,
}: Database): Promise<readonly (Schedule & { readonly channel: string; readonly chat: ChatId | 0 })[]> {
  const rows = await db.selectFrom("schedule").selectAll().orderBy("id").execute();
  return await Promise.all(
    rows.map(async (row) => ({
      ...(await toSchedule(db, row)),
      channel: row.channel,
      chat: row.chat_id,
    })),
  );
}

/** Forgets agents' schedules that were over before `before` (epoch ms), and what was counted then. */
export async function pruneSchedules(trx: Queries, before: number): Promise<void> {
  await trx
    .deleteFrom("schedule")
    .where("origin", "=", "agent")
    .where("state", "=", "done")
    .where("next_at", "<", before)
    .execute();
  // A day ends at most so long after it does in UTC; ISO dates sort as they follow each other.
  await trx.deleteFrom("unasked").where("day", "<", new Date(before).toISOString().slice(0, 10)).execute();
}

/** The schedules of a chat that another one takes over. */
export async function moveSchedules(
  trx: Queries,
  { from, into }: { readonly from: ChatId; readonly into: ChatId },
): Promise<void> {
  await trx.updateTable("schedule").set({ chat_id: into }).where("chat_id", "=", from).execute();
}

type Row = Selectable<ScheduleRow>;

function whenColumns(when: When): Pick<Row, "kind" | "spec"> {
  switch (when.kind) {
    case "cron":
      return { kind: "cron", spec: when.cron };
    case "every":
      return { kind: "every", spec: String(when.everyMs) };
    case "at":
      return { kind: "at", spec: String(when.at) };
  }
}

export function whenOf({ kind, spec }: Pick<Row, "kind" | "spec">): When {
  switch (kind) {
    case "cron":
      return { kind, cron: spec };
    case "every":
      return { kind, everyMs: Number(spec) };
    case "at":
      return { kind, at: Number(spec) };
  }
}

async function toSchedule(db: Queries, row: Row): Promise<Schedule> {
  return {
    number: row.id,
    name: row.name,
    by: row.origin,
    person: row.person,
    when: whenOf(row),
    timeZone: row.time_zone,
    prompt: row.prompt,
    active: row.state === "active",
    nextAt: row.next_at,
    lastAt: row.last_at,
    fires: row.fires,
    outcome: await outcomeOf(db, row),
  };
}
