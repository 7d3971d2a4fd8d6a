import type { Message } from "grammy/types";
import type { Account } from "../account.ts";
import type { ChatState } from "../chats.ts";
import { checkMarkup, hasInlineKeyboard } from "../keyboard.ts";
import { checkedSource, mediaFields, stored } from "../media.ts";
import { hasRight } from "../membership.ts";
import {
  captionFields,
  commits,
  type Answer,
  type Methods,
  previewField,
  refuseParseMode,
  richContent,
  textFields,
} from "../method.ts";
import { badRequest } from "../refusal.ts";
import { integer, string, type Call, type Parameters } from "../request.ts";
import { plainOf } from "../rich/message.ts";
import type { MediaName } from "../sent-log.ts";
import { captionText, messageText } from "../text.ts";

const DELETABLE_SECONDS = 48 * 3600; // Bot API deleteMessage
const MOST_DELETED = 100; // Bot API deleteMessages: 1–100
const EDITABLE_MEDIA: readonly MediaName[] = ["photo", "video", "animation", "audio", "document"];
/** What an edit of text or media puts another in place of. */
const CONTENT = [
  ...(["text", "entities", "rich_message", "caption", "caption_entities", "link_preview_options"] as const),
  ...(["photo", "video", "animation", "audio", "document", "voice", "video_note", "sticker"] as const),
];

/** Changes and deletions of messages that are there. */
export const editMethods: Methods = {
  editMessageText(account, call) {
    const { parameters } = call;
    refuseParseMode(parameters);
    const [state, message] = ownMessage(account, parameters);
    // A server from before rich messages does not know the parameter.
    const isRich = parameters["rich_message"] !== undefined && !account.lacks.has("rich");
    if (isRich && string(parameters["text"]) !== "") {
      throw badRequest("emulator: exactly one of text and rich_message must be given");
    }
    const content = isRich
      ? { rich_message: richContent(account, call, { inDraft: false }).message }
      : {
          ...textFields(messageText(parameters["text"], parameters["entities"])),
          ...previewField(parameters["link_preview_options"]),
        };
    if (message.text === undefined && message.rich_message === undefined) {
      throw badRequest("there is no text in the message to edit");
    }
    return edit(account, call, state, message, content);
  },

  editMessageCaption(account, call) {
    const { parameters } = call;
    refuseParseMode(parameters);
    const [state, message] = ownMessage(account, parameters);
    const { caption: _c, caption_entities: _e, ...uncaptioned } = message;
    if (!EDITABLE_MEDIA.some((kind) => message[kind] !== undefined) && message.voice === undefined) {
      throw badRequest("there is no caption in the message to edit");
    }
    const caption = captionFields(captionText(parameters["caption"], parameters["caption_entities"]));
    return edit(account, call, state, message, { ...contentOf(uncaptioned), ...caption });
  },

  editMessageMedia(account, call) {
    const [state, message] = ownMessage(account, call.parameters);
    const media = call.parameters["media"];
    if (typeof media !== "object" || media === null) throw badRequest("can't parse media JSON object");
    const input = media as Parameters; // an object, checked above
    refuseParseMode(input);
    const kind = EDITABLE_MEDIA.find((known) => known === input["type"]);
    if (!kind)
      throw badRequest("can't parse InputMedia: type \"" + string(input["type"]) + '" is unsupported');
    if (message.media_group_id !== undefined && kind === "animation") {
      throw badRequest("can't use the media of the specified type in the album");
    }
    const source = checkedSource(account, call, kind, input["media"]);
    const caption = captionFields(captionText(input["caption"], input["caption_entities"]));
    return edit(account, call, state, message, {
      ...mediaFields(account, stored(account, source), input),
      ...caption,
    });
  },

  editMessageReplyMarkup(account, call) {
    const [state, message] = ownMessage(account, call.parameters);
    return edit(account, call, state, message, contentOf(message));
  },

  deleteMessage(account, call) {
    const { parameters } = call;
    const state = account.find(parameters["chat_id"]);
    const id = integer(parameters["message_id"]);
    const message = id === undefined ? undefined : state.messages.get(id);
    if (!message) throw badRequest("message to delete not found");
    checkDeletable(account, state, message);
    return commits(() => remove(account, state, [message.message_id]));
  },

  /** What is not there is passed over. */
  deleteMessages(account, call) {
    const state = account.find(call.parameters["chat_id"]);
    const given = call.parameters["message_ids"];
    if (!Array.isArray(given) || given.length === 0)
      throw badRequest("message identifiers are not specified");
    if (given.length > MOST_DELETED) throw badRequest("too many message identifiers specified");
    const found = given.flatMap((id) => state.messages.get(integer(id) ?? 0) ?? []);
    for (const message of found) checkDeletable(account, state, message);
    return commits(() =>
      remove(
        account,
        state,
        found.map(({ message_id }) => message_id),
      ),
    );
  },
};

