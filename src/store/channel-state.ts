import { sql, type Transaction } from "kysely";
import type { ChannelState } from "../core/host.ts";
import type { ChannelId } from "../core/identity.ts";
import { type Holder, takeLease } from "./channel-lease.ts";
import type { Database } from "./database.ts";
import type { Tables } from "./tables.ts";

// SQLite takes 32,766 bound values in one statement (SQLITE_MAX_VARIABLE_NUMBER); four stand in a row.
const ROWS_IN_STATEMENT = 5_000;

/** The condition of the partial index, word for word; see open-rows.ts. */
const mayBeForgotten = sql<boolean>`until > 0`;

/** The durable values of one connection, as `ChannelHost.state` hands them out; `holder` is who takes its lease. */
export function channelState(database: Database, channel: ChannelId, holder: Holder): ChannelState {
  const { db } = database;
  const { clock } = holder;
  return {
    async get(keys) {
      const found = new Map<string, string>();
      const now = clock.now();
      for (const some of batches(keys)) {
        const rows = await db
          .selectFrom("channel_state")
          .select(["key", "value"])
          .where("channel", "=", channel)
          .where("key", "in", some)
          .where((eb) => eb.or([eb("until", "=", 0), eb("until", ">", now)]))
          .execute();
        for (const { key, value } of rows) found.set(key, value);
      }
      return found;
    },
    set: (entries, options) => db.transaction().execute((trx) => write(trx, channel, entries, options)),
    async list(prefix, { after, limit }) {
      const now = clock.now();
      const rows = await db
        .selectFrom("channel_state")
        .select(["key", "value"])
        .where("channel", "=", channel)
        .where("key", ">=", prefix)
        // U+10FFFF sorts after every other character in UTF-8, so this is the end of the prefix.
        .where("key", "<", `${prefix}\u{10ffff}`)
        .where((eb) => eb.or([eb("until", "=", 0), eb("until", ">", now)]))
        .$if(after !== undefined, (query) => query.where("key", ">", after ?? ""))
        .orderBy("key")
        .limit(limit)
        .execute();
      return rows.map(({ key, value }) => [key, value] as const);
    },
    lease: (ms) =>
      takeLease(database, channel, holder, ms, (trx, entries, options) =>
        write(trx, channel, entries, options),
      ),
  };
}

/** Removes values whose time is over; gives their number. `now` is epoch ms. */
export async function forgetValues({ db }: Database, now: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom("channel_state")
    .where(mayBeForgotten)
    .where("until", "<=", now)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

async function write(
  trx: Transaction<Tables>,
  channel: ChannelId,
  ...[entries, { until = 0 } = {}]: Parameters<ChannelState["set"]>
): Promise<void> {
  const kept = Object.entries(entries).flatMap(([key, value]) =>
    value === undefined ? [] : [{ channel, key, value, until }],
  );
  const dropped = Object.keys(entries).filter((key) => entries[key] === undefined);
  for (const some of batches(kept)) {
    await trx
      .insertInto("channel_state")
      .values(some)
      .onConflict((conflict) =>
        conflict
          .columns(["channel", "key"])
          .doUpdateSet((eb) => ({ value: eb.ref("excluded.value"), until: eb.ref("excluded.until") })),
      )
      .execute();
  }
  for (const some of batches(dropped)) {
    await trx.deleteFrom("channel_state").where("channel", "=", channel).where("key", "in", some).execute();
  }
}

function* batches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += ROWS_IN_STATEMENT)
    yield all.slice(from, from + ROWS_IN_STATEMENT);
}
