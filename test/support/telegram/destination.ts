import type { Message } from "grammy/types";
import { botUser, type Account } from "./account.ts";
import { answered, GENERAL_TOPIC, threadOfAnswer, type ChatState } from "./chats.ts";
import { checkMarkup, hasInlineKeyboard } from "./keyboard.ts";
import { forbidden, hasRight, type Permission } from "./membership.ts";
import { badRequest } from "./refusal.ts";
import { flag, integer, string, type Call, type Parameters } from "./request.ts";
import type { RichContent } from "./rich/message.ts";
import type { SentMedia } from "./sent-log.ts";

/** Where a message goes, checked before anything is changed. */
export type Destination = { readonly state: ChatState; readonly fields: Partial<Message> };

/** Checks chat, rights, topic, reply and keyboard of a send. @throws Refusal */
export function destination(account: Account, parameters: Parameters, permission: Permission): Destination {
  const state = account.findOpen(parameters);
  checkRights(state, permission);
  checkMarkup(parameters["reply_markup"]);
  const reply = replyFields(state, parameters);
  return {
    state,
    fields: {
      ...reply,
      ...threadOfAnswer(state, reply.reply_to_message),
      ...topicFields(state, parameters),
      ...directTopic(state, parameters),
    },
  };
}

/** An action goes to General by its number, which no send may name, and to no channel's direct messages. */
export function actionDestination(account: Account, parameters: Parameters): ChatState {
  const state = account.findOpen(parameters);
  // Bot API sendChatAction: not supported there. Telegram's words for it are not known.
  if (state.chat.is_direct_messages) throw badRequest("emulator: no chat actions in direct messages chats");
  const thread = integer(parameters["message_thread_id"]);
  if (thread !== undefined && !(thread === GENERAL_TOPIC && state.chat.is_forum)) checkTopic(state, thread);
  return state;
}

/** Puts the bot's message into the chat and into the log, ends the chat's draft, and tells of what comes back. */
export function send(
  account: Account,
  call: Call,
  { state, fields }: Destination,
  content: Partial<Message>,
  extra: { readonly media?: SentMedia; readonly rich?: RichContent } = {},
): Message {
  const { parameters } = call;
  const markup = parameters["reply_markup"];
  const message = account.keep(state, {
    ...sender(account, state),
    ...fields,
    ...content,
    ...(hasInlineKeyboard(markup) && { reply_markup: markup }),
  });
  const threadId = message.is_topic_message ? message.message_thread_id : undefined;
  if (!state.business) account.drafts.end(state.chat.id, threadId);
  account.log.sent.add({
    method: call.method,
    chatId: state.chat.id,
    messageId: message.message_id,
    at: account.clock.now(),
    text: message.text,
    entities: message.entities ?? message.caption_entities ?? [],
    caption: message.caption,
    rich: extra.rich,
    media: extra.media,
    mediaGroupId: message.media_group_id,
    threadId,
    replyTo: message.reply_to_message?.message_id,
    replyParameters: parameters["reply_parameters"],
    silent: flag(parameters["disable_notification"]),
    linkPreview: parameters["link_preview_options"],
    replyMarkup: markup,
    businessConnectionId: state.business?.id,
    message,
  });
  // Only what a bot sends for a business account comes back to it, and it can tell by sender_business_bot.
  if (state.business) account.tell(state, message);
  return message;
}

function sender(account: Account, { chat, business }: ChatState): Partial<Message> {
  if (business) return { from: business.user, sender_business_bot: botUser(account.me) };
  return chat.type === "channel" ? { sender_chat: chat } : { from: botUser(account.me) };
}

/** @throws Refusal where the bot may not send this kind of message. */
export function checkRights({ chat, bot }: ChatState, permission: Permission): void {
  const kind = forbidden(bot, permission);
  if (kind !== undefined) throw badRequest(`not enough rights to send ${kind} to the chat`);
  if (chat.type === "channel" && !hasRight(bot, "can_post_messages")) {
    throw badRequest("need administrator rights in the channel chat");
  }
}

function topicFields(state: ChatState, parameters: Parameters): Partial<Message> {
  const thread = integer(parameters["message_thread_id"]);
  if (thread === undefined) return {};
  checkTopic(state, thread);
  return { message_thread_id: thread, is_topic_message: true };
}

// Reply threads of plain groups are no topics; who manages topics may write in closed ones.
function checkTopic({ topics, bot }: ChatState, thread: number): void {
  switch (topics.get(thread)?.state) {
    case undefined:
      throw badRequest("message thread not found");
    case "closed":
      if (hasRight(bot, "can_manage_topics")) return;
      throw badRequest("TOPIC_CLOSED");
    case "deleted":
      throw badRequest("TOPIC_DELETED");
    case "open":
  }
}

function directTopic({ chat, members }: ChatState, parameters: Parameters): Partial<Message> {
  if (!chat.is_direct_messages) return {};
  const topic = integer(parameters["direct_messages_topic_id"]);
  if (topic === undefined) throw badRequest("channel direct messages topic must be specified");
  const user = members.get(topic);
  if (!user) throw badRequest("message thread not found");
  return { direct_messages_topic: { topic_id: topic, user } };
}

function replyFields(state: ChatState, parameters: Parameters): Partial<Message> {
  // Older clients name the message directly.
  const given = parameters["reply_parameters"] ?? {
    message_id: parameters["reply_to_message_id"],
    allow_sending_without_reply: parameters["allow_sending_without_reply"],
  };
  if (typeof given !== "object" || given === null)
    throw badRequest("can't parse reply parameters JSON object");
  const { message_id, chat_id, allow_sending_without_reply, quote } = given as Parameters; // an object, checked above
  if (chat_id !== undefined && integer(chat_id) !== state.chat.id) {
    throw badRequest("emulator: replies to messages of other chats are unsupported");
  }
  const id = integer(message_id);
  if (id === undefined) return {};
  const replied = state.messages.get(id);
  if (!replied) {
    // Bot API ReplyParameters: always True on behalf of a business account.
    if (flag(allow_sending_without_reply) || state.business) return {};
    throw badRequest("message to be replied not found");
  }
  const position = typeof quote === "string" ? (replied.text ?? replied.caption ?? "").indexOf(quote) : 0;
  if (position < 0 || string(quote).length > 1024) throw badRequest("QUOTE_TEXT_INVALID");
  return {
    reply_to_message: answered(replied),
    ...(typeof quote === "string" && { quote: { text: quote, position, is_manual: true } }),
  };
}
