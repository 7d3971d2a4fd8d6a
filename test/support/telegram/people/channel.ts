import type { Chat } from "grammy/types";
import type { Account } from "../account.ts";
import type { ChatState } from "../chats.ts";
import type { Group } from "./group.ts";
import { Voice } from "../people.ts";
import { type Person, userOf } from "./person.ts";

/** A channel that the bot is an administrator of; what is posted in it has no person behind it. */
export class Channel {
  readonly chat: Chat.ChannelChat;
  readonly #account: Account;
  readonly #state: ChatState;

  constructor(account: Account, chat: Chat.ChannelChat) {
    this.chat = chat;
    this.#account = account;
    this.#state = account.meet(chat);
    this.#state.bot = { status: "administrator", rights: ["can_post_messages", "can_edit_messages"] };
  }

  /** Who posts, in the channel's name; some channels sign what they post. */
  author(signature?: string): Voice {
    return new Voice(this.#account, this.#state, {
      sender_chat: this.chat,
      ...(signature !== undefined && { author_signature: signature }),
    });
  }

  /** Its posts appear in this group from now on, by themselves. */
  link(group: Group): void {
    this.#state.linkedTo = group.chatId;
    this.#account.find(group.chatId).linkedTo = this.chat.id;
  }

  /** Where people write to the channel: each of them in a topic of their own. Its id is below -1000000000000. */
  directMessages(id: number): { as(person: Person): Voice } {
    const { title } = this.chat;
    const state = this.#account.meet({ id, type: "supergroup", title, is_direct_messages: true });
    state.bot = { status: "administrator", rights: ["can_manage_direct_messages"] };
    return { as: (person) => new Voice(this.#account, state, { from: userOf(person) }) };
  }
}
