import type { Chat, Message, UserFromGetMe } from "grammy/types";
import { GatewayError } from "../../src/core/errors.ts";
import type { Place } from "../../src/core/events.ts";
import type { ChatAddress } from "../../src/core/identity.ts";

/**
 * How a chat of ours is written, and what it is:
 * - `<chat id>`: a private chat, a group, a channel;
 * - with the topic `<thread id>`: a topic of a forum, whose General is `1`, or of a private chat;
 * - with the topic `direct:<id>`: what one person writes to a channel;
 * - `business:<connection>:<chat id>`: a chat of a business account, where we write for its owner;
 * - `guest:<chat id>` with the topic `<query id>`: a chat where we are no member; one question, one answer.
 */
const BUSINESS = "business:";
const GUEST = "guest:";
const DIRECT = "direct:";
/** Telegram's number for the topic of a forum that holds what is in no other. Updates from there do not name it. */
const GENERAL = "1";

/** Where a message stands. */
export function placeOf(message: Message, me: Pick<UserFromGetMe, "has_topics_enabled">): Place {
  const { chat, business_connection_id: connection, guest_query_id: query } = message;
  // The number of such a chat may be one of a chat of ours.
  if (query !== undefined)
    return { ...placeOfChat(chat), chat: `${GUEST}${chat.id}`, topic: query, kind: "group" };
  const topic = connection === undefined ? topicOf(message, me) : undefined;
  const title = [chat.title, topicTitle(message)].filter((part) => part !== undefined).join(" › ");
  return {
    ...placeOfChat(chat, connection),
    ...(topic === undefined ? {} : { topic }),
    ...(title === "" ? {} : { title }),
  };
}

/**
 * A chat as a whole, for what is told without a topic. Nobody is alone with us in a business account's: its owner reads all,
 * and what strangers are told, and what is asked of our own owner, would be said in that one's name.
 */
export function placeOfChat(chat: Chat, connection?: string): Place {
  return {
    chat: connection === undefined ? String(chat.id) : `${BUSINESS}${connection}:${chat.id}`,
    kind: chat.type === "private" && connection === undefined ? "private" : "group",
    ...(chat.title === undefined ? {} : { title: chat.title }),
  };
}

function topicOf(message: Message, me: Pick<UserFromGetMe, "has_topics_enabled">): string | undefined {
  const { chat, message_thread_id: thread, is_topic_message, direct_messages_topic: direct } = message;
  if (direct) return `${DIRECT}${direct.topic_id}`;
  // Elsewhere the number names a thread of replies, and sending it back is an error.
  const isTopic = is_topic_message === true || (chat.type === "private" && me.has_topics_enabled);
  if (isTopic && thread !== undefined) return String(thread);
  return chat.is_forum ? GENERAL : undefined;
}

/** Told where a message answers nothing else in its topic. */
function topicTitle({ reply_to_message: replied }: Message): string | undefined {
  return replied?.forum_topic_created?.name;
}

export type Destination = {
  readonly chat_id: number;
  readonly message_thread_id?: number;
  readonly direct_messages_topic_id?: number;
  readonly business_connection_id?: string;
};

/**
 * The parameters by which a send names where it goes. General must not be named.
 * @throws GatewayError "send.refused" for a guest's chat, which takes nothing but one answer to `guestQuery`.
 */
export function destination({ chat, topic }: ChatAddress): Destination {
  if (chat.startsWith(GUEST))
    throw new GatewayError(
      "send.refused",
      "a chat where the bot is a guest takes one answer as a text, no more",
    );
  const [, connection, id = chat] = /^business:(.+):(-?\d+)$/.exec(chat) ?? [];
  const chat_id = Number(id);
  if (connection !== undefined) return { chat_id, business_connection_id: connection };
  if (topic === undefined || topic === GENERAL) return { chat_id };
  if (topic.startsWith(DIRECT))
    return { chat_id, direct_messages_topic_id: Number(topic.slice(DIRECT.length)) };
  return { chat_id, message_thread_id: Number(topic) };
}

/** The same for an action, other than a message: it names General. Nothing where Telegram shows none. */
export function actionDestination(to: ChatAddress): Destination | undefined {
  if (guestQuery(to) !== undefined) return undefined;
  const { direct_messages_topic_id: direct, ...rest } = destination(to);
  // Bot API sendChatAction: "channel chats and channel direct messages chats aren't supported".
  if (direct !== undefined) return undefined;
  return to.topic === GENERAL ? { ...rest, message_thread_id: Number(GENERAL) } : rest;
}

/** What answerGuestQuery answers, once, where the bot is a guest. */
export function guestQuery({ chat, topic }: ChatAddress): string | undefined {
  return chat.startsWith(GUEST) ? topic : undefined;
}
