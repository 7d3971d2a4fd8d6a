import type { Chat, Message, PhotoSize, Update, User } from "grammy/types";
import { botUser, type Account, type ChatState } from "./account.ts";
import { imageSize } from "./files.ts";
import { foundEntities } from "./found-entities.ts";
import { MEDIA, photoSizes } from "./media-methods.ts";
import type { MediaName } from "./sent-log.ts";

export type Person = {
  readonly id: number;
  readonly firstName: string;
  readonly lastName?: string;
  readonly username?: string;
  readonly languageCode?: string;
};

/** `replyTo` names a message of the same chat; everything else is put into the message as it is. */
export type Extra = Partial<Message> & { readonly replyTo?: number };

export type PersonFile = Extra & {
  readonly fileName?: string;
  readonly mimeType?: string;
  /** Seconds. */
  readonly duration?: number;
  readonly mediaGroupId?: string;
  /** A size to declare that is not the true one: for files that are too big, without the bytes. */
  readonly declaredBytes?: number;
  /** The small JPEG that Telegram makes of a video. */
  readonly thumbnail?: Uint8Array;
};

export type StickerOf = {
  readonly emoji: string;
  readonly set: string;
  /** Drawn anew by the client (.tgs), or a video (.webm). */
  readonly moves?: "drawn" | "filmed";
};

/** Why the bot may not write: Telegram's words after "Forbidden: ". */
export const CLOSED = {
  blocked: "bot was blocked by the user",
  deactivated: "user is deactivated",
  kickedFromGroup: "bot was kicked from the group chat",
  kickedFromSupergroup: "bot was kicked from the supergroup chat",
  notMember: "bot is not a member of the supergroup chat",
  deleted: "the group chat was deleted",
} as const;

/** One person in one chat, and in one of its topics. Whatever they do becomes an update for the bot. */
export class Voice {
  readonly chatId: number;
  readonly #account: Account;
  readonly #state: ChatState;
  readonly #user: User;
  readonly #topic: number | undefined;

  constructor(account: Account, state: ChatState, person: Person, topic?: number) {
    this.#account = account;
    this.#state = state;
    this.#user = user(person);
    this.#topic = topic;
    this.chatId = state.chat.id;
    state.members.set(person.id, this.#user);
  }

  /** The same person in a topic of this chat, which is made if it is new. */
  in(topic: number): Voice {
    this.#account.meetTopic(this.chatId, topic, `Topic ${topic}`);
    const { id, first_name, last_name, username, language_code } = this.#user;
    return new Voice(
      this.#account,
      this.#state,
      {
        id,
        firstName: first_name,
        ...(last_name !== undefined && { lastName: last_name }),
        ...(username !== undefined && { username }),
        ...(language_code !== undefined && { languageCode: language_code }),
      },
      topic,
    );
  }

  sendText(text: string, extra: Extra = {}): Message {
    return this.#say({ text, ...foundEntities("entities", text) }, extra);
  }

  /** Presses Start, with the payload of a deep link if there is one. */
  start(payload?: string): Message {
    return this.sendText(payload === undefined ? "/start" : `/start ${payload}`);
  }

  /** In three or four sizes, of which the largest has these bytes. */
  sendPhoto(bytes: Uint8Array, options: PersonFile = {}): Message {
    const file = this.#upload("photo", bytes, options);
    const size = imageSize(file.bytes) ?? { width: 960, height: 1280 };
    return this.#say({ photo: photoSizes(this.#account, file, size) }, options);
  }

  sendDocument(bytes: Uint8Array, options: PersonFile = {}): Message {
    return this.#say({ document: this.#named("document", bytes, options) }, options);
  }

  sendVoice(bytes: Uint8Array, options: PersonFile = {}): Message {
    const { file_name: _none, ...voice } = this.#named("voice", bytes, options);
    return this.#say({ voice: { ...voice, duration: options.duration ?? 1 } }, options);
  }

  sendAudio(bytes: Uint8Array, options: PersonFile = {}): Message {
    const audio = this.#named("audio", bytes, options);
    return this.#say({ audio: { ...audio, duration: options.duration ?? 1 } }, options);
  }

  sendVideo(bytes: Uint8Array, options: PersonFile = {}): Message {
    const video = this.#named("video", bytes, options);
    return this.#say(
      { video: { ...video, duration: options.duration ?? 1, width: 640, height: 480 } },
      options,
    );
  }

