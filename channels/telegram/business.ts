import type { BusinessConnection, BusinessMessagesDeleted, Message, Update } from "grammy/types";
import type { DeleteEvent } from "../../src/core/events.ts";
import { UNDATED } from "./dates.ts";
import { placeOfChat } from "./place.ts";

/** The id of the owner of a business account whose chats we may write in; nobody's where we may not. */
export type BusinessOwner = (connection: string) => string | undefined;

/** Whom `BusinessOwner` names for a connection, by what Telegram says of it now. */
export function ownerIn({ user, rights, is_enabled }: BusinessConnection): string | undefined {
  return is_enabled && rights?.can_reply ? String(user.id) : undefined;
}

/** The business connection that an update came by, which has to be known for it to be read. */
export function connectionIn(update: Update): string | undefined {
  const message =
    update.business_message ?? update.edited_business_message ?? update.deleted_business_messages;
  return message?.business_connection_id;
}

/** Whether a customer wrote it, and not the owner or a bot for the owner; and we may answer. */
export function isCustomers(message: Message, ownerOf: BusinessOwner): boolean {
  const { business_connection_id: connection, sender_business_bot: bot, from } = message;
  const owner = connection === undefined ? undefined : ownerOf(connection);
  return owner !== undefined && bot === undefined && String(from?.id) !== owner;
}

export function deletionIn(
  { business_connection_id: connection, chat, message_ids: ids }: BusinessMessagesDeleted,
  ownerOf: BusinessOwner,
): DeleteEvent | undefined {
  if (ids.length === 0 || ownerOf(connection) === undefined) return undefined;
  return {
    type: "deleted",
    id: `${ids[0]}/deleted`,
    place: placeOfChat(chat, connection),
    refs: ids.map(String),
    sentAt: UNDATED,
  };
}
