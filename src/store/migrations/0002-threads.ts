import type { Migration } from "../migration.ts";

export const threads: Migration = {
  version: 2,
  name: "threads",
  async up(trx, columns) {
    await trx.schema
      .createTable("thread_checkpoint")
      .addColumn("thread", columns.key, (column) => column.notNull())
      .addColumn("namespace", columns.key, (column) => column.notNull())
      .addColumn("id", columns.key, (column) => column.notNull())
      .addColumn("parent", columns.key, (column) => column.notNull())
      .addColumn("root", columns.key, (column) => column.notNull())
      .addColumn("body", "text", (column) => column.notNull())
      .addColumn("sources", "text", (column) => column.notNull())
      .addColumn("type", "text", (column) => column.notNull())
      .addColumn("mark", "text", (column) => column.notNull())
      .addColumn("metadata", columns.bytes, (column) => column.notNull())
      .addColumn("refs", "text", (column) => column.notNull())
      .addPrimaryKeyConstraint("thread_checkpoint_key", ["thread", "namespace", "id"])
      .execute();
    await trx.schema
      .createTable("thread_value")
      .addColumn("thread", columns.key, (column) => column.notNull())
      .addColumn("namespace", columns.key, (column) => column.notNull())
      .addColumn("source", columns.key, (column) => column.notNull())
      .addColumn("channel", columns.key, (column) => column.notNull())
      .addColumn("type", "text", (column) => column.notNull())
      .addColumn("mark", "text", (column) => column.notNull())
      .addColumn("bytes", columns.bytes, (column) => column.notNull())
      .addColumn("refs", "text", (column) => column.notNull())
      .addPrimaryKeyConstraint("thread_value_key", ["thread", "namespace", "source", "channel"])
      .execute();
    await trx.schema
      .createTable("thread_write")
      .addColumn("thread", columns.key, (column) => column.notNull())
      .addColumn("namespace", columns.key, (column) => column.notNull())
      .addColumn("checkpoint", columns.key, (column) => column.notNull())
      .addColumn("path", columns.key, (column) => column.notNull())
      .addColumn("task", columns.key, (column) => column.notNull())
      .addColumn("idx", "bigint", (column) => column.notNull())
      .addColumn("channel", "text", (column) => column.notNull())
      .addColumn("type", "text", (column) => column.notNull())
      .addColumn("mark", "text", (column) => column.notNull())
      .addColumn("bytes", columns.bytes, (column) => column.notNull())
      .addColumn("refs", "text", (column) => column.notNull())
      .addPrimaryKeyConstraint("thread_write_key", ["thread", "namespace", "checkpoint", "task", "idx"])
      .execute();
    await trx.schema
      .createTable("thread_list")
      .addColumn("thread", columns.key, (column) => column.notNull())
      .addColumn("id", columns.key, (column) => column.notNull())
      .addColumn("parent", columns.key, (column) => column.notNull())
      .addColumn("keep", "bigint", (column) => column.notNull())
      .addColumn("own", "text", (column) => column.notNull())
      .addPrimaryKeyConstraint("thread_list_key", ["thread", "id"])
      .execute();
    await trx.schema
      .createTable("thread_message")
      .addColumn("thread", columns.key, (column) => column.notNull())
      .addColumn("id", columns.key, (column) => column.notNull())
      .addColumn("hash", columns.key, (column) => column.notNull())
      .addColumn("mark", "text", (column) => column.notNull())
      .addColumn("body", columns.bytes, (column) => column.notNull())
      .addPrimaryKeyConstraint("thread_message_key", ["thread", "id", "hash"])
      .execute();
  },
};
