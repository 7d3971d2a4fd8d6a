import type { BoundNow, Measure, SpentBudget } from "../core/budget.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Queries } from "./tables.ts";

/** How much more is used of one thing that is bounded; less than 0 where a guess was too much. */
export type Charge = { readonly bound: BoundNow; readonly amount: number };

/** A bound, and what was used of it until now. */
export type Counted = {
  readonly bound: BoundNow;
  readonly used: number;
  readonly warned: boolean;
  readonly lifted: boolean;
};

/**
 * Counts what is used, all of it in one statement, and gives how much that is now, in the order of the charges.
 */
export async function charge(trx: Queries, charges: readonly Charge[]): Promise<readonly Counted[]> {
  if (charges.length === 0) return [];
  const rows = await trx
    .insertInto("use_count")
    .values(inOrder(charges).map(({ bound, amount }) => ({ ...keyOf(bound), used: Math.round(amount) })))
    .onConflict((conflict) =>
      conflict
        .columns([...KEY])
        .doUpdateSet((eb) => ({ used: eb("use_count.used", "+", eb.ref("excluded.used")) })),
    )
    .returningAll()
    .execute();
  return joined(
    charges.map(({ bound }) => bound),
    rows,
  );
}

/** What is used now; nothing is written. */
export async function countsOf(trx: Queries, bounds: readonly BoundNow[]): Promise<readonly Counted[]> {
  if (bounds.length === 0) return [];
  const rows = await trx
    .selectFrom("use_count")
    .selectAll()
    .where((eb) => eb.or(bounds.map((bound) => eb.and(keyOf(bound)))))
    .execute();
  return joined(bounds, rows);
}

/**
 * The first budget that there is nothing left of, as far as it stops anybody. `counted` says how much of what was counted
 * is new: a budget is spent when nothing was left of it before that.
 */
export function firstSpent(
  counted: readonly Counted[],
  added: (bound: BoundNow) => number = () => 0,
): SpentBudget | undefined {
  const found = counted.find(
    ({ bound, used, lifted }) => !bound.free && !lifted && used - added(bound) >= bound.limit,
  );
  return found && spentOf(found);
}

/** The first budget that has become too small by what was counted, as far as it stops anybody. */
export function firstExceeded(counted: readonly Counted[]): SpentBudget | undefined {
  const found = counted.find(({ bound, used, lifted }) => !bound.free && !lifted && used > bound.limit);
  return found && spentOf(found);
}

function spentOf({ bound: { scope, subject, measure, limit, from, until } }: Counted): SpentBudget {
  return { scope, subject, measure, limit, from, until };
}

/** Notes down that it is told how little is left of these; gives those that nobody was told of before. */
export async function markWarned(trx: Queries, counted: readonly Counted[]): Promise<readonly Counted[]> {
  const marked = new Set<Counted>();
  for (const each of inOrder(counted)) {
    const { numUpdatedRows } = await trx
      .updateTable("use_count")
      .set({ warned: 1 })
      .where((eb) => eb.and(keyOf(each.bound)))
      .where("warned", "=", 0)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows > 0n) marked.add(each);
  }
  return counted.filter((each) => marked.has(each));
}

/** Has these pass until their hour, day or month is over. */
export async function liftBounds(trx: Queries, bounds: readonly BoundNow[]): Promise<void> {
  if (bounds.length === 0) return;
  await trx
    .insertInto("use_count")
    .values(inOrder(bounds.map((bound) => ({ bound }))).map(({ bound }) => ({ ...keyOf(bound), lifted: 1 })))
    .onConflict((conflict) => conflict.columns([...KEY]).doUpdateSet({ lifted: 1 }))
    .execute();
}

