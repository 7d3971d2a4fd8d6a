import type { ChatMember, ChatMemberUpdated, Message } from "grammy/types";
import type { ChatMovedEvent, MembershipEvent } from "../../src/core/events.ts";
import { isoOf } from "./dates.ts";
import { placeOfChat } from "./place.ts";

/** What has become of our own standing in a chat. */
export function membershipIn({ chat, date, new_chat_member: we }: ChatMemberUpdated): MembershipEvent {
  const now = canWrite(chat, we) ? "here" : "gone";
  return {
    type: "membership",
    id: `membership/${date}/${we.status}`,
    place: placeOfChat(chat),
    sentAt: isoOf(date),
    now,
  };
}

function canWrite(chat: ChatMemberUpdated["chat"], we: ChatMember): boolean {
  switch (we.status) {
    case "creator":
    case "member":
      return true;
    case "administrator":
      // Of an administrator of a group it says nothing.
      return chat.type !== "channel" || we.can_post_messages !== false;
    case "restricted":
      return we.is_member && we.can_send_messages;
    case "left":
    case "kicked":
      return false;
  }
}

/** A group that became a supergroup says so in both, in either order. */
export function moveIn({
  chat,
  migrate_to_chat_id,
  migrate_from_chat_id,
}: Message): ChatMovedEvent | undefined {
  const from = migrate_to_chat_id === undefined ? migrate_from_chat_id : chat.id;
  const to = migrate_to_chat_id ?? chat.id;
  if (from === undefined) return undefined;
  return { type: "chatMoved", id: `moved/${from}/${to}`, from: String(from), to: String(to) };
}
