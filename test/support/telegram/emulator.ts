import type { Message, Update, UserFromGetMe } from "grammy/types";
import { systemClock, type Clock } from "../../../src/core/clock.ts";
import { Account } from "./account.ts";
import {
  Faults,
  HookListeners,
  type Fault,
  type FaultPlace,
  type Hooks,
  type PlacedFault,
} from "./faults.ts";
import { shownDraft } from "./methods.ts";
import { CLOSED, Group, Voice, type Person } from "./people.ts";
import { UpdateQueue } from "./queue.ts";
import type { Call } from "./request.ts";
import type { ChatAction, Draft, SentMessage } from "./sent-log.ts";
import { serve, type Server } from "./server.ts";
import { WebhookSender } from "./webhook.ts";

export type EmulatorOptions = {
  readonly clock?: Clock;
  readonly token?: string;
  readonly botId?: number;
  readonly username?: string;
  /** Random without it, as at Telegram. */
  readonly firstUpdateId?: number;
  /** Telegram's slowing down of polls that ask the same offset again within 3 s and 0.5 s. */
  readonly antiBusy?: boolean;
};

/** Telegram's Bot API for one bot, in this process, on a free port: what people do, and what the bot did. */
export async function startTelegram(options: EmulatorOptions = {}): Promise<TelegramEmulator> {
  const clock = options.clock ?? systemClock;
  const id = options.botId ?? 6_900_000_001;
  const token = options.token ?? `${id}:AAEmulatedTokenForTests_0123456789abc`;
  const queue = new UpdateQueue(clock, options);
  const account = new Account(botOf(id, options.username ?? "fern_demo_bot"), clock, queue);
  const faults = new Faults();
  const hooks = new HookListeners();
  const server = await serve({ token, account, faults, hooks });
  const sender = new WebhookSender(account);
  return new TelegramEmulator({ token, account, faults, hooks, server, sender });
}

type Parts = {
  readonly token: string;
  readonly account: Account;
  readonly faults: Faults;
  readonly hooks: HookListeners;
  readonly server: Server;
  readonly sender: WebhookSender;
};

