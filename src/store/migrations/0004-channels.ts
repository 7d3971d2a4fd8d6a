import { type ColumnDefinitionBuilder, sql } from "kysely";
import type { Migration } from "../migration.ts";

const required = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull();
const empty = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo("");
const zero = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo(0);

/** What a complete channel needs: edits, asides, buttons, pairing, and where our messages stand. */
export const channels: Migration = {
  version: 4,
  name: "channels",
  async up(trx, { key }) {
    const { schema } = trx;
    await schema.alterTable("inbox").addColumn("content_hash", key, empty).execute();
    await schema
      .alterTable("inbox")
      .addColumn("type", key, (column) => column.notNull().defaultTo("message"))
      .execute();
    await schema.alterTable("inbox").addColumn("about", "bigint", zero).execute();
    await schema.alterTable("piece").addColumn("replaces", key, empty).execute();
    await schema.alterTable("piece").addColumn("begun_at", "bigint", zero).execute();
    await schema
      .createTable("sent")
      .addColumn("channel", key, required)
      .addColumn("chat", key, required)
      .addColumn("ref", key, required)
      .addColumn("chat_id", "bigint", required)
      .addColumn("piece_id", "bigint", required)
      .addColumn("at", "bigint", required)
      .addPrimaryKeyConstraint("sent_key", ["channel", "chat", "ref"])
      .execute();
    await schema
      .createTable("pairing")
      .addColumn("channel", key, required)
      .addColumn("person", key, required)
      .addColumn("code", key, required)
      .addColumn("created_at", "bigint", required)
      .addPrimaryKeyConstraint("pairing_key", ["channel", "person"])
      .execute();
    await schema
      .createTable("wrong_code")
      .addColumn("channel", key, required)
      .addColumn("person", key, required)
      .addColumn("at", "bigint", required)
      .execute();
    await schema
      .createIndex("wrong_code_person")
      .on("wrong_code")
      .columns(["channel", "person", "at"])
      .execute();
    await schema
      .createTable("question")
      .addColumn("id", key, (column) => column.primaryKey())
      .addColumn("chat_id", "bigint", required)
      .addColumn("person", key, required)
      .addColumn("subject", key, required)
      .addColumn("rendered", "text", required)
      .addColumn("expires_at", "bigint", required)
      .addColumn("used_at", "bigint", required)
      .execute();
    await schema
      .createTable("choice")
      .addColumn("key", key, (column) => column.primaryKey())
      .addColumn("question", key, required)
      .addColumn("label", "text", required)
      .addColumn("means", key, required)
      .execute();
    await schema.createIndex("choice_question").on("choice").column("question").execute();
    await schema.createIndex("sent_piece").on("sent").column("piece_id").execute();
    // Whether a message of ours is the newest of its chat.
    await schema.createIndex("sent_chat").on("sent").columns(["chat_id", "piece_id"]).execute();
    // How many turns a person has had lately, and where they last wrote.
    await schema
      .createIndex("inbox_sender")
      .on("inbox")
      .columns(["channel", "sender", "received_at"])
      .execute();
    await schema.createIndex("address_chat").on("address").column("chat_id").execute();
    // An edit, a deletion and a reply name a message by what the platform calls it.
    await schema.createIndex("inbox_ref").on("inbox").columns(["chat_id", "ref"]).execute();
    await sql`create index inbox_aside on inbox (chat_id, id) where state = 'aside'`.execute(trx);
    await sql`create index piece_doubt on piece (chat_id, id) where state = 'unknown' and body != ''`.execute(
      trx,
    );
  },
};