  /** Round, and of one length. */
  sendVideoNote(bytes: Uint8Array, options: PersonFile = {}): Message {
    const { file_name: _none, mime_type: _no, ...note } = this.#named("video_note", bytes, options);
    return this.#say({ video_note: { ...note, duration: options.duration ?? 1, length: 240 } }, options);
  }

  /** A GIF, or a video without sound: for older clients it is a document too. */
  sendAnimation(bytes: Uint8Array, options: PersonFile = {}): Message {
    const document = this.#named("animation", bytes, options);
    const animation = { ...document, duration: options.duration ?? 1, width: 160, height: 120 };
    return this.#say({ animation, document }, options);
  }

  sendSticker(bytes: Uint8Array, sticker: StickerOf, options: PersonFile = {}): Message {
    const { emoji, set, moves } = sticker;
    const { file_name: _none, mime_type: _no, ...file } = this.#named("sticker", bytes, options);
    const of = { emoji, set_name: set, is_animated: moves === "drawn", is_video: moves === "filmed" };
    return this.#say({ sticker: { ...file, type: "regular", width: 512, height: 512, ...of } }, options);
  }

  /** What is neither text nor a file: a place, a contact, a poll, a roll of dice. */
  send(content: Partial<Message>, extra: Extra = {}): Message {
    return this.#say(content, extra);
  }

  /** Changes the text of an own message. */
  edit(messageId: number, text: string): Message {
    const before = this.#state.messages.get(messageId);
    if (!before) throw new Error(`no message ${messageId} in chat ${this.chatId}`);
    const { entities: _old, ...rest } = before;
    const edited: Message & Update.Edited = {
      ...rest,
      text,
      ...foundEntities("entities", text),
      edit_date: this.#account.date(),
    };
    this.#state.messages.set(messageId, edited);
    // A person's message is never in a channel; the type cannot see it.
    this.#account.enqueue({ edited_message: edited as NonNullable<Update["edited_message"]> });
    return edited;
  }

  /** Presses an inline button under a message; gives the query's id. */
  press(messageId: number, data: string): string {
    const message = this.#state.messages.get(messageId);
    if (!message) throw new Error(`no message ${messageId} in chat ${this.chatId}`);
    const id = String(3_000_000_000_000 + this.#account.callbackQueries.size);
    this.#account.callbackQueries.set(id, this.#account.clock.now());
    this.#account.enqueue({
      callback_query: { id, from: this.#user, chat_instance: String(-this.chatId), data, message },
    });
    return id;
  }

