import type { Chat, Message, Update, User, UserFromGetMe } from "grammy/types";
import type { Clock } from "../../../src/core/clock.ts";
import { FileStore } from "./files.ts";
import { UpdateQueue } from "./queue.ts";
import { badRequest, Refusal } from "./refusal.ts";
import { flag, integer, type Call, type Parameters } from "./request.ts";
import { SentLog, type SentMedia } from "./sent-log.ts";

export type ChatState = {
  readonly chat: Chat;
  readonly messages: Map<number, Message>;
  readonly topics: Map<number, { readonly name: string; closed: boolean }>;
  readonly members: Map<number, User>;
  /** What every send answers while the bot may not write here. */
  closed?: string;
  movedTo?: number;
  /** Ids are never given twice, also not after a deletion. Used by supergroups only. */
  lastMessageId: number;
};

/** Where a message goes, checked before anything is changed. */
export type Destination = { readonly state: ChatState; readonly fields: Partial<Message> };

export type Webhook = {
  readonly url: string;
  readonly connections: number;
  readonly secret: string;
  /** What getWebhookInfo tells of the last failure. */
  lastError?: { readonly date: number; readonly message: string };
};

const GENERAL_TOPIC = 1;
const BUTTON_DATA_BYTES = 64; // Bot API InlineKeyboardButton.callback_data: 1–64 bytes

/** Everything that Telegram knows of one bot: chats, messages, files, commands, and the updates that wait for it. */
export class Account {
  readonly me: UserFromGetMe;
  readonly clock: Clock;
  readonly queue: UpdateQueue;
  readonly files: FileStore;
  readonly log = new SentLog();
  readonly chats = new Map<number, ChatState>();
  readonly commands = new Map<string, unknown>();
  readonly callbackQueries = new Map<string, number>();
  webhook: Webhook | undefined;
  /** Called after `webhook` was set or taken away. */
  webhookChanged: () => void = () => undefined;
  /** One for the whole account: private chats and basic groups share it. */
  lastMessageId = 0;
  #lastMediaGroup = 0;

  constructor(me: UserFromGetMe, clock: Clock, queue: UpdateQueue) {
    this.me = me;
    this.clock = clock;
    this.queue = queue;
    this.files = new FileStore(clock);
  }

  /** Seconds since 1970, as messages carry them. */
  date(): number {
    return Math.floor(this.clock.now() / 1000);
  }

  mediaGroupId(): string {
    this.#lastMediaGroup += 1;
    return `1400000000000${String(this.#lastMediaGroup).padStart(4, "0")}`;
  }

  /** The chat under this id, which becomes known to the bot if it is not. */
  meet(chat: Chat): ChatState {
    const known = this.chats.get(chat.id);
    if (known) return known;
    // In a forum the number 1 is General's.
    const lastMessageId = chat.is_forum ? GENERAL_TOPIC : 0;
    const state = { chat, messages: new Map(), topics: new Map(), members: new Map(), lastMessageId };
    this.chats.set(chat.id, state);
    return state;
  }

  /** @throws Refusal "chat not found", or the new id of a group that moved. */
  find(id: unknown): ChatState {
    const state =
      typeof id === "string" && id.startsWith("@")
        ? [...this.chats.values()].find(
            ({ chat }) => chat.username?.toLowerCase() === id.slice(1).toLowerCase(),
          )
        : this.chats.get(integer(id) ?? 0);
    if (id === undefined || id === "") throw badRequest("chat_id is empty");
    if (!state) throw badRequest("chat not found");
    if (state.movedTo !== undefined) {
      throw badRequest("group chat was upgraded to a supergroup chat", { migrate_to_chat_id: state.movedTo });
    }
    return state;
  }

  /** As `find`, where the bot must be able to write. @throws Refusal 403 */
  findOpen(id: unknown): ChatState {
    const state = this.find(id);
    if (state.closed !== undefined) throw new Refusal(403, `Forbidden: ${state.closed}`);
    return state;
  }

  /** Checks chat, topic and reply of a send. @throws Refusal */
  destination(parameters: Parameters): Destination {
    const state = this.findOpen(parameters["chat_id"]);
    checkButtons(parameters["reply_markup"]);
    const thread = integer(parameters["message_thread_id"]);
    if (thread !== undefined) checkTopic(state, thread, false);
    const reply = this.#reply(state, parameters);
    const repliedThread = state.topics.size > 0 ? reply.reply_to_message?.message_thread_id : undefined;
    const topic = thread ?? repliedThread;
    return {
      state,
      fields: {
        ...reply,
        ...(topic !== undefined && { message_thread_id: topic, is_topic_message: true }),
      },
    };
  }

  /** The action goes to General by its number, which no send may name. */
  actionDestination(parameters: Parameters): ChatState {
    const state = this.findOpen(parameters["chat_id"]);
    const thread = integer(parameters["message_thread_id"]);
    if (thread !== undefined) checkTopic(state, thread, true);
    return state;
  }

