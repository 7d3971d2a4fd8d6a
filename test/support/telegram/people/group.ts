import type { Chat, Message, User } from "grammy/types";
import { botUser, type Account } from "../account.ts";
import type { ChatState, Topic } from "../chats.ts";
import { moveBot } from "../member-changes.ts";
import { isIn, type AdminRight, type Permission } from "../membership.ts";
import { Voice } from "../people.ts";
import { ANONYMOUS_ADMIN, CHANNEL_BOT, type Person, userOf } from "./person.ts";
import { serviceMessage } from "../service.ts";

const TOPIC_COLOR = 7_322_096;

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

  // Who speaks

  as(person: Person): Voice {
    return new Voice(this.#account, this.#state, { from: userOf(person) });
  }

  /** An administrator who writes in the group's name; nobody can tell which one. */
  anonymousAdmin(signature?: string): Voice {
    return new Voice(this.#account, this.#state, {
      from: ANONYMOUS_ADMIN,
      sender_chat: this.#state.chat,
      ...(signature !== undefined && { author_signature: signature }),
    });
  }

  /** Somebody who writes in the name of a channel of theirs. */
  asChannel(channel: Chat.ChannelChat): Voice {
    return new Voice(this.#account, this.#state, { from: CHANNEL_BOT, sender_chat: channel });
  }

  join(person: Person): void {
    const user = userOf(person);
    this.#state.members.set(user.id, user);
    this.#service({ from: user, new_chat_members: [user] });
    this.#tellOfMember(user, "left", "member");
  }

  leave(person: Person): void {
    const user = userOf(person);
    this.#state.members.delete(user.id);
    this.#service({ from: user, left_chat_member: user });
    this.#tellOfMember(user, "member", "left");
  }

  // Topics of a forum

  /** Makes a topic in a forum and gives its number, which is the id of the message that tells of it. */
  topic(name: string, by: Person): number {
    return this.#service({
      from: userOf(by),
      is_topic_message: true,
      forum_topic_created: { name, icon_color: TOPIC_COLOR },
    }).message_id;
  }

  renameTopic(topic: number, name: string, by: Person): void {
    this.#known(topic).name = name;
    this.#inTopic(topic, by, { forum_topic_edited: { name } });
  }

  closeTopic(topic: number, by: Person): void {
    this.#known(topic).state = "closed";
    this.#inTopic(topic, by, { forum_topic_closed: {} });
  }

  reopenTopic(topic: number, by: Person): void {
    this.#known(topic).state = "open";
    this.#inTopic(topic, by, { forum_topic_reopened: {} });
  }

  /** Nobody is told of it; sends to it are refused. */
  deleteTopic(topic: number): void {
    this.#known(topic).state = "deleted";
  }

  // What the bot is here

  /** Adds the bot, with the privacy that BotFather says now. */
  addBot(by: Person): void {
    const from = userOf(by);
    if (isIn(this.#state.bot)) throw new Error(`the bot is in chat ${this.chatId}`);
    moveBot(this.#account, this.#state, from, { status: "member" });
    this.#service({ from, new_chat_members: [botUser(this.#account.me)] });
  }

  /** Every send answers 403 from now on. */
  removeBot(by: Person): void {
    const from = userOf(by);
    const service = this.#account.keep(this.#state, { from, left_chat_member: botUser(this.#account.me) });
    this.#account.tell(this.#state, service); // the last that it gets from here
    moveBot(this.#account, this.#state, from, { status: "kicked" });
  }

  promoteBot(by: Person, rights: readonly AdminRight[] = []): void {
    moveBot(this.#account, this.#state, userOf(by), { status: "administrator", rights });
  }

  /** Makes it a plain member, or one that may send only what is allowed. */
  demoteBot(by: Person, allowed?: readonly Permission[]): void {
    const after = allowed ? ({ status: "restricted", allowed } as const) : ({ status: "member" } as const);
    moveBot(this.#account, this.#state, userOf(by), after);
  }

  #service(content: Partial<Message>): Message {
    return serviceMessage(this.#account, this.#state, content);
  }

  #inTopic(topic: number, by: Person, content: Partial<Message>): void {
    this.#service({ from: userOf(by), message_thread_id: topic, is_topic_message: true, ...content });
  }

  #known(topic: number): Topic {
    const known = this.#state.topics.get(topic);
    if (!known) throw new Error(`no topic ${topic} in chat ${this.chatId}`);
    return known;
  }

  #tellOfMember(user: User, before: "member" | "left", after: "member" | "left"): void {
    if (this.#state.bot.status !== "administrator") return;
    this.#account.enqueue({
      chat_member: {
        chat: this.#state.chat,
        from: user,
        date: this.#account.date(),
        old_chat_member: { status: before, user },
        new_chat_member: { status: after, user },
      },
    });
  }
}
