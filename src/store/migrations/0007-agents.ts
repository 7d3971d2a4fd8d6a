import { type ColumnDefinitionBuilder, sql } from "kysely";
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
    await schema.alterTable("chat").addColumn("language", "text", empty).execute();
    await schema.alterTable("inbox").addColumn("unsaid", "bigint", zero).execute();
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
      .addColumn("last_input", "bigint", zero)
      .addColumn("last_output", "bigint", zero)
      .addColumn("last_cost", "bigint", zero)
      .addColumn("all_input", "bigint", zero)
      .addColumn("all_output", "bigint", zero)
      .addColumn("all_cost", "bigint", zero)
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
      .addColumn("at", "bigint", required)
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
      .addColumn("language", "text", required)
      .addColumn("subagent", "text", required)
      .addColumn("prompt", "text", required)
      .addColumn("status", key, required)
      .addColumn("told", "bigint", zero)
      .addColumn("attempts", "bigint", zero)
      .addColumn("crashes", "bigint", zero)
      .addColumn("error", "text", empty)
      .addColumn("not_before", "bigint", zero)
      .addColumn("epoch", "bigint", zero)
      .addColumn("result", "text", empty)
      .addColumn("started_at", "bigint", required)
      .addColumn("ended_at", "bigint", zero)
      .addUniqueConstraint("background_task_n", ["chat_id", "n"])
      .execute();
    await schema
      .createIndex("background_task_open")
      .on("background_task")
      .column("id")
      .where(sql.ref("told"), "=", 0)
      .execute();
    await schema.createIndex("background_task_ended").on("background_task").column("ended_at").execute();
    await schema
      .createTable("memory_fact")
      .addColumn("id", id, identity)
      .addColumn("n", "bigint", required)
      .addColumn("scope", key, required)
      .addColumn("channel", key, required)
      .addColumn("subject", key, required)
      .addColumn("agent", key, required)
      .addColumn("content", "text", required)
      .addColumn("confidence", "real", required)
      .addColumn("said_at", "bigint", required)
      .addColumn("thread", key, required)
      .addColumn("said_in", "text", empty)
      .addColumn("created_at", "bigint", required)
      .execute();
    await schema
      .createIndex("memory_fact_subject")
      .on("memory_fact")
      .columns(["channel", "scope", "subject", "agent", "n"])
      .unique()
      .execute();
    await schema.createIndex("memory_fact_thread").on("memory_fact").column("thread").execute();
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
      .addColumn("touches", "bigint", zero)
      .addColumn("correction", "bigint", zero)
      .addColumn("reinforcement", "bigint", zero)
      .addColumn("attempts", "bigint", zero)
      .addColumn("epoch", "bigint", zero)
      .addColumn("since", "bigint", zero)
      .addPrimaryKeyConstraint("memory_work_key", ["thread", "scope", "subject", "agent"])
      .execute();
    await schema
      .createIndex("memory_work_subject")
      .on("memory_work")
      .columns(["channel", "scope", "subject", "agent"])
      .execute();
    await schema
      .createTable("forgotten")
      .addColumn("chat_id", "bigint", (column) => column.primaryKey())
      .addColumn("channel", key, required)
      .addColumn("to_chat", "text", required)
      .addColumn("to_topic", "text", required)
      .addColumn("at", "bigint", required)
      .addColumn("counts", "text", required)
      .addColumn("blobs", "text", required)
      .addColumn("files", "bigint", required)
      .addColumn("told", "bigint", zero)
      .execute();
    await schema.createIndex("memory_work_due").on("memory_work").column("due_at").execute();
    await schema.createIndex("memory_work_chat").on("memory_work").column("chat_id").execute();
    await schema
      .createTable("blob_use")
      .addColumn("blob", key, required)
      .addColumn("chat_id", "bigint", required)
      .addPrimaryKeyConstraint("blob_use_key", ["blob", "chat_id"])
      .execute();
    await schema.createIndex("blob_use_chat").on("blob_use").column("chat_id").execute();
  },
};
