import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Queries } from "./tables.ts";

/** The connection that a chat is of. */
export async function placeOfChat(db: Queries, chat: ChatId): Promise<ChannelId | undefined> {
  const row = await db.selectFrom("chat").select("channel").where("id", "=", chat).executeTakeFirst();
  return row?.channel;
}

/** The connection that an attachment is to be fetched by. */
export async function placeOfAttachment(db: Queries, attachment: number): Promise<ChannelId | undefined> {
  const row = await db
    .selectFrom("attachment")
    .select("channel")
    .where("id", "=", attachment)
    .executeTakeFirst();
  return row?.channel;
}
