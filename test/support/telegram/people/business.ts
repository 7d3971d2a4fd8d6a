import type { BusinessBotRights, BusinessConnection, Message } from "grammy/types";
import type { Account } from "../account.ts";
import type { ChatState } from "../chats.ts";
import { Voice } from "../people.ts";
import { type Person, userOf } from "./person.ts";

/** A business account that lets the bot answer in its private chats. The bot is told of every change of it. */
export class Business {
  readonly connectionId: string;
  readonly #account: Account;
  readonly #owner: Person;

  constructor(account: Account, owner: Person, rights: BusinessBotRights) {
    this.#account = account;
    this.#owner = owner;
    this.connectionId = `bc_${owner.id}`;
    this.#set({
      id: this.connectionId,
      user: userOf(owner),
      user_chat_id: owner.id,
      date: account.date(),
      rights,
      is_enabled: true,
    });
  }

  allow(rights: BusinessBotRights): void {
    this.#set({ ...this.#connection(), rights });
  }

  disconnect(): void {
    this.#set({ ...this.#connection(), is_enabled: false });
  }

  /** A customer who writes to the business. */
  customer(person: Person): Voice {
    return new Voice(this.#account, this.#chatWith(person), { from: userOf(person) });
  }

  /** The owner, who writes to that customer. */
  owner(customer: Person): Voice {
    return new Voice(this.#account, this.#chatWith(customer), { from: userOf(this.#owner) });
  }

  /** What stands in the chat with a customer now. */
  shown(customer: Person): readonly Message[] {
    return [...this.#chatWith(customer).messages.values()];
  }

  #chatWith({ id, firstName, username }: Person): ChatState {
    return this.#account.meetCustomer(this.#connection(), {
      id,
      type: "private",
      first_name: firstName,
      ...(username !== undefined && { username }),
    });
  }

  #connection(): BusinessConnection {
    const known = this.#account.business.get(this.connectionId);
    if (!known) throw new Error(`no business connection ${this.connectionId}`);
    return known.connection;
  }

  #set(connection: BusinessConnection): void {
    const known = this.#account.business.get(this.connectionId);
    if (known) known.connection = connection;
    else this.#account.business.set(this.connectionId, { connection, chats: new Map() });
    this.#account.enqueue({ business_connection: connection });
  }
}
