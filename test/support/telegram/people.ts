import type { BotCommand, Message, Poll, ReactionType, ReactionTypeEmoji, User } from "grammy/types";
import { commandsShown } from "./commands.ts";
import { foundEntities } from "./people/found-entities.ts";
import { offers } from "./keyboard.ts";
import { moveBot } from "./member-changes.ts";
import { CLOSED } from "./membership.ts";
import { serviceMessage } from "./service.ts";
import { Writer } from "./people/writer.ts";

/** One person in one chat, and in one of its topics. Whatever they do becomes an update for the bot, if it gets such. */
export class Voice extends Writer {
  /** The same person in a topic of this chat, which is made if it is new. */
  in(topic: number): Voice {
    this.account.meetTopic(this.chatId, topic, `Topic ${topic}`);
    return new Voice(this.account, this.state, this.speaker, topic);
  }

  /** Changes the text of an own message. */
  edit(messageId: number, text: string): Message {
    const { entities: _old, ...rest } = this.found(messageId);
    return this.#change({ ...rest, text, ...foundEntities("entities", text) });
  }

  editCaption(messageId: number, caption: string): Message {
    const { caption_entities: _old, ...rest } = this.found(messageId);
    return this.#change({ ...rest, caption, ...foundEntities("caption_entities", caption) });
  }

  /** Something changes that bots cannot see, such as a link's preview: an edit in which everything is as before. */
  touch(messageId: number): Message {
    return this.#change(this.found(messageId));
  }

  /** A live location has come to another place. */
  moveLive(messageId: number, latitude: number, longitude: number): Message {
    const message = this.found(messageId);
    if (!message.location?.live_period) throw new Error(`message ${messageId} is no live location`);
    return this.#change({ ...message, location: { ...message.location, latitude, longitude } });
  }

  /** Bots are told of it for business accounts only. */
  delete(...messageIds: readonly number[]): void {
    const { messages, business, chat } = this.state;
    for (const id of messageIds) {
      this.found(id);
      messages.delete(id);
    }
    if (!business || chat.type !== "private") return;
    this.account.enqueue({
      deleted_business_messages: {
        business_connection_id: business.id,
        chat,
        message_ids: [...messageIds],
      },
    });
  }

  /** Puts these in place of the reactions that this person has on a message; none takes them away. */
  react(messageId: number, ...emoji: readonly ReactionTypeEmoji["emoji"][]): void {
    const { chat, bot, reactions } = this.state;
    this.found(messageId);
    const key = `${messageId}/${this.speaker.sender_chat?.id ?? this.#user().id}`;
    const before = reactions.get(key) ?? [];
    const after = emoji.map((each): ReactionType => ({ type: "emoji", emoji: each }));
    reactions.set(key, after);
    if (chat.type !== "private" && bot.status !== "administrator") return;
    const date = this.account.date();
    if (chat.type === "channel") {
      const counts = after.map((type) => ({ type, total_count: 1 }));
      this.account.enqueue({
        message_reaction_count: { chat, message_id: messageId, date, reactions: counts },
      });
      return;
    }
    const { sender_chat } = this.speaker;
    this.account.enqueue({
      message_reaction: {
        chat,
        message_id: messageId,
        ...(sender_chat ? { actor_chat: sender_chat } : { user: this.#user() }),
        date,
        old_reaction: [...before],
        new_reaction: after,
      },
    });
  }

  /**
   * Presses an inline button under a message; gives the query's id. A client may still show what was there before an
   * edit or a deletion. @throws Error where there never was such a button.
   */
  press(messageId: number, data: string): string {
    if (!this.#everOffered(messageId, data)) {
      throw new Error(`message ${messageId} in chat ${this.chatId} never had a button with the data ${data}`);
    }
    return this.forgePress(messageId, data);
  }

  /** Sends what no button says, as a client of their own can. */
  forgePress(messageId: number, data: string): string {
    const id = this.account.presses.ask();
    const message = this.state.messages.get(messageId) ?? {
      chat: this.state.chat,
      message_id: messageId,
      date: 0 as const, // Bot API InaccessibleMessage
    };
    this.account.enqueue({
      callback_query: { id, from: this.#user(), chat_instance: String(-this.chatId), data, message },
    });
    return id;
  }

  /** Presses Stop under a draft. @throws Error when the chat shows no such draft with a Stop button. */
  stopDraft(draftId: number): void {
    const { chat } = this.state;
    if (chat.type !== "private") throw new Error("drafts are shown in private chats only");
    this.account.drafts.stop(this.chatId, this.topic, draftId);
    this.account.enqueue({
      stopped_message_generation: {
        chat,
        draft_id: draftId,
        ...(this.topic !== undefined && { message_thread_id: this.topic }),
      },
    });
  }

  /** Votes in a poll. Bots hear of their own polls only, and of who voted only where it is not anonymous. */
  vote(messageId: number, ...options: readonly number[]): void {
    const message = this.found(messageId);
    if (!message.poll) throw new Error(`message ${messageId} is no poll`);
    const key = `${messageId}/${this.#user().id}`;
    const poll = counted(message.poll, this.state.votes.get(key) ?? [], options);
    this.state.votes.set(key, options);
    this.state.messages.set(messageId, { ...message, poll });
    if (message.from?.id !== this.account.me.id) return;
    this.account.enqueue({ poll });
    if (poll.is_anonymous) return;
    const option_ids = [...options];
    this.account.enqueue({
      poll_answer: {
        poll_id: poll.id,
        user: this.#user(),
        option_ids,
        option_persistent_ids: option_ids.map(String),
      },
    });
  }

  pin(messageId: number): void {
    const message = this.found(messageId);
    this.state.pinned = messageId;
    serviceMessage(this.account, this.state, { ...this.speaker, pinned_message: message });
  }

  /** What this person's client offers behind "/". */
  commands(): readonly BotCommand[] {
    const { id, language_code = "" } = this.#user();
    return commandsShown(this.account, this.state.chat, id, language_code);
  }

  /** Sends to this chat answer 403 from now on, and the bot is told. */
  block(): void {
    moveBot(this.account, this.state, this.#user(), { status: "kicked" });
    this.state.closed = CLOSED.blocked;
  }

  unblock(): void {
    moveBot(this.account, this.state, this.#user(), { status: "member" });
  }

  #change(after: Message): Message {
    const edited = { ...after, edit_date: this.account.date() };
    this.state.messages.set(after.message_id, edited);
    this.account.tell(this.state, edited, "edited");
    return edited;
  }

  #everOffered(messageId: number, data: string): boolean {
    const { sent, edits } = this.account.log;
    const isIt = (item: { readonly chatId: number; readonly messageId: number }): boolean =>
      item.chatId === this.chatId && item.messageId === messageId;
    const keyboards = [...sent.items.filter(isIt), ...edits.items.filter(isIt)].map(
      (item) => item.replyMarkup,
    );
    return [this.state.messages.get(messageId)?.reply_markup, ...keyboards].some((each) =>
      offers(each, data),
    );
  }

  #user(): User {
    const { from } = this.speaker;
    if (!from) throw new Error("a channel does nothing that a person does");
    return from;
  }
}

function counted(poll: Poll, before: readonly number[], now: readonly number[]): Poll {
  const voters = (now.length > 0 ? 1 : 0) - (before.length > 0 ? 1 : 0);
  return {
    ...poll,
    total_voter_count: poll.total_voter_count + voters,
    options: poll.options.map((option, index) => ({
      ...option,
      voter_count: option.voter_count + (now.includes(index) ? 1 : 0) - (before.includes(index) ? 1 : 0),
    })),
  };
}
