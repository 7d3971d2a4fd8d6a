import { type ColumnDefinitionBuilder, sql } from "kysely";
import type { Migration } from "../migration.ts";

const required = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull();

/** The facts as `fact-tables.ts` describes them. */
export const facts: Migration = {
  version: 1,
  name: "facts",
  async up(trx, columns) {
    const { schema } = trx;
    const { id, key } = columns;
    const identity = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => columns.identity(column);
    await schema
      .createTable("chat")
      .addColumn("id", id, identity)
      .addColumn("channel", key, required)
      .addColumn("kind", "text", required)
      .addColumn("owner", "text", required)
      .addColumn("epoch", "bigint", required)
      .addColumn("until", "bigint", required)
      .execute();
    await schema
      .createTable("address")
      .addColumn("channel", key, required)
      .addColumn("chat", key, required)
      .addColumn("topic", key, required)
      .addColumn("chat_id", "bigint", required)
      .addPrimaryKeyConstraint("address_key", ["channel", "chat", "topic"])
      .execute();
    await schema
      .createTable("thread_count")
      .addColumn("chat_id", "bigint", required)
      .addColumn("agent", key, required)
      .addColumn("n", "bigint", required)
      .addPrimaryKeyConstraint("thread_count_key", ["chat_id", "agent"])
      .execute();
    await schema
      .createTable("inbox")
      .addColumn("id", id, identity)
      .addColumn("channel", key, required)
      .addColumn("chat_id", "bigint", required)
      .addColumn("event_key", key, required)
      .addColumn("payload_hash", key, required)
      .addColumn("payload", "text", required)
      .addColumn("sender", key, required)
      .addColumn("ref", key, required)
      .addColumn("state", key, required)
      .addColumn("why", "text", required)
      .addColumn("agent", key, required)
      .addColumn("thread", key, required)
      .addColumn("intent", "bigint", required)
      .addColumn("album", key, required)
      .addColumn("received_at", "bigint", required)
      .addColumn("due_at", "bigint", required)
      .addColumn("claims", "bigint", required)
      .addColumn("turn_id", "bigint", required)
      .addColumn("ended_at", "bigint", required)
      .addColumn("trace", "text", required)
      .execute();
    await schema
      .createIndex("inbox_repeat")
      .on("inbox")
      .columns(["channel", "chat_id", "event_key", "payload_hash"])
      .unique()
      .execute();
    // What waits is found without reading what is done, however much of that is kept.
    await schema
      .createIndex("inbox_open")
      .on("inbox")
      .columns(["chat_id", "intent"])
      .where(sql.ref("state"), "in", ["waiting", "claimed"])
      .execute();
    await schema.createIndex("inbox_turn").on("inbox").column("turn_id").execute();
    await schema.createIndex("inbox_ended").on("inbox").column("ended_at").execute();
    await schema
      .createTable("attachment")
      .addColumn("id", id, identity)
      .addColumn("inbox_id", "bigint", required)
      .addColumn("seq", "bigint", required)
      .addColumn("chat_id", "bigint", required)
      .addColumn("channel", key, required)
      .addColumn("state", key, required)
      .addColumn("attempts", "bigint", required)
      .addColumn("blocks", "text", required)
      .addColumn("outcome", "text", required)
      .execute();
    await schema.createIndex("attachment_inbox").on("attachment").columns(["inbox_id", "seq"]).execute();
    await schema
      .createIndex("attachment_open")
      .on("attachment")
      .column("id")
      .where(sql.ref("state"), "=", "waiting")
      .execute();
    await schema
      .createTable("turn")
      .addColumn("id", id, identity)
      .addColumn("chat_id", "bigint", required)
      .addColumn("intent", "bigint", required)
      .addColumn("agent", key, required)
      .addColumn("thread", key, required)
      .addColumn("state", key, required)
      .addColumn("error", "text", required)
      .addColumn("started_at", "bigint", required)
      .addColumn("ended_at", "bigint", required)
      .execute();
    await schema.createIndex("turn_ended").on("turn").column("ended_at").execute();
    await schema
      .createTable("piece")
      .addColumn("id", id, identity)
      .addColumn("chat_id", "bigint", required)
      .addColumn("channel", key, required)
      .addColumn("to_chat", key, required)
      .addColumn("to_topic", key, required)
      .addColumn("turn_id", "bigint", required)
      .addColumn("seq", "bigint", required)
      .addColumn("body", "text", required)
      .addColumn("reply_to", key, required)
      .addColumn("state", key, required)
      .addColumn("form", "text", required)
      .addColumn("again", "bigint", required)
      .addColumn("attempts", "bigint", required)
      .addColumn("not_before", "bigint", required)
      .addColumn("platform_ids", "text", required)
      .addColumn("error", "text", required)
      .addColumn("created_at", "bigint", required)
      .addColumn("ended_at", "bigint", required)
      .execute();
    await schema
      .createIndex("piece_open")
      .on("piece")
      .columns(["chat_id", "id"])
      .where(sql.ref("state"), "in", ["planned", "sending", "parked"])
      .execute();
    await schema.createIndex("piece_turn").on("piece").column("turn_id").execute();
    await schema.createIndex("piece_ended").on("piece").column("ended_at").execute();
    await schema
      .createTable("person")
      .addColumn("channel", key, required)
      .addColumn("person", key, required)
      .addColumn("role", key, required)
      .addColumn("granted_by", "text", required)
      .addColumn("at", "bigint", required)
      .addPrimaryKeyConstraint("person_key", ["channel", "person"])
      .execute();
    await schema
      .createTable("claim_code")
      .addColumn("channel", key, (column) => column.primaryKey())
      .addColumn("code", "text", required)
      .addColumn("created_at", "bigint", required)
      .execute();
    await schema
      .createTable("channel_state")
      .addColumn("channel", key, required)
      .addColumn("key", key, required)
      .addColumn("value", "text", required)
      .addPrimaryKeyConstraint("channel_state_key", ["channel", "key"])
      .execute();
  },
};
