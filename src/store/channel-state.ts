import type { ChannelState } from "../core/channel.ts";
import type { ChannelId } from "../core/identity.ts";
import type { Database } from "./database.ts";

// SQLite takes 32,766 bound values in one statement (SQLITE_MAX_VARIABLE_NUMBER); three stand in a row.
const ROWS_IN_STATEMENT = 5_000;

/** The durable values of one connection, as `ChannelHost.state` hands them out. */
export function channelState(database: Database, channel: ChannelId): ChannelState {
  const { db } = database;
  return {
    async get(keys) {
      const found = new Map<string, string>();
      for (let from = 0; from < keys.length; from += ROWS_IN_STATEMENT) {
        const rows = await db
          .selectFrom("channel_state")
          .select(["key", "value"])
          .where("channel", "=", channel)
          .where("key", "in", keys.slice(from, from + ROWS_IN_STATEMENT))
          .execute();
        for (const { key, value } of rows) found.set(key, value);
      }
      return found;
    },
    async set(entries) {
      const kept = Object.entries(entries).flatMap(([key, value]) =>
        value === undefined ? [] : [{ channel, key, value }],
      );
      const dropped = Object.keys(entries).filter((key) => entries[key] === undefined);
      await db.transaction().execute(async (trx) => {
        for (let from = 0; from < kept.length; from += ROWS_IN_STATEMENT) {
          await trx
            .insertInto("channel_state")
            .values(kept.slice(from, from + ROWS_IN_STATEMENT))
            .onConflict((conflict) =>
              conflict.columns(["channel", "key"]).doUpdateSet((eb) => ({ value: eb.ref("excluded.value") })),
            )
            .execute();
        }
        for (let from = 0; from < dropped.length; from += ROWS_IN_STATEMENT) {
          await trx
            .deleteFrom("channel_state")
            .where("channel", "=", channel)
            .where("key", "in", dropped.slice(from, from + ROWS_IN_STATEMENT))
            .execute();
        }
      });
    },
    async list(prefix, { after, limit }) {
      const rows = await db
        .selectFrom("channel_state")
        .select(["key", "value"])
        .where("channel", "=", channel)
        .where("key", ">=", prefix)
        // U+10FFFF sorts after every other character in UTF-8, so this is the end of the prefix.
        .where("key", "<", `${prefix}\u{10ffff}`)
        .$if(after !== undefined, (query) => query.where("key", ">", after ?? ""))
        .orderBy("key")
        .limit(limit)
        .execute();
      return rows.map(({ key, value }) => [key, value] as const);
    },
  };
}
