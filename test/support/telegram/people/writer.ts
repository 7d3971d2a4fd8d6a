import type { Message } from "grammy/types";
import type { Account } from "../account.ts";
import { answered, threadOfAnswer, type ChatState } from "../chats.ts";
import { copied, originOf } from "../copies.ts";
import { foundEntities } from "./found-entities.ts";
import { fileContent, stickerContent, type Extra, type PersonFile, type StickerOf } from "./person-files.ts";
import { SERVICE } from "./person.ts";
import { newPoll } from "../poll.ts";

/** Who writes, as messages show it. */
export type Speaker = Pick<Message, "from" | "sender_chat" | "author_signature">;

const CLIENT_TEXT_LENGTH = 4096; // clients cut a pasted text there

/** One person in one chat, and in one of its topics: what they write. All of it becomes updates, if the bot gets them. */
export class Writer {
  readonly chatId: number;
  protected readonly account: Account;
  protected readonly state: ChatState;
  protected readonly speaker: Speaker;
  protected readonly topic: number | undefined;

  constructor(account: Account, state: ChatState, speaker: Speaker, topic?: number) {
    this.account = account;
    this.state = state;
    this.speaker = speaker;
    this.topic = topic;
    this.chatId = state.chat.id;
    if (speaker.from && !speaker.sender_chat) state.members.set(speaker.from.id, speaker.from);
  }

  sendText(text: string, extra: Extra = {}): Message {
    return this.say({ text, ...foundEntities("entities", text) }, extra);
  }

  /** Presses Start, with the payload of a deep link if there is one. */
  start(payload?: string): Message {
    return this.sendText(payload === undefined ? "/start" : `/start ${payload}`);
  }

  /**
   * Pastes a text of any length: the client sends it in pieces of at most 4,096, cut between words where it can. The
   * blanks at a cut are lost.
   */
  paste(text: string): readonly Message[] {
    return pieces(text).map((piece) => this.sendText(piece));
  }

  /** In three or four sizes, of which the largest has these bytes. */
  sendPhoto(bytes: Uint8Array, options: PersonFile = {}): Message {
    return this.say(fileContent(this.account, "photo", bytes, options), options);
  }

  sendDocument(bytes: Uint8Array, options: PersonFile = {}): Message {
    return this.say(fileContent(this.account, "document", bytes, options), options);
  }

  sendVoice(bytes: Uint8Array, options: PersonFile = {}): Message {
    return this.say(fileContent(this.account, "voice", bytes, options), options);
  }

  sendAudio(bytes: Uint8Array, options: PersonFile = {}): Message {
    return this.say(fileContent(this.account, "audio", bytes, options), options);
  }

  sendVideo(bytes: Uint8Array, options: PersonFile = {}): Message {
    return this.say(fileContent(this.account, "video", bytes, options), options);
  }

  /** Round, and of one length. */
  sendVideoNote(bytes: Uint8Array, options: PersonFile = {}): Message {
    return this.say(fileContent(this.account, "video_note", bytes, options), options);
  }

  /** A GIF, or a video without sound: for older clients it is a document too. */
  sendAnimation(bytes: Uint8Array, options: PersonFile = {}): Message {
    return this.say(fileContent(this.account, "animation", bytes, options), options);
  }

  sendSticker(bytes: Uint8Array, sticker: StickerOf, options: PersonFile = {}): Message {
    return this.say(stickerContent(this.account, bytes, sticker, options), options);
  }

  sendPoll(question: string, options: readonly string[], extra: Extra = {}): Message {
    return this.say({ poll: newPoll(this.account, question, options) }, extra);
  }

  /** What is neither text nor a file: a place, a contact, a roll of dice, a message with blocks. */
  send(content: Partial<Message>, extra: Extra = {}): Message {
    return this.say(content, extra);
  }

  /**
   * Forwards messages of whatever chat, those of an album as one. A comment is a message of its own that the client
   * sends before them. Who hides their name is only named.
   */
  forward(
    messages: Message | readonly Message[],
    { comment, hidden = false }: { readonly comment?: string; readonly hidden?: boolean } = {},
  ): readonly Message[] {
    const said = comment === undefined ? [] : [this.sendText(comment)];
    const all = Array.isArray(messages) ? (messages as readonly Message[]) : [messages as Message]; // one or the other
    const isAlbum =
      all.length > 1 && all.every(({ media_group_id: id }) => id && id === all[0]?.media_group_id);
    const group = isAlbum ? { media_group_id: this.account.mediaGroupId() } : {};
    const forwarded = all.map((message) => {
      const { media_group_id: _old, ...content } = copied(message);
      return this.say(
        { ...content, ...group, forward_origin: hidden ? namedOnly(message) : originOf(message) },
        {},
      );
    });
    return [...said, ...forwarded];
  }

  protected say(content: Partial<Message>, options: PersonFile): Message {
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
    const replied = replyTo === undefined ? undefined : this.found(replyTo);
    const message = this.account.keep(this.state, {
      ...this.speaker,
      ...threadOfAnswer(this.state, replied),
      ...this.#topicFields(),
      ...(replied && { reply_to_message: answered(replied) }),
      ...content,
      ...(mediaGroupId !== undefined && { media_group_id: mediaGroupId }),
      ...(extra.caption !== undefined && foundEntities("caption_entities", extra.caption)),
      ...extra,
    });
    this.account.tell(this.state, message);
    this.#forwardToDiscussion(message);
    return message;
  }

  /** @throws Error of a test that names a message which is not there. */
  protected found(messageId: number): Message {
    const message = this.state.messages.get(messageId);
    if (!message) throw new Error(`no message ${messageId} in chat ${this.chatId}`);
    return message;
  }

  #topicFields(): Partial<Message> {
    const { chat, messages } = this.state;
    const { from } = this.speaker;
    if (chat.is_direct_messages && from) return { direct_messages_topic: { topic_id: from.id, user: from } };
    if (this.topic === undefined) return {};
    const fields = { message_thread_id: this.topic, is_topic_message: true };
    // In a forum a message that answers nothing else "answers" the one that made the topic.
    const maker = chat.type === "supergroup" ? messages.get(this.topic) : undefined;
    return maker ? { ...fields, reply_to_message: answered(maker) } : fields;
  }

  // A channel's posts appear in its discussion group by themselves.
  #forwardToDiscussion(post: Message): void {
    const { chat, linkedTo } = this.state;
    if (chat.type !== "channel" || linkedTo === undefined) return;
    const group = this.account.find(linkedTo);
    const message = this.account.keep(group, {
      ...copied(post),
      from: SERVICE,
      sender_chat: chat,
      is_automatic_forward: true,
      forward_origin: originOf(post),
    });
    this.account.tell(group, message);
  }
}

function pieces(text: string): readonly string[] {
  if (text.length <= CLIENT_TEXT_LENGTH) return [text];
  const head = text.slice(0, CLIENT_TEXT_LENGTH);
  const space = Math.max(head.lastIndexOf(" "), head.lastIndexOf("\n"));
  const whole = /[\ud800-\udbff]$/.test(head) ? CLIENT_TEXT_LENGTH - 1 : CLIENT_TEXT_LENGTH; // no half of an emoji
  const end = space > CLIENT_TEXT_LENGTH / 2 ? space : whole;
  return [text.slice(0, end).trimEnd(), ...pieces(text.slice(end).trimStart())];
}

function namedOnly({ from, date }: Message): Message["forward_origin"] & object {
  return { type: "hidden_user", sender_user_name: from?.first_name ?? "", date };
}
