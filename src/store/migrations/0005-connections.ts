import { type ColumnDefinitionBuilder, sql } from "kysely";
import type { Migration } from "../migration.ts";

const required = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull();
const zero = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo(0);

/** What a connection with an account of its own needs: values that may be forgotten, and who may be it. */
export const connections: Migration = {
  version: 5,
  name: "connections",
  async up(trx, { key }) {
    await trx.schema.alterTable("channel_state").addColumn("until", "bigint", zero).execute();
    await sql`create index channel_state_until on channel_state (until) where until > 0`.execute(trx);
    await trx.schema
      .createTable("channel_lease")
      .addColumn("channel", key, (column) => column.primaryKey())
      .addColumn("owner", key, required)
      .addColumn("epoch", "bigint", required)
      .addColumn("until", "bigint", required)
      .execute();
  },
};
