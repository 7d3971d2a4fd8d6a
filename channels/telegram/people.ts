import type { Chat, MessageOrigin, User, UserFromGetMe } from "grammy/types";
import type { Forward, Sender } from "../../src/core/events.ts";
import { isoOf } from "./dates.ts";

/** What getMe says of the bot, as far as reading updates needs it. */
export type BotIdentity = Pick<UserFromGetMe, "id" | "username" | "has_topics_enabled">;

/**
 * Who speaks for a group or a channel comes with a fake user that all such senders share; the chat that they speak for
 * is who they are. Nobody where a bot speaks for itself.
 */
export function senderOf(from: User | undefined, speaksFor: Chat | undefined): Sender | undefined {
  if (speaksFor) return { id: String(speaksFor.id), name: chatName(speaksFor) };
  if (!from || from.is_bot) return undefined;
  return { id: String(from.id), name: userName(from) };
}

export function userName({ first_name, last_name }: User): string {
  return last_name === undefined ? first_name : `${first_name} ${last_name}`;
}

export function chatName(chat: Chat): string {
  return chat.title ?? [chat.first_name, chat.last_name].filter((part) => part !== undefined).join(" ");
}

/** Who said it first. Of people who hide their account, and of posts in a channel, there is no more than a name. */
export function originName(origin: MessageOrigin): string {
  switch (origin.type) {
    case "user":
      return userName(origin.sender_user);
    case "hidden_user":
      return origin.sender_user_name;
    case "chat":
      return chatName(origin.sender_chat);
    case "channel":
      return chatName(origin.chat);
  }
}

export function forwardOf(origin: MessageOrigin): Forward {
  const signature = "author_signature" in origin ? origin.author_signature : undefined;
  return {
    from: originName(origin),
    ...(signature === undefined ? {} : { signature }),
    sentAt: isoOf(origin.date),
  };
}
