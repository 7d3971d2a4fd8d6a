import type { Chat, MessageOrigin, User } from "grammy/types";
import type { Forward } from "../../src/core/events.ts";

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
    sentAt: new Date(origin.date * 1000).toISOString(),
  };
}
