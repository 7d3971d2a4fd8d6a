import type { ColumnDefinitionBuilder } from "kysely";
import type { Migration } from "../migration.ts";

const required = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull();
const zero = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo(0);

/** What an account that a person uses too needs: when they write, what came late, what was delivered, and several ids. */
export const account: Migration = {
  version: 6,
  name: "account",
  async up(trx, { key }) {
    const { schema } = trx;
    await schema.alterTable("chat").addColumn("paused_until", "bigint", zero).execute();
    await schema.alterTable("inbox").addColumn("digest", "bigint", zero).execute();
    await schema.alterTable("sent").addColumn("delivered_at", "bigint", zero).execute();
    await schema.alterTable("sent").addColumn("read_at", "bigint", zero).execute();
    await schema
      .createTable("alias")
      .addColumn("channel", key, required)
      .addColumn("alias", key, required)
      .addColumn("id", key, required)
      .addPrimaryKeyConstraint("alias_key", ["channel", "alias"])
      .execute();
    await schema.createIndex("alias_id").on("alias").columns(["channel", "id"]).execute();
  },
};
