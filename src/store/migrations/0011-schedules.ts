import { type ColumnDefinitionBuilder, sql } from "kysely";
import type { Migration } from "../migration.ts";

const required = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull();
const empty = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo("");
const zero = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo(0);

/** What is done at a time though nobody writes, and how much of that a chat has had on a day. */
export const schedules: Migration = {
  version: 11,
  name: "schedules",
  async up({ schema }, columns) {
    const { id, key } = columns;
    const identity = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => columns.identity(column);
    await schema
      .createTable("schedule")
      .addColumn("id", id, identity)
      .addColumn("origin", key, required)
      .addColumn("name", key, required)
      .addColumn("channel", key, required)
      .addColumn("to_chat", key, required)
      .addColumn("to_topic", key, required)
      .addColumn("chat_id", "bigint", zero)
      .addColumn("agent", "text", empty)
      .addColumn("person", "text", empty)
      .addColumn("kind", "text", required)
      .addColumn("spec", "text", required)
      .addColumn("time_zone", "text", required)
      .addColumn("prompt", "text", required)
      .addColumn("state", "text", required)
      .addColumn("due_at", "bigint", required)
      .addColumn("next_at", "bigint", required)
      .addColumn("held", "text", empty)
      .addColumn("last_inbox", "bigint", zero)
      .addColumn("last_at", "bigint", zero)
      .addColumn("fires", "bigint", zero)
      .addColumn("created_at", "bigint", required)
      .execute();
    await schema
      .createIndex("schedule_active")
      .on("schedule")
      .column("next_at")
      .where(sql.ref("state"), "=", "active")
      .execute();
    // Two processes that read one perch.yaml make one row of each of its schedules.
    await schema
      .createIndex("schedule_operator")
      .on("schedule")
      .column("name")
      .unique()
      .where(sql.ref("origin"), "=", "operator")
      .execute();
    await schema.createIndex("schedule_chat").on("schedule").column("chat_id").execute();
    await schema
      .createTable("unasked")
      .addColumn("chat_id", "bigint", required)
      .addColumn("day", key, required)
      .addColumn("n", "bigint", required)
      .addPrimaryKeyConstraint("unasked_key", ["chat_id", "day"])
      .execute();
  },
};
