import type { ColumnDefinitionBuilder } from "kysely";
import type { Migration } from "../migration.ts";

const required = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull();
const zero = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo(0);
const empty = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo("");

/** What is kept of the work of agents beside their threads: use, effects, background tasks, memory, who needs which blob. */
export const agents: Migration = {
  version: 7,
  name: "agents",
  async up(trx, columns) {
    const { schema } = trx;
    const { id, key } = columns;
    const identity = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => columns.identity(column);
    await schema.alterTable("inbox").addColumn("task", "text", empty).execute();
    for (const column of ["input_tokens", "cached_tokens", "output_tokens", "cost_micros"])
      await schema.alterTable("turn").addColumn(column, "bigint", zero).execute();
    await schema
      .createTable("thread_fact")
      .addColumn("thread", key, (column) => column.primaryKey())
      .addColumn("chat_id", "bigint", required)
      .addColumn("agent", "text", required)
      .addColumn("title", "text", empty)
      .addColumn("messages", "bigint", zero)
      .addColumn("tokens", "bigint", zero)
      .addColumn("estimated", "bigint", zero)
      .addColumn("window", "bigint", zero)
      .addColumn("at", "bigint", required)
      .execute();
    await schema.createIndex("thread_fact_chat").on("thread_fact").column("chat_id").execute();
    await schema
      .createTable("effect")
      .addColumn("id", id, identity)
      .addColumn("chat_id", "bigint", required)
      .addColumn("thread", key, required)
      .addColumn("message", key, required)
      .addColumn("call", key, required)
      .addColumn("step", "text", required)
      .addColumn("done", "bigint", zero)
      .addColumn("result", "text", empty)
      .addUniqueConstraint("effect_call", ["thread", "message", "call"])
      .execute();
    await schema.createIndex("effect_chat").on("effect").column("chat_id").execute();
    await schema
      .createTable("background_task")
      .addColumn("id", id, identity)
      .addColumn("chat_id", "bigint", required)
      .addColumn("channel", "text", required)
      .addColumn("to_chat", "text", required)
      .addColumn("to_topic", "text", required)
      .addColumn("n", "bigint", required)
      .addColumn("agent", "text", required)
      .addColumn("thread", "text", required)
      .addColumn("subagent", "text", required)
      .addColumn("prompt", "text", required)
      .addColumn("status", key, required)
      .addColumn("attempts", "bigint", zero)
      .addColumn("not_before", "bigint", zero)
      .addColumn("epoch", "bigint", zero)
      .addColumn("result", "text", empty)
      .addColumn("started_at", "bigint", required)
      .addColumn("ended_at", "bigint", zero)
      .addUniqueConstraint("background_task_n", ["chat_id", "n"])
      .execute();
    await schema.createIndex("background_task_status").on("background_task").column("status").execute();
    await schema
      .createTable("memory_fact")
      .addColumn("id", id, identity)
      .addColumn("scope", key, required)
      .addColumn("channel", key, required)
      .addColumn("subject", key, required)
      .addColumn("agent", key, required)
      .addColumn("content", "text", required)
      .addColumn("confidence", "real", required)
      .addColumn("said_at", "bigint", required)
      .addColumn("thread", "text", required)
      .addColumn("created_at", "bigint", required)
      .execute();
    await schema
      .createIndex("memory_fact_subject")
      .on("memory_fact")
      .columns(["channel", "scope", "subject", "agent"])
      .execute();
    await schema
      .createTable("memory_work")
      .addColumn("thread", key, required)
      .addColumn("scope", key, required)
      .addColumn("channel", key, required)
      .addColumn("subject", key, required)
      .addColumn("agent", key, required)
      .addColumn("chat_id", "bigint", required)
      .addColumn("after", "text", empty)
      .addColumn("first_at", "bigint", zero)
      .addColumn("due_at", "bigint", zero)
      .addColumn("signals", "text", empty)
      .addColumn("attempts", "bigint", zero)
      .addColumn("epoch", "bigint", zero)
      .addPrimaryKeyConstraint("memory_work_key", ["thread", "scope", "subject", "agent"])
      .execute();
    await schema.createIndex("memory_work_due").on("memory_work").column("due_at").execute();
    await schema.createIndex("memory_work_chat").on("memory_work").column("chat_id").execute();
    await schema
      .createTable("blob_use")
      .addColumn("blob", key, required)
      .addColumn("chat_id", "bigint", required)
      .addColumn("at", "bigint", required)
      .addPrimaryKeyConstraint("blob_use_key", ["blob", "chat_id"])
      .execute();
    await schema.createIndex("blob_use_chat").on("blob_use").column("chat_id").execute();
  },
};