/** Whether a turn of these messages counts already: it was begun before, and something ended it. */
export async function isCounted(trx: Queries, messages: readonly number[]): Promise<boolean> {
  const row = await trx
    .selectFrom("inbox")
    .select("id")
    .where("id", "in", messages)
    .where("counted", "=", 1)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export async function markCounted(trx: Queries, messages: readonly number[]): Promise<void> {
  await trx.updateTable("inbox").set({ counted: 1 }).where("id", "in", messages).execute();
}

/** Whether a person was told in this chat, between two times (epoch ms), that a budget is spent. */
export async function wasTold(
  trx: Queries,
  of: { readonly channel: ChannelId; readonly chat: ChatId; readonly person: string },
  between: { readonly from: number; readonly until: number },
): Promise<boolean> {
  const row = await trx
    .selectFrom("turn")
    .innerJoin("inbox", "inbox.turn_id", "turn.id")
    .innerJoin("piece", "piece.turn_id", "turn.id")
    .select("turn.id")
    .where("inbox.channel", "=", of.channel)
    .where("inbox.sender", "=", of.person)
    .where("inbox.chat_id", "=", of.chat)
    .where("turn.error", "=", "budget.spent")
    .where("turn.ended_at", ">=", between.from)
    .where("turn.ended_at", "<=", between.until)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** A person has another id from now on, or a chat another number: what both have used is theirs. */
export async function moveUse(
  trx: Queries,
  of: {
    readonly scope: "person" | "chat";
    readonly channel: ChannelId;
    readonly from: string;
    readonly to: string;
  },
): Promise<void> {
  const rows = await trx
    .deleteFrom("use_count")
    .where("scope", "=", of.scope)
    .where("channel", "=", of.channel)
    .where("subject", "=", of.from)
    .returningAll()
    .execute();
  for (const row of rows) {
    await trx
      .insertInto("use_count")
      .values({ ...row, subject: of.to })
      .onConflict((conflict) =>
        conflict.columns([...KEY]).doUpdateSet((eb) => ({
          used: eb("use_count.used", "+", row.used),
          // What was told, or lifted, under either stays so.
          ...(row.warned === 1 ? { warned: 1 } : {}),
          ...(row.lifted === 1 ? { lifted: 1 } : {}),
        })),
      )
      .execute();
  }
}

/** The longest part of the calendar that is counted in. */
const MONTH_MS = 31 * 24 * 3_600_000;

/** Forgets what was used in hours, days and months that were over before `before` (epoch ms). */
export async function pruneCounts(trx: Queries, before: number): Promise<void> {
  await trx
    .deleteFrom("use_count")
    .where("from_at", "<", before - MONTH_MS)
    .execute();
}

const KEY = ["scope", "channel", "subject", "measure", "from_at"] as const;

/** The order in which all lock rows: of two that name them otherwise, each would wait for the other. */
function inOrder<Of extends { readonly bound: BoundNow }>(all: readonly Of[]): readonly Of[] {
  const name = ({ bound }: Of): string => nameOf(keyOf(bound));
  return all.toSorted((one, other) => (name(one) < name(other) ? -1 : 1));
}

type Key = {
  readonly scope: BoundNow["scope"];
  readonly channel: ChannelId;
  readonly subject: string;
  readonly measure: Measure;
  readonly from_at: number;
};

function keyOf({ scope, channel, subject, measure, from }: BoundNow): Key {
  return { scope, channel, subject, measure, from_at: from };
}

function nameOf({ scope, channel, subject, measure, from_at }: Key): string {
  return JSON.stringify([scope, channel, subject, measure, from_at]);
}

function joined(
  bounds: readonly BoundNow[],
  rows: readonly (Key & { readonly used: number; readonly warned: number; readonly lifted: number })[],
): readonly Counted[] {
  const byName = new Map(rows.map((row) => [nameOf(row), row]));
  return bounds.map((bound) => {
    const row = byName.get(nameOf(keyOf(bound)));
    return {
      bound,
      used: row?.used ?? 0,
      warned: row?.warned === 1,
      lifted: row?.lifted === 1,
    };
  });
}
