import type { ColumnDefinitionBuilder } from "kysely";
import type { Migration } from "../migration.ts";

const required = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull();
const zero = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo(0);
const empty = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo("");

/** How much was used of what is bounded, and who is the reason for it. */
export const budgets: Migration = {
  version: 9,
  name: "budgets",
  async up({ schema }, { key }) {
    await schema
      .createTable("use_count")
      .addColumn("scope", key, required)
      .addColumn("channel", key, required)
      .addColumn("subject", key, required)
      .addColumn("measure", key, required)
      .addColumn("from_at", "bigint", required)
      .addColumn("used", "bigint", zero)
      .addColumn("warned", "bigint", zero)
      .addColumn("lifted", "bigint", zero)
      .addPrimaryKeyConstraint("use_count_key", ["scope", "channel", "subject", "measure", "from_at"])
      .execute();
    await schema.createIndex("use_count_from").on("use_count").column("from_at").execute();
    await schema.alterTable("inbox").addColumn("counted", "bigint", zero).execute();
    await schema.alterTable("background_task").addColumn("person", "text", empty).execute();
    await schema.alterTable("background_task").addColumn("by_owner", "bigint", zero).execute();
  },
};
