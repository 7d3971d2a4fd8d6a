import type { Message } from "grammy/types";
import { botUser, type Account } from "../account.ts";
import type { ChatState, Topic } from "../chats.ts";
import { actionDestination } from "../destination.ts";
import { moveBot } from "../member-changes.ts";
import { chatMember, hasRight, type AdminRight } from "../membership.ts";
import { commits, type Methods } from "../method.ts";
import { isReactionEmoji } from "../reactions.ts";
import { badRequest, Refusal } from "../refusal.ts";
import { integer, string, type Parameters } from "../request.ts";
import { serviceMessage } from "../service.ts";

const TOPIC_NAME = 128; // Bot API createForumTopic: 1–128 characters
const TOPIC_COLOR = 7_322_096;
const ACTIONS = new Set([
  ..."typing upload_photo record_video upload_video record_voice upload_voice".split(" "),
  ..."upload_document choose_sticker find_location record_video_note upload_video_note".split(" "),
]);

/** What concerns a chat as a whole, its topics and its members. */
export const chatMethods: Methods = {
  sendChatAction(account, call) {
    const state = actionDestination(account, call.parameters);
    const action = String(call.parameters["action"]);
    if (!ACTIONS.has(action)) throw badRequest("wrong parameter action in request");
    const threadId = integer(call.parameters["message_thread_id"]);
    return commits(() =>
      account.log.chatActions.add({ chatId: state.chat.id, threadId, action, at: account.clock.now() }),
    );
  },

  setMessageReaction(account, call) {
    const state = account.findOpen(call.parameters);
    const messageId = integer(call.parameters["message_id"]) ?? 0;
    if (!state.messages.has(messageId)) throw badRequest("message to react not found");
    const reaction: unknown = call.parameters["reaction"] ?? [];
    if (!Array.isArray(reaction) || reaction.length > 1) throw badRequest("REACTIONS_TOO_MANY");
    if (!reaction.every(isReactionEmoji)) throw badRequest("REACTION_INVALID");
    return commits(() =>
      account.log.reactions.add({ chatId: state.chat.id, messageId, reaction, at: account.clock.now() }),
    );
  },

  getChat(account, call) {
    const { chat, linkedTo, pinned, messages } = readable(account, call.parameters);
    return {
      result: {
        ...chat,
        accent_color_id: 0,
        max_reaction_count: 11,
        accepted_gift_types: {},
        ...(linkedTo !== undefined && { linked_chat_id: linkedTo }),
        ...(pinned !== undefined && { pinned_message: messages.get(pinned) }),
      },
    };
  },

  getChatMember(account, call) {
    const state = readable(account, call.parameters);
    const userId = integer(call.parameters["user_id"]);
    if (userId === account.me.id) return { result: chatMember(botUser(account.me), state.bot) };
    const user = state.members.get(userId ?? 0);
    if (!user) throw badRequest("member not found");
    return { result: { status: "member", user } };
  },

  getChatAdministrators(account, call) {
    const { chat, bot } = readable(account, call.parameters);
    if (chat.type === "private") throw badRequest("there are no administrators in the private chat");
    return { result: bot.status === "administrator" ? [chatMember(botUser(account.me), bot)] : [] };
  },

  leaveChat(account, call) {
    const state = account.findOpen(call.parameters);
    if (state.chat.type === "private") throw badRequest("chat can't be left");
    return commits(() => moveBot(account, state, botUser(account.me), { status: "left" }));
  },

  pinChatMessage(account, call) {
    const state = account.findOpen(call.parameters);
    const id = integer(call.parameters["message_id"]) ?? 0;
    const message = state.messages.get(id);
    if (!message) throw badRequest("message to pin not found");
    checkMayPin(state);
    return commits(() => {
      state.pinned = id;
      // Of what a bot does, some service messages come back to it: telegram-bot-api need_skip_update_message.
      serviceMessage(account, state, { from: botUser(account.me), pinned_message: message });
    });
  },

  unpinChatMessage(account, call) {
    const state = account.findOpen(call.parameters);
    checkMayPin(state);
    if (state.pinned === undefined) throw badRequest("message to unpin not found");
    return commits(() => delete state.pinned);
  },

  createForumTopic(account, call) {
    const state = account.findOpen(call.parameters);
    checkForum(account, state);
    const name = topicName(call.parameters);
    const icon_color = integer(call.parameters["icon_color"]) ?? TOPIC_COLOR;
    return {
      commit() {
        const message = serviceMessage(account, state, {
          from: botUser(account.me),
          is_topic_message: true,
          forum_topic_created: { name, icon_color },
        });
        return { message_thread_id: message.message_id, name, icon_color };
      },
    };
  },

  editForumTopic(account, call) {
    const [state, topic] = topicOf(account, call.parameters);
    const name = topicName(call.parameters);
    return commits(() => {
      topic.name = name;
      tellOfTopic(account, state, call.parameters, { forum_topic_edited: { name } });
    });
  },

  closeForumTopic(account, call) {
    const [state, topic] = topicOf(account, call.parameters);
    if (topic.state === "closed") throw badRequest("TOPIC_NOT_MODIFIED");
    return commits(() => {
      topic.state = "closed";
      tellOfTopic(account, state, call.parameters, { forum_topic_closed: {} });
    });
  },

  reopenForumTopic(account, call) {
    const [state, topic] = topicOf(account, call.parameters);
    if (topic.state === "open") throw badRequest("TOPIC_NOT_MODIFIED");
    return commits(() => {
      topic.state = "open";
      tellOfTopic(account, state, call.parameters, { forum_topic_reopened: {} });
    });
  },

  deleteForumTopic(account, call) {
    const [, topic] = topicOf(account, call.parameters);
    return commits(() => void (topic.state = "deleted"));
  },
};

