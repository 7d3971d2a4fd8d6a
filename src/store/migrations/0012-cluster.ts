import type { ColumnDefinitionBuilder } from "kysely";
import type { Migration } from "../migration.ts";

const zero = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo(0);
const empty = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo("");

/** What many processes on one database need: whose each piece of work is, and until when without another word of them. */
export const cluster: Migration = {
  version: 12,
  name: "cluster",
  async up(trx) {
    const { schema } = trx;
    await schema.alterTable("chat").addColumn("stop_epoch", "bigint", zero).execute();
    await schema.alterTable("chat").addColumn("deliver_owner", "text", empty).execute();
    await schema.alterTable("chat").addColumn("deliver_epoch", "bigint", zero).execute();
    await schema.alterTable("chat").addColumn("deliver_until", "bigint", zero).execute();
    for (const table of ["attachment", "background_task"] as const) {
      await schema.alterTable(table).addColumn("owner", "text", empty).execute();
      await schema.alterTable(table).addColumn("until", "bigint", zero).execute();
    }
    await schema.alterTable("memory_work").addColumn("held_until", "bigint", zero).execute();
    await schema.alterTable("schema_version").addColumn("bears", "bigint").execute();
  },
};
