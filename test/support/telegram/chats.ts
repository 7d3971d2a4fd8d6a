import type { BusinessConnection, Chat, Message, ReactionType, User } from "grammy/types";
import type { BotMembership } from "./membership.ts";

export type Topic = { name: string; state: "open" | "closed" | "deleted" };

/**
 * What a bot gets of the messages in groups where it is no administrator. "off": all. "on": commands, replies to it
 * and service messages. "mentions": those and messages that mention it, which some report of "on" and others deny.
 */
export type Privacy = "off" | "on" | "mentions";

/** All that Telegram knows of one chat. */
export type ChatState = {
  readonly chat: Chat;
  readonly messages: Map<number, Message>;
  readonly topics: Map<number, Topic>;
  readonly members: Map<number, User>;
  /** By message and who reacted. */
  readonly reactions: Map<string, readonly ReactionType[]>;
  /** The options that were chosen, by message and who voted. */
  readonly votes: Map<string, readonly number[]>;
  bot: BotMembership;
  /** As BotFather's switch stood when the bot came here. */
  privacy: Privacy;
  /** What every send answers while the bot may not write here. */
  closed?: string;
  movedTo?: number;
  /** The channel of a discussion group, the discussion group of a channel. */
  linkedTo?: number;
  pinned?: number;
  /** Drafts answer TEXTDRAFT_PEER_INVALID. */
  refusesDrafts: boolean;
  /** Where it belongs to a business account. */
  readonly business?: BusinessConnection;
  /** Ids are never given twice, also not after a deletion. Used by chats that count for themselves. */
  lastMessageId: number;
};

/** In a forum the number 1 is General's: actions name it, sends may not. */
export const GENERAL_TOPIC = 1;

/** Private chats and basic groups share the numbers of their account. */
export function countsForItself({ chat, business }: ChatState): boolean {
  return chat.type === "supergroup" || chat.type === "channel" || business !== undefined;
}

/** Puts an answered message into the one that answers it: one level of it. */
export function answered(message: Message): NonNullable<Message["reply_to_message"]> {
  const { reply_to_message: _deeper, ...oneLevel } = message;
  // The type wants the key present and undefined; on the wire it is absent.
  return oneLevel as NonNullable<Message["reply_to_message"]>;
}

/**
 * The thread that an answer belongs to. In a supergroup without topics it is the message that the chain of answers
 * began with, and no topic: a send must not name it.
 */
export function threadOfAnswer(
  { chat, topics }: ChatState,
  answers: Message | undefined,
): Pick<Message, "message_thread_id" | "is_topic_message"> {
  if (!answers) return {};
  const { message_id, message_thread_id, is_topic_message } = answers;
  if (is_topic_message && message_thread_id !== undefined) {
    return topics.has(message_thread_id) ? { message_thread_id, is_topic_message } : {};
  }
  const isForum = chat.type !== "supergroup" || chat.is_forum || chat.is_direct_messages;
  return isForum ? {} : { message_thread_id: message_thread_id ?? message_id };
}