export class TelegramEmulator {
  /** For grammY: `new Bot(token, { client: { apiRoot } })`. */
  readonly apiRoot: string;
  readonly token: string;
  readonly me: UserFromGetMe;
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.apiRoot = parts.server.origin;
    this.token = parts.token;
    this.me = parts.account.me;
  }

  /** Ends every connection, and every wait with an error. */
  async close(): Promise<void> {
    this.#parts.account.log.close();
    this.#parts.sender.close();
    await this.#parts.server.close();
  }

  // What people do

  privateChat(person: Person): Voice {
    const { account } = this.#parts;
    const state = account.meet({
      id: person.id,
      type: "private",
      first_name: person.firstName,
      ...(person.lastName !== undefined && { last_name: person.lastName }),
      ...(person.username !== undefined && { username: person.username }),
    });
    return new Voice(account, state, person);
  }

  /** A basic group. Its id is negative. */
  group(chat: { readonly id: number; readonly title: string }): Group {
    return new Group(this.#parts.account, { ...chat, type: "group" });
  }

  /** Its id is below -1000000000000. */
  supergroup(chat: { readonly id: number; readonly title: string; readonly forum?: boolean }): Group {
    const { id, title, forum } = chat;
    return new Group(this.#parts.account, {
      id,
      title,
      type: "supergroup",
      ...(forum && { is_forum: true }),
    });
  }

  /**
   * Enqueues an update made by hand; the emulator numbers it anew. Undefined when the bot does not want the kind.
   * @throws Error when its date lies more than 24 h back: Telegram would have dropped it.
   */
  inject(update: Partial<Update>): Update | undefined {
    const { account } = this.#parts;
    const { update_id: _replaced, ...content } = update;
    const message = content.message ?? content.edited_message;
    if (message) account.adopt(message);
    const query = content.callback_query;
    if (query) account.callbackQueries.set(query.id, account.clock.now());
    if (query?.message && "from" in query.message) account.adopt(query.message);
    return account.enqueue(content);
  }

  /** The basic group becomes a supergroup: its old id answers with the new one, and both tell the bot. */
  migrate(fromId: number, toId: number): void {
    const { account } = this.#parts;
    const old = account.find(fromId);
    const title = old.chat.title ?? "";
    const fresh = account.meet({ id: toId, type: "supergroup", title });
    const service = (state: typeof old, content: Partial<Message>) => {
      // A group is no channel; the type cannot see it.
      const message = account.keep(state, content) as NonNullable<Update["message"]>;
      account.enqueue({ message });
    };
    service(old, { migrate_to_chat_id: toId });
    service(fresh, { migrate_from_chat_id: fromId });
    old.movedTo = toId;
  }

  /** Every send to the chat answers 403 until `reopen`. */
  closeChat(chatId: number, why: keyof typeof CLOSED): void {
    this.#parts.account.find(chatId).closed = CLOSED[why];
  }

  reopen(chatId: number): void {
    delete this.#parts.account.find(chatId).closed;
  }

  // What the bot did

  get sent(): readonly SentMessage[] {
    return this.#parts.account.log.sent;
  }

  get chatActions(): readonly ChatAction[] {
    return this.#parts.account.log.chatActions;
  }

  get drafts(): readonly Draft[] {
    return this.#parts.account.log.drafts;
  }

  /** Every call of a known method with the right token, also those that were refused or dropped. */
  get calls(): readonly Call[] {
    return this.#parts.account.log.calls;
  }

  sentTo(chatId: number): readonly SentMessage[] {
    return this.sent.filter((message) => message.chatId === chatId);
  }

  /** What stands in a chat now, of people and of the bot, after edits and deletions. */
  shown(chatId: number): readonly Message[] {
    return [...this.#parts.account.find(chatId).messages.values()].toSorted(
      (a, b) => a.message_id - b.message_id,
    );
  }

  /** The text of the draft that a private chat shows now; 30 s or a sent message end it. */
  draftIn(chatId: number): string | undefined {
    return shownDraft(this.#parts.account, chatId);
  }

  /** What the bot has not confirmed. */
  pending(): readonly Update[] {
    return this.#parts.account.queue.pending();
  }

  // Waiting: by event; rejects after 20 s of real time and says what there was instead.

  /** The next message that is accepted after this call. */
  nextSent(matches: (message: SentMessage) => boolean = () => true): Promise<SentMessage> {
    return this.#parts.account.log.first(this.sent, this.sent.length, matches, "a sent message");
  }

  /** The first message of all that matches: now, or as soon as there is one. */
  sentMatching(matches: (message: SentMessage) => boolean): Promise<SentMessage> {
    return this.#parts.account.log.first(this.sent, 0, matches, "a sent message that matches");
  }

  /** All messages of a chat, once there are at least `count`. */
  async untilSent(chatId: number, count: number): Promise<readonly SentMessage[]> {
    const wanted = `message ${count} to chat ${chatId}`;
    await this.#parts.account.log.until(() => this.sentTo(chatId).length >= count, wanted);
    return this.sentTo(chatId);
  }

  /** The next call that arrives after this one; its effects may still be to come. */
  nextCall(matches: (call: Call) => boolean): Promise<Call> {
    return this.#parts.account.log.first(this.calls, this.calls.length, matches, "a call that matches");
  }

  /** The next action or draft, whatever its kind. */
  nextProgress(): Promise<void> {
    const before = this.chatActions.length + this.drafts.length;
    const grew = () => this.chatActions.length + this.drafts.length > before;
    return this.#parts.account.log.until(grew, "a chat action or draft");
  }

  // What goes wrong

  fault(place: FaultPlace, fault: Fault): PlacedFault {
    return this.#parts.faults.place(place, fault);
  }

  /** Lets a test step in at a point of a call; see `Hooks`. Gives the way to stop. */
  on<Name extends keyof Hooks>(
    name: Name,
    listener: (event: Hooks[Name]) => void | Promise<void>,
  ): () => void {
    return this.#parts.hooks.on(name, listener);
  }
}

function botOf(id: number, username: string): UserFromGetMe {
  return {
    id,
    is_bot: true,
    first_name: "Fernbot",
    username,
    can_join_groups: true,
    can_read_all_group_messages: false,
    supports_inline_queries: false,
    can_connect_to_business: false,
    has_main_web_app: false,
    has_topics_enabled: true,
    allows_users_to_create_topics: true,
    can_manage_bots: false,
    supports_guest_queries: false,
    supports_join_request_queries: false,
  };
}
