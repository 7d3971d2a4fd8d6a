import type { Message, MessageEntity, Update, UserFromGetMe } from "grammy/types";
import type { MessageEvent, Place, Sender } from "../../src/core/events.ts";
import { contentOf } from "./content.ts";
import { isSame } from "./markdown.ts";
import { chatName, forwardOf, userName } from "./people.ts";
import { quoteOf, repliedTo } from "./quote.ts";

/** What getMe says of the bot, as far as reading updates needs it. */
export type BotIdentity = Pick<UserFromGetMe, "id" | "username" | "has_topics_enabled">;

/**
 * What was handed over in one go. An album's caption often stands on one picture alone: whom it is meant for holds for
 * the others beside it.
 */
export function batchToEvents(updates: readonly Update[], me: BotIdentity): readonly MessageEvent[] {
  const events = updates.flatMap((update) => toEvents(update, me));
  const addressed = new Set(events.flatMap((event) => (event.addressed ? albumKeys(event) : [])));
  return events.map((event) =>
    albumKeys(event).some((key) => addressed.has(key)) ? { ...event, addressed: true } : event,
  );
}

/** Service messages, other bots' and our own give no event; no event is without content. */
export function toEvents({ message }: Update, me: BotIdentity): readonly MessageEvent[] {
  // 0 is the id of a message that only its sender and the bot see; an answer of ours would be seen by all.
  if (!message || message.message_id === 0 || message.is_automatic_forward) return [];
  const from = senderOf(message);
  const content = from ? contentOf(message, me.username) : [];
  if (!from || content.length === 0) return [];
  const quote = quoteOf(message);
  const ref = String(message.message_id);
  return [
    {
      type: "message",
      // Not the update's number: a message can be handed over again under another one.
      id: ref,
      ref,
      place: placeOf(message, me),
      from,
      sentAt: new Date(message.date * 1000).toISOString(),
      content,
      addressed: isAddressed(message, me),
      ...(quote ? { quote } : {}),
      ...(message.forward_origin ? { forward: forwardOf(message.forward_origin) } : {}),
      ...(message.media_group_id === undefined ? {} : { albumId: message.media_group_id }),
    },
  ];
}

/** Behind the number of the channel direct message's topic, which a send names by another parameter. */
export const DIRECT_TOPIC = "direct:";

function placeOf(message: Message, me: BotIdentity): Place {
  const { chat, message_thread_id: thread, is_topic_message } = message;
  const kind = chat.type === "private" ? "private" : "group";
  // Outside of topics the number names a thread of replies, and sending it back is an error.
  const isTopic = is_topic_message === true || (kind === "private" && me.has_topics_enabled);
  const topic =
    message.direct_messages_topic !== undefined
      ? `${DIRECT_TOPIC}${message.direct_messages_topic.topic_id}`
      : isTopic && thread !== undefined
        ? String(thread)
        : undefined;
  return {
    chat: String(chat.id),
    ...(topic === undefined ? {} : { topic }),
    kind,
    ...(chat.title === undefined ? {} : { title: chat.title }),
  };
}

/**
 * Who speaks for a group or a channel comes with a fake user that all such senders share; the chat that they speak for
 * is who they are.
 */
function senderOf({ from, sender_chat }: Message): Sender | undefined {
  if (sender_chat) return { id: String(sender_chat.id), name: chatName(sender_chat) };
  if (!from || from.is_bot) return undefined;
  return { id: String(from.id), name: userName(from) };
}

function isAddressed(message: Message, me: BotIdentity): boolean {
  if (message.chat.type === "private") return true;
  const words = message.text ?? message.caption ?? "";
  const entities = message.entities ?? message.caption_entities ?? [];
  const named = (entity: MessageEntity): string => words.slice(entity.offset, entity.offset + entity.length);
  const mentions = entities.some(
    (entity) =>
      (entity.type === "text_mention" && entity.user.id === me.id) ||
      (entity.type === "mention" && isSame(named(entity).slice(1), me.username)),
  );
  const command = entities.find((entity) => entity.type === "bot_command" && entity.offset === 0);
  const bot = command === undefined ? undefined : named(command).split("@")[1];
  const forAnother = bot !== undefined && !isSame(bot, me.username);
  if (mentions || (command !== undefined && !forAnother)) return true;
  return !forAnother && repliedTo(message)?.from?.id === me.id;
}

function albumKeys({ place, from, albumId }: MessageEvent): readonly string[] {
  return albumId === undefined ? [] : [JSON.stringify([place.chat, from.id, albumId])];
}
