import type { Message, MessageOrigin } from "grammy/types";

/** The content of a message without what belongs to its place: chat, sender, topic, what it answers, its keyboard. */
export function copied(message: Message): Partial<Message> {
  const {
    message_id: _id,
    chat: _chat,
    date: _date,
    from: _from,
    sender_chat: _sender,
    author_signature: _signature,
    edit_date: _edited,
    message_thread_id: _thread,
    is_topic_message: _topic,
    direct_messages_topic: _direct,
    reply_to_message: _answers,
    quote: _quote,
    reply_markup: _markup,
    is_automatic_forward: _automatic,
    business_connection_id: _connection,
    sender_business_bot: _bot,
    ...content
  } = message;
  return content;
}

/** Whom a forwarded message comes from: the first who wrote it, also after several forwards. */
export function originOf(message: Message): MessageOrigin {
  if (message.forward_origin) return message.forward_origin;
  const { message_id, date, sender_chat, author_signature, from } = message;
  const signature = author_signature === undefined ? {} : { author_signature };
  if (sender_chat?.type === "channel") {
    return { type: "channel", chat: sender_chat, message_id, date, ...signature };
  }
  if (sender_chat) return { type: "chat", sender_chat, date, ...signature };
  if (!from) throw new Error(`message ${message_id} has no sender`);
  return { type: "user", sender_user: from, date };
}