// A bot that is out of a group is not told about it any more.
function readable(account: Account, parameters: Parameters): ChatState {
  const state = account.find(parameters["chat_id"]);
  if (state.chat.type === "private" || state.closed === undefined) return state;
  throw new Refusal(403, `Forbidden: ${state.closed}`);
}

function checkMayPin({ chat, bot }: ChatState): void {
  const right: AdminRight = chat.type === "channel" ? "can_edit_messages" : "can_pin_messages";
  if (chat.type === "private" || chat.is_direct_messages || hasRight(bot, right)) return;
  throw badRequest("not enough rights to manage pinned messages in the chat");
}

function checkForum({ me }: Account, { chat, bot }: ChatState): void {
  const isForum = chat.type === "private" ? me.has_topics_enabled : chat.is_forum;
  if (!isForum) throw badRequest("the chat is not a forum");
  const may = chat.type === "private" || hasRight(bot, "can_manage_topics");
  if (!may) throw badRequest("not enough rights to create a topic");
}

function topicName(parameters: Parameters): string {
  const name = string(parameters["name"]);
  if (name === "" || name.length > TOPIC_NAME) throw badRequest("TOPIC_TITLE_EMPTY");
  return name;
}

function topicOf(account: Account, parameters: Parameters): [ChatState, Topic] {
  const state = account.findOpen(parameters);
  checkForum(account, state);
  const topic = state.topics.get(integer(parameters["message_thread_id"]) ?? 0);
  if (!topic || topic.state === "deleted") throw badRequest("TOPIC_ID_INVALID");
  return [state, topic];
}

function tellOfTopic(
  account: Account,
  state: ChatState,
  parameters: Parameters,
  content: Partial<Message>,
): void {
  const message_thread_id = integer(parameters["message_thread_id"]) ?? 0;
  serviceMessage(account, state, {
    from: botUser(account.me),
    message_thread_id,
    is_topic_message: true,
    ...content,
  });
}