  /** Presses Stop under a draft. */
  stopDraft(draftId: number): void {
    const { chat } = this.#state;
    if (chat.type !== "private") throw new Error("drafts are shown in private chats only");
    this.#account.enqueue({
      stopped_message_generation: {
        chat,
        draft_id: draftId,
        ...(this.#topic !== undefined && { message_thread_id: this.#topic }),
      },
    });
  }

  /** Sends to this chat answer 403 from now on, and the bot is told. */
  block(): void {
    this.#membership("member", "kicked");
    this.#state.closed = CLOSED.blocked;
  }

  unblock(): void {
    this.#membership("kicked", "member");
    delete this.#state.closed;
  }

  #say(content: Partial<Message>, options: PersonFile): Message {
    const {
      replyTo,
      fileName: _n,
      mimeType: _m,
      duration: _d,
      declaredBytes: _b,
      thumbnail: _t,
      mediaGroupId,
      ...extra
    } = options;
    const message = this.#account.keep(this.#state, {
      from: this.#user,
      ...this.#topicFields(),
      ...(replyTo !== undefined && { reply_to_message: this.#replied(replyTo) }),
      ...content,
      ...(mediaGroupId !== undefined && { media_group_id: mediaGroupId }),
      ...(extra.caption !== undefined && foundEntities("caption_entities", extra.caption)),
      ...extra,
    });
    // A person's message is never in a channel; the type cannot see it.
    this.#account.enqueue({ message: message as NonNullable<Update["message"]> });
    return message;
  }

  // In a forum a message that answers nothing else "answers" the one that made the topic.
  #topicFields(): Partial<Message> {
    if (this.#topic === undefined) return {};
    const fields = { message_thread_id: this.#topic, is_topic_message: true };
    return this.#state.messages.has(this.#topic) && this.#state.chat.type === "supergroup"
      ? { ...fields, reply_to_message: this.#replied(this.#topic) }
      : fields;
  }

  #replied(messageId: number): NonNullable<Message["reply_to_message"]> {
    const message = this.#state.messages.get(messageId);
    if (!message) throw new Error(`no message ${messageId} in chat ${this.chatId}`);
    const { reply_to_message: _deeper, ...oneLevel } = message;
    // The type wants the key present and undefined; on the wire it is absent.
    return oneLevel as NonNullable<Message["reply_to_message"]>;
  }

  #upload(kind: MediaName, bytes: Uint8Array, options: PersonFile) {
    const { folder, extension, mimeType } = MEDIA[kind];
    return this.#account.files.add({
      bytes,
      folder,
      extension: /\.(\w+)$/.exec(options.fileName ?? "")?.[1] ?? extension,
      mimeType: options.mimeType ?? mimeType,
      ...(options.fileName !== undefined && { fileName: options.fileName }),
      ...(options.declaredBytes !== undefined && { declaredBytes: options.declaredBytes }),
    });
  }

  #named(kind: MediaName, bytes: Uint8Array, options: PersonFile) {
    const file = this.#upload(kind, bytes, options);
    return {
      file_id: file.fileId,
      file_unique_id: file.uniqueId,
      file_size: file.size,
      ...(file.fileName !== undefined && { file_name: file.fileName }),
      ...(file.mimeType !== undefined && { mime_type: file.mimeType }),
      ...(options.thumbnail !== undefined && { thumbnail: this.#thumbnail(options.thumbnail) }),
    };
  }

  #thumbnail(bytes: Uint8Array): PhotoSize {
    const file = this.#account.files.add({ bytes, folder: "thumbnails", extension: "jpg" });
    const size = imageSize(file.bytes) ?? { width: 320, height: 240 };
    return { file_id: file.fileId, file_unique_id: file.uniqueId, file_size: file.size, ...size };
  }

  #membership(before: "member" | "kicked", after: "member" | "kicked"): void {
    const bot = botUser(this.#account.me);
    const member = (status: "member" | "kicked") =>
      status === "member" ? { status, user: bot } : { status, user: bot, until_date: 0 };
    this.#account.enqueue({
      my_chat_member: {
        chat: this.#state.chat,
        from: this.#user,
        date: this.#account.date(),
        old_chat_member: member(before),
        new_chat_member: member(after),
      },
    });
  }
}

/** A group; people speak in it through `as`. */
export class Group {
  readonly chatId: number;
  readonly #account: Account;
  readonly #state: ChatState;

  constructor(account: Account, chat: Chat.GroupChat | Chat.SupergroupChat) {
    this.#account = account;
    this.#state = account.meet(chat);
    this.chatId = chat.id;
  }

  as(person: Person): Voice {
    return new Voice(this.#account, this.#state, person);
  }

  /** Makes a topic in a forum and gives its number, which is the id of the message that tells of it. */
  topic(name: string, by: Person): number {
    const message = this.#account.keep(this.#state, {
      from: user(by),
      is_topic_message: true,
      forum_topic_created: { name, icon_color: 7_322_096 },
    });
    message.message_thread_id = message.message_id;
    this.#account.meetTopic(this.chatId, message.message_id, name);
    // A group is no channel; the type cannot see it.
    this.#account.enqueue({ message: message as NonNullable<Update["message"]> });
    return message.message_id;
  }

  closeTopic(topic: number): void {
    const known = this.#state.topics.get(topic);
    if (!known) throw new Error(`no topic ${topic} in chat ${this.chatId}`);
    known.closed = true;
  }
}

function user(person: Person): User {
  return {
    id: person.id,
    is_bot: false,
    first_name: person.firstName,
    ...(person.lastName !== undefined && { last_name: person.lastName }),
    ...(person.username !== undefined && { username: person.username }),
    ...(person.languageCode !== undefined && { language_code: person.languageCode }),
  };
}
