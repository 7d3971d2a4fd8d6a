import type { Message } from "grammy/types";
import type { Account } from "./account.ts";
import type { ChatState } from "./chats.ts";

/** Puts a service message into the chat, and tells the bot of it. One that makes a topic is in it itself. */
export function serviceMessage(account: Account, state: ChatState, content: Partial<Message>): Message {
  const message = account.keep(state, content);
  if (content.forum_topic_created) {
    message.message_thread_id = message.message_id;
    state.topics.set(message.message_id, { name: content.forum_topic_created.name, state: "open" });
  }
  account.tell(state, message);
  return message;
}
