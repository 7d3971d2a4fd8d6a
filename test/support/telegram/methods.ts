import type { Message } from "grammy/types";
import type { Account, ChatState } from "./account.ts";
import { checkButtons, hasInlineKeyboard } from "./account.ts";
import { mediaMethods } from "./media-methods.ts";
import { captionFields, commits, refuseParseMode, type Answer, type Method } from "./method.ts";
import { isReactionEmoji } from "./reactions.ts";
import { badRequest } from "./refusal.ts";
import { flag, integer, string, type Call, type Parameters } from "./request.ts";
import { captionText, draftText, messageText, type FormattedText } from "./text.ts";

const DELETABLE_SECONDS = 48 * 3600; // Bot API deleteMessage
const DRAFT_MS = 30_000; // Bot API sendMessageDraft: a 30-second preview
const ACTIONS = new Set([
  ..."typing upload_photo record_video upload_video record_voice upload_voice".split(" "),
  ..."upload_document choose_sticker find_location record_video_note upload_video_note".split(" "),
]);

/** By the name in the docs. getUpdates is not here: it waits. */
export const methods: Readonly<Record<string, Method>> = {
  ...mediaMethods,

  getMe: (account) => ({ result: account.me }),

  sendMessage(account, call) {
    refuseParseMode(call.parameters);
    const destination = account.destination(call.parameters);
    const { text, entities } = messageText(call.parameters["text"], call.parameters["entities"]);
    const preview = call.parameters["link_preview_options"];
    return {
      commit: () =>
        account.send(call, destination, { ...textFields(text, entities), ...previewField(preview) }),
    };
  },

  sendMessageDraft(account, call) {
    refuseParseMode(call.parameters);
    const state = account.findOpen(call.parameters["chat_id"]);
    if (state.chat.type !== "private") throw badRequest("TEXTDRAFT_PEER_INVALID");
    const draftId = integer(call.parameters["draft_id"]);
    if (!draftId) throw badRequest("draft_id must be non-zero");
    const draft = draftText(call.parameters["text"], call.parameters["entities"]);
    return commits(() =>
      account.log.addDraft({
        chatId: state.chat.id,
        threadId: integer(call.parameters["message_thread_id"]),
        draftId,
        ...draft,
        canStop: flag(call.parameters["can_stop"]),
        at: account.clock.now(),
        sentBefore: account.log.sent.length,
      }),
    );
  },

  sendChatAction(account, call) {
    const state = account.actionDestination(call.parameters);
    const action = String(call.parameters["action"]);
    if (!ACTIONS.has(action)) throw badRequest("wrong parameter action in request");
    const threadId = integer(call.parameters["message_thread_id"]);
    return commits(() =>
      account.log.addAction({ chatId: state.chat.id, threadId, action, at: account.clock.now() }),
    );
  },

  editMessageText(account, call) {
    refuseParseMode(call.parameters);
    const [state, message] = ownMessage(account, call.parameters);
    const edited = messageText(call.parameters["text"], call.parameters["entities"]);
    if (message.text === undefined) throw badRequest("there is no text in the message to edit");
    return edit(account, call, state, message, textFields(edited.text, edited.entities));
  },

  editMessageCaption(account, call) {
    refuseParseMode(call.parameters);
    const [state, message] = ownMessage(account, call.parameters);
    if (message.text !== undefined) throw badRequest("there is no caption in the message to edit");
    const caption = captionText(call.parameters["caption"], call.parameters["caption_entities"]);
    return edit(account, call, state, message, captionFields(caption));
  },

  editMessageReplyMarkup(account, call) {
    const [state, message] = ownMessage(account, call.parameters);
    return edit(account, call, state, message, {});
  },

  deleteMessage(account, call) {
    const state = account.find(call.parameters["chat_id"]);
    const id = integer(call.parameters["message_id"]);
    const message = id === undefined ? undefined : state.messages.get(id);
    if (!message) throw badRequest("message to delete not found");
    if (account.date() - message.date > DELETABLE_SECONDS)
      throw badRequest("message can't be deleted for everyone");
    return commits(() => state.messages.delete(message.message_id));
  },

  setMessageReaction(account, call) {
    const state = account.findOpen(call.parameters["chat_id"]);
    if (!state.messages.has(integer(call.parameters["message_id"]) ?? 0)) {
      throw badRequest("message to react not found");
    }
    const reaction = call.parameters["reaction"] ?? [];
    if (!Array.isArray(reaction) || reaction.length > 1) throw badRequest("REACTIONS_TOO_MANY");
    if (!reaction.every(isReactionEmoji)) throw badRequest("REACTION_INVALID");
    return commits(() => undefined);
  },

  answerCallbackQuery(account, call) {
    const asked = account.callbackQueries.get(String(call.parameters["callback_query_id"]));
    // Telegram waits for an answer about as long as it keeps the update.
    if (asked === undefined || account.clock.now() - asked > 150_000) {
      throw badRequest("query is too old and response timeout expired or query ID is invalid");
    }
    return commits(() => undefined);
  },

  getFile(account, call) {
    const file = account.files.link(string(call.parameters["file_id"]));
    const { fileId, uniqueId, size, path } = file;
    return { result: { file_id: fileId, file_unique_id: uniqueId, file_size: size, file_path: path } };
  },

  getChat(account, call) {
    const { chat } = account.find(call.parameters["chat_id"]);
    return { result: { ...chat, accent_color_id: 0, max_reaction_count: 11, accepted_gift_types: {} } };
  },

  getChatMember(account, call) {
    const state = account.find(call.parameters["chat_id"]);
    const userId = integer(call.parameters["user_id"]);
    if (userId === account.me.id) {
      return { result: { status: state.closed === undefined ? "member" : "left", user: account.me } };
    }
    const user = state.members.get(userId ?? 0);
    if (!user) throw badRequest("member not found");
    return { result: { status: "member", user } };
  },

  setMyCommands(account, call) {
    const commands = call.parameters["commands"];
    if (!Array.isArray(commands) || commands.length > 100) throw badRequest("BOT_COMMANDS_TOO_MUCH");
    for (const { command, description } of commands as { command?: unknown; description?: unknown }[]) {
      if (!/^[a-z0-9_]{1,32}$/.test(String(command))) throw badRequest("BOT_COMMAND_INVALID");
      if (!/^.{1,256}$/su.test(string(description))) throw badRequest("BOT_COMMAND_DESCRIPTION_INVALID");
    }
    return commits(() => account.commands.set(commandScope(call.parameters), commands));
  },

  getMyCommands: (account, call) => ({ result: account.commands.get(commandScope(call.parameters)) ?? [] }),

  setWebhook(account, call) {
    const url = string(call.parameters["url"]);
    if (url !== "" && !URL.canParse(url)) throw badRequest("invalid webhook URL specified");
    return commits(() => {
      changeQueue(account, call.parameters);
      if (url !== "") account.queue.endPoll("terminated by setWebhook request");
      const connections = integer(call.parameters["max_connections"]) ?? 40;
      const secret = string(call.parameters["secret_token"]);
      account.webhook = url === "" ? undefined : { url, connections, secret };
      account.webhookChanged();
    });
  },

  deleteWebhook: (account, call) =>
    commits(() => {
      changeQueue(account, call.parameters);
      account.webhook = undefined;
      account.webhookChanged();
    }),

  getWebhookInfo(account) {
    const error = account.webhook?.lastError;
    const allowed = account.queue.allowed();
    return {
      result: {
        url: account.webhook?.url ?? "",
        has_custom_certificate: false,
        pending_update_count: account.queue.pending().length,
        ...(account.webhook && { max_connections: account.webhook.connections }),
        ...(allowed && { allowed_updates: allowed }),
        ...(error && { last_error_date: error.date, last_error_message: error.message }),
      },
    };
  },
};

