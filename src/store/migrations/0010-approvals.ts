import { type ColumnDefinitionBuilder, sql } from "kysely";
import type { Migration } from "../migration.ts";

const required = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull();
const empty = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo("");
const zero = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo(0);

/** Calls of tools that wait for somebody's yes, questions of graphs by their ids, and where a question stands. */
export const approvals: Migration = {
  version: 10,
  name: "approvals",
  async up(trx, { key }) {
    const { schema } = trx;
    await schema
      .createTable("approval")
      .addColumn("id", key, (column) => column.primaryKey())
      .addColumn("chat_id", "bigint", required)
      .addColumn("thread", key, required)
      .addColumn("agent", "text", required)
      .addColumn("message", key, required)
      .addColumn("call", key, required)
      .addColumn("tool", "text", required)
      .addColumn("args", "text", required)
      .addColumn("who", "text", required)
      .addColumn("person", "text", required)
      .addColumn("asker", "text", required)
      .addColumn("place", "text", required)
      .addColumn("minutes", "bigint", required)
      .addColumn("state", "text", required)
      .addColumn("noted_at", "bigint", required)
      .addColumn("expires_at", "bigint", zero)
      .addColumn("answered_at", "bigint", zero)
      .addColumn("answered_by", "text", empty)
      .addColumn("intent", "bigint", zero)
      .addColumn("told", "bigint", zero)
      .addUniqueConstraint("approval_call", ["thread", "message", "call"])
      .execute();
    await schema.createIndex("approval_chat").on("approval").column("chat_id").execute();
    await schema.createIndex("approval_intent").on("approval").column("intent").execute();
    await schema.alterTable("question").addColumn("approval", "text", empty).execute();
    await schema.alterTable("question").addColumn("interrupt", "text", empty).execute();
    await schema.alterTable("question").addColumn("thread", "text", empty).execute();
    await schema.alterTable("question").addColumn("answer", "text", empty).execute();
    await schema
      .createIndex("question_open")
      .on("question")
      .column("expires_at")
      .where(sql.ref("used_at"), "=", sql.lit(0))
      .execute();
    await schema
      .createIndex("question_thread")
      .on("question")
      .column("thread")
      .where(sql.ref("thread"), "!=", sql.lit(""))
      .execute();
    await schema.alterTable("piece").addColumn("question", "text", empty).execute();
    await schema
      .createIndex("piece_question")
      .on("piece")
      .column("question")
      .where(sql.ref("question"), "!=", sql.lit(""))
      .execute();
  },
};
