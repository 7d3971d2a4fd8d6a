import type { ColumnDefinitionBuilder } from "kysely";
import type { Migration } from "../migration.ts";

const zero = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo(0);
const empty = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo("");

/**
 * What becomes of a message that comes while a turn runs, and what whoever waits was shown; who has the agent keep still in
 * a chat.
 */
export const waiting: Migration = {
  version: 8,
  name: "waiting",
  async up(trx) {
    const { schema } = trx;
    await schema.alterTable("chat").addColumn("during", "text", empty).execute();
    await schema.alterTable("chat").addColumn("full_told", "bigint", zero).execute();
    await schema.alterTable("inbox").addColumn("during", "text", empty).execute();
    await schema.alterTable("inbox").addColumn("characters", "bigint", zero).execute();
    await schema.alterTable("inbox").addColumn("window", "text", empty).execute();
    await schema.alterTable("inbox").addColumn("sign", "bigint", zero).execute();
    await schema.alterTable("inbox").addColumn("left_out", "integer", zero).execute();
    await schema.alterTable("chat").addColumn("paused_by", "text", empty).execute();
    await schema.alterTable("chat").addColumn("paused_at", "bigint", zero).execute();
    await schema.alterTable("chat").addColumn("paused_epoch", "bigint", zero).execute();
  },
};
