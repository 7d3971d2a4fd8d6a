import type { ColumnDefinitionBuilder } from "kysely";
import type { Migration } from "../migration.ts";

const required = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull();
const empty = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo("");

/** What a person is told of an attachment that is no use, and by which number a group's members are known. */
export const notices: Migration = {
  version: 3,
  name: "notices",
  async up({ schema }, { key }) {
    await schema.alterTable("attachment").addColumn("notice", "text", empty).execute();
    await schema.alterTable("attachment").addColumn("notice_values", "text", empty).execute();
    await schema
      .createTable("speaker")
      .addColumn("chat_id", "bigint", required)
      .addColumn("person", key, required)
      .addColumn("n", "bigint", required)
      .addPrimaryKeyConstraint("speaker_key", ["chat_id", "person"])
      .execute();
  },
};