function ownMessage(account: Account, parameters: Parameters): [ChatState, Message] {
  if (parameters["inline_message_id"] !== undefined) {
    throw badRequest("emulator: edits of inline messages are unsupported");
  }
  const state = account.findOpen(parameters);
  const message = state.messages.get(integer(parameters["message_id"]) ?? 0);
  if (!message) throw badRequest("message to edit not found");
  if (!isOwn(account, message)) throw badRequest("message can't be edited");
  return [state, message];
}

function isOwn({ me }: Account, { from, chat, sender_business_bot }: Message): boolean {
  // In a channel, who may edit may edit all.
  return from?.id === me.id || sender_business_bot?.id === me.id || chat.type === "channel";
}

function contentOf(message: Message): Partial<Message> {
  return Object.fromEntries(
    CONTENT.flatMap((name) => (message[name] === undefined ? [] : [[name, message[name]]])),
  );
}

/** `content` takes the place of all content; without a keyboard in the call the old one goes away. */
function edit(
  account: Account,
  call: Call,
  state: ChatState,
  message: Message,
  content: Partial<Message>,
): Answer {
  const markup = call.parameters["reply_markup"];
  checkMarkup(markup);
  const bare = { ...message };
  for (const name of [...CONTENT, "reply_markup"] as const) delete bare[name];
  const edited: Message = { ...bare, ...content, ...(hasInlineKeyboard(markup) && { reply_markup: markup }) };
  if (isSame(message, edited)) {
    throw badRequest(
      "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
    );
  }
  return {
    commit() {
      const stamped = { ...edited, edit_date: account.date() };
      state.messages.set(message.message_id, stamped);
      account.log.edits.add({
        method: call.method,
        chatId: state.chat.id,
        messageId: message.message_id,
        at: account.clock.now(),
        text: stamped.text ?? stamped.caption ?? plainOf(stamped.rich_message),
        replyMarkup: markup,
        message: stamped,
      });
      if (state.business) account.tell(state, stamped, "edited"); // as what it sends there comes back
      return stamped;
    },
  };
}

function isSame(before: Message, after: Message): boolean {
  return JSON.stringify(visible(before)) === JSON.stringify(visible(after));
}

// The options of a preview do not count: an edit that changes nothing else is refused.
function visible(message: Message): unknown {
  const {
    link_preview_options: _options,
    entities = [],
    caption_entities = [],
    ...rest
  } = contentOf(message);
  return [
    Object.entries(rest).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    entities,
    caption_entities,
    message.reply_markup,
  ];
}

function checkDeletable(account: Account, { chat, bot }: ChatState, message: Message): void {
  const old = account.date() - message.date > DELETABLE_SECONDS;
  if (old) throw badRequest("message can't be deleted for everyone");
  const may = chat.type === "private" || isOwn(account, message) || hasRight(bot, "can_delete_messages");
  if (!may) throw badRequest("message can't be deleted");
}

function remove(account: Account, state: ChatState, messageIds: readonly number[]): void {
  for (const id of messageIds) state.messages.delete(id);
  account.log.deletions.add({ chatId: state.chat.id, messageIds, at: account.clock.now() });
}