  /** Puts the bot's message into the chat and into the log. */
  send(call: Call, { state, fields }: Destination, content: Partial<Message>, media?: SentMedia): Message {
    const markup = call.parameters["reply_markup"];
    const message = this.keep(state, {
      from: botUser(this.me),
      ...fields,
      ...content,
      ...(hasInlineKeyboard(markup) && { reply_markup: markup }),
    });
    const { parameters } = call;
    this.log.addSent({
      method: call.method,
      chatId: state.chat.id,
      messageId: message.message_id,
      at: this.clock.now(),
      text: message.text,
      entities: message.entities ?? message.caption_entities ?? [],
      caption: message.caption,
      media,
      mediaGroupId: message.media_group_id,
      threadId: message.message_thread_id,
      replyTo: message.reply_to_message?.message_id,
      replyParameters: parameters["reply_parameters"],
      silent: flag(parameters["disable_notification"]),
      linkPreview: parameters["link_preview_options"],
      replyMarkup: markup,
      message,
    });
    return message;
  }

  /** Gives a message its id and date and puts it into the chat. */
  keep(state: ChatState, content: Partial<Message>): Message {
    const message: Message = {
      message_id: this.#nextMessageId(state),
      date: this.date(),
      chat: state.chat,
      ...content,
    };
    state.messages.set(message.message_id, message);
    return message;
  }

  /** Takes in a message that a test made by hand, so that it can be replied to. */
  adopt(message: Message): void {
    const state = this.meet(message.chat);
    if (message.from) state.members.set(message.from.id, message.from);
    state.messages.set(message.message_id, message);
    if (message.is_topic_message && message.message_thread_id !== undefined) {
      this.meetTopic(message.chat.id, message.message_thread_id, "Topic");
    }
    const counter = countsForItself(message.chat) ? state : this;
    counter.lastMessageId = Math.max(counter.lastMessageId, message.message_id);
  }

  meetTopic(chatId: number, topic: number, name: string): void {
    const topics = this.find(chatId).topics;
    if (!topics.has(topic)) topics.set(topic, { name, closed: false });
  }

  /** @throws Error when Telegram would have dropped it as expired. */
  enqueue(update: Omit<Update, "update_id">): Update | undefined {
    const added = this.queue.add(update);
    if (added && !this.queue.pending().includes(added)) {
      throw new Error(
        "this update's date lies more than 24 h before the emulator's clock; Telegram would have dropped it: use a later date or a manual clock",
      );
    }
    return added;
  }

  #nextMessageId(state: ChatState): number {
    const counter = countsForItself(state.chat) ? state : this;
    counter.lastMessageId += 1;
    return counter.lastMessageId;
  }

  #reply(state: ChatState, parameters: Parameters): Partial<Message> {
    // Older clients name the message directly.
    const given = parameters["reply_parameters"] ?? {
      message_id: parameters["reply_to_message_id"],
      allow_sending_without_reply: parameters["allow_sending_without_reply"],
    };
    if (typeof given !== "object" || given === null)
      throw badRequest("can't parse reply parameters JSON object");
    const { message_id, allow_sending_without_reply, quote } = given as Parameters; // an object, checked above
    const id = integer(message_id);
    if (id === undefined) return {};
    const replied = state.messages.get(id);
    if (!replied) {
      if (flag(allow_sending_without_reply)) return {};
      throw badRequest("message to be replied not found");
    }
    const position = typeof quote === "string" ? (replied.text ?? replied.caption ?? "").indexOf(quote) : 0;
    if (position < 0) throw badRequest("QUOTE_TEXT_INVALID");
    const { reply_to_message: _deeper, ...oneLevel } = replied;
    return {
      // The type wants the key present and undefined; on the wire it is absent.
      reply_to_message: oneLevel as NonNullable<Message["reply_to_message"]>,
      ...(typeof quote === "string" && { quote: { text: quote, position, is_manual: true } }),
    };
  }
}

function countsForItself(chat: Chat): boolean {
  return chat.type === "supergroup" || chat.type === "channel";
}

export function botUser(me: UserFromGetMe): User {
  return { id: me.id, is_bot: true, first_name: me.first_name, username: me.username };
}

// General is number 1 for actions only; a send to it names no topic. Reply threads of plain groups are no topics.
function checkTopic(state: ChatState, thread: number, forAction: boolean): void {
  if (forAction && thread === GENERAL_TOPIC && state.chat.is_forum) return;
  const topic = state.topics.get(thread);
  if (!topic) throw badRequest("message thread not found");
  if (topic.closed) throw badRequest("TOPIC_CLOSED");
}

type Markup = NonNullable<Message["reply_markup"]>;

export function hasInlineKeyboard(markup: unknown): markup is Markup {
  return typeof markup === "object" && markup !== null && "inline_keyboard" in markup;
}

/** @throws Refusal for a button whose data is longer than 64 bytes. */
export function checkButtons(markup: unknown): void {
  if (!hasInlineKeyboard(markup)) return;
  for (const button of markup.inline_keyboard.flat()) {
    if (!("callback_data" in button) || button.callback_data === undefined) continue;
    const bytes = Buffer.byteLength(button.callback_data);
    if (bytes < 1 || bytes > BUTTON_DATA_BYTES) throw badRequest("BUTTON_DATA_INVALID");
  }
}