/** What a draft in this chat shows now; a sent message or 30 s end it. */
export function shownDraft(account: Account, chatId: number): string | undefined {
  const draft = account.log.drafts.findLast((item) => item.chatId === chatId);
  if (!draft || account.clock.now() - draft.at >= DRAFT_MS) return undefined;
  return account.log.sent.slice(draft.sentBefore).some((item) => item.chatId === chatId)
    ? undefined
    : draft.text;
}

function textFields(text: string, entities: FormattedText["entities"]): Partial<Message> {
  return { text, ...(entities.length > 0 && { entities: [...entities] }) };
}

function previewField(options: unknown): Partial<Message> {
  if (typeof options !== "object" || options === null) return {};
  return { link_preview_options: options }; // an object of optional members only
}

function ownMessage(account: Account, parameters: Parameters): [ChatState, Message] {
  const state = account.findOpen(parameters["chat_id"]);
  const message = state.messages.get(integer(parameters["message_id"]) ?? 0);
  if (!message) throw badRequest("message to edit not found");
  if (message.from?.id !== account.me.id) throw badRequest("message can't be edited");
  return [state, message];
}

/** `content` replaces the message's text or caption; without a keyboard in the call the old one goes away. */
function edit(
  account: Account,
  call: Call,
  state: ChatState,
  message: Message,
  content: Partial<Message>,
): Answer {
  const { entities, caption, caption_entities, reply_markup: _replaced, ...rest } = message;
  const replaces = Object.keys(content).length > 0 || call.method === "editMessageCaption";
  const kept = replaces ? rest : { ...rest, ...definedOnly({ entities, caption, caption_entities }) };
  const markup = call.parameters["reply_markup"];
  checkButtons(markup);
  const edited: Message = { ...kept, ...content, ...(hasInlineKeyboard(markup) && { reply_markup: markup }) };
  if (isSame(message, edited)) {
    throw badRequest(
      "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
    );
  }
  return {
    commit() {
      const stamped = { ...edited, edit_date: account.date() };
      state.messages.set(message.message_id, stamped);
      return stamped;
    },
  };
}

function isSame(before: Message, after: Message): boolean {
  return JSON.stringify(visible(before)) === JSON.stringify(visible(after));
}

function visible(message: Message): unknown {
  const { text, entities = [], caption, caption_entities = [], reply_markup } = message;
  return [text, entities, caption, caption_entities, reply_markup];
}

function definedOnly(fields: Partial<Record<keyof Message, unknown>>): Partial<Message> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function commandScope(parameters: Parameters): string {
  return JSON.stringify([parameters["scope"] ?? { type: "default" }, parameters["language_code"] ?? ""]);
}

function changeQueue(account: Account, parameters: Parameters): void {
  account.queue.allow(parameters["allowed_updates"]);
  if (flag(parameters["drop_pending_updates"])) account.queue.drop();
}
