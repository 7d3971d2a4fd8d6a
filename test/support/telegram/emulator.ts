import type { BusinessBotRights, Message, Update, UserFromGetMe } from "grammy/types";
import { systemClock, type Clock } from "../../../src/core/clock.ts";
import { Account, type Missing } from "./account.ts";
import { Business } from "./people/business.ts";
import { Channel } from "./people/channel.ts";
import type { Privacy } from "./chats.ts";
import {
  Faults,
  HookListeners,
  type Fault,
  type FaultPlace,
  type Hooks,
  type PlacedFault,
  type PlacedStorm,
} from "./faults.ts";
import { FloodControl, type FloodLimits } from "./flood.ts";
import { foundEntities } from "./people/found-entities.ts";
import { Group } from "./people/group.ts";
import { CLOSED } from "./membership.ts";
import { Outcomes } from "./outcomes.ts";
import { Voice } from "./people.ts";
import { ANONYMOUS_ADMIN, type Person, userOf } from "./people/person.ts";
import type { Extra } from "./people/person-files.ts";
import { UpdateQueue } from "./queue.ts";
import { serve, type Server } from "./server.ts";
import { serviceMessage } from "./service.ts";
import type { StormPlan } from "./storm.ts";
import { Watching } from "./watching.ts";
import { WebhookSender } from "./webhook.ts";

export type EmulatorOptions = {
  readonly clock?: Clock;
  readonly token?: string;
  readonly botId?: number;
  readonly username?: string;
  /** What getMe says otherwise than of a new bot: `{ supports_guest_queries: true }`. */
  readonly me?: Partial<UserFromGetMe>;
  /** "off" without it. */
  readonly privacy?: Privacy;
  /** Random without it, as at Telegram. */
  readonly firstUpdateId?: number;
  /** Telegram's slowing down of polls that ask the same offset again within 3 s and 0.5 s, and of repeated conflicts. */
  readonly antiBusy?: boolean;
  /** What this server does not know, being older. */
  readonly lacks?: readonly Missing[];
  /** Telegram's limits on what a bot writes; `USUAL_LIMITS` are the official ones. None without it. */
  readonly flood?: FloodLimits;
  /**
   * A Bot API server of one's own, started with --local, that keeps files in this folder: getFile gives absolute paths
   * and knows no limit, there is no download route, uploads may have 2,000 MB and webhooks may be plain HTTP.
   */
  readonly local?: { readonly folder: string };
  /** How many of each kind of record, of the messages of a chat and of the files are kept. All without it. */
  readonly keepLast?: number;
};

/** Telegram's Bot API for one bot, in this process, on a free port: what people do, and what the bot did. */
export async function startTelegram(options: EmulatorOptions = {}): Promise<TelegramEmulator> {
  const clock = options.clock ?? systemClock;
  const id = options.botId ?? 6_900_000_001;
  const token = options.token ?? `${id}:AAEmulatedTokenForTests_0123456789abc`;
  const privacy = options.privacy ?? "off";
  const account = new Account({
    me: { ...botOf(id, options.username ?? "fern_demo_bot", privacy), ...options.me },
    clock,
    queue: new UpdateQueue(clock, options),
    privacy,
    lacks: new Set(options.lacks),
    keepLast: options.keepLast ?? Number.POSITIVE_INFINITY,
    ...(options.local && { localFolder: `${options.local.folder}/${token}` }),
  });
  const faults = new Faults();
  const hooks = new HookListeners();
  const outcomes = new Outcomes();
  const flood = options.flood && new FloodControl(clock, options.flood);
  const server = await serve({ token, account, faults, flood, hooks, outcomes });
  const sender = new WebhookSender(account);
  return new TelegramEmulator({ token, account, faults, hooks, outcomes, server, sender });
}

type Parts = {
  readonly token: string;
  readonly account: Account;
  readonly faults: Faults;
  readonly hooks: HookListeners;
  readonly outcomes: Outcomes;
  readonly server: Server;
  readonly sender: WebhookSender;
};

export class TelegramEmulator extends Watching {
  /** For grammY: `new Bot(token, { client: { apiRoot } })`. */
  readonly apiRoot: string;
  readonly token: string;
  readonly me: UserFromGetMe;
  readonly #parts: Parts;

  constructor(parts: Parts) {
    super(parts.account, parts.outcomes);
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
    const from = userOf(person);
    const { id, first_name, last_name, username } = from;
    const state = account.meet({
      id,
      type: "private",
      first_name,
      ...(last_name !== undefined && { last_name }),
      ...(username !== undefined && { username }),
    });
    return new Voice(account, state, { from });
  }

  /** A basic group, with the bot in it. Its id is negative. */
  group(chat: { readonly id: number; readonly title: string }): Group {
    return new Group(this.#parts.account, { ...chat, type: "group" });
  }

  /** With the bot in it. Its id is below -1000000000000. */
  supergroup(chat: {
    readonly id: number;
    readonly title: string;
    readonly username?: string;
    readonly forum?: boolean;
  }): Group {
    const { forum, ...named } = chat;
    return new Group(this.#parts.account, {
      ...named,
      type: "supergroup",
      ...(forum && { is_forum: true }),
    });
  }

  /** With the bot among its administrators. Its id is below -1000000000000. */
  channel(chat: { readonly id: number; readonly title: string; readonly username?: string }): Channel {
    return new Channel(this.#parts.account, { ...chat, type: "channel" });
  }

  /** Connects a business account; its chats are apart from the bot's own, also those with the same people. */
  business(
    owner: Person,
    rights: BusinessBotRights = { can_reply: true, can_read_messages: true },
  ): Business {
    return new Business(this.#parts.account, owner, rights);
  }

  /**
   * Somebody mentions the bot in a chat that it is not in. Gives the query that it may answer once.
   * @throws Error when the bot takes no guests: `me: { supports_guest_queries: true }`.
   */
  guest(
    chat: { readonly id: number; readonly title: string },
    by: Person,
    text: string,
    extra: Extra = {},
  ): string {
    const { account } = this.#parts;
    if (!account.me.supports_guest_queries) throw new Error("this bot takes no guests; see the option `me`");
    const guest_query_id = account.guests.ask();
    const { replyTo: _none, ...fields } = extra;
    account.enqueue({
      guest_message: {
        ...fields,
        message_id: Number(guest_query_id.slice(-6)),
        date: account.date(),
        chat: { ...chat, type: "supergroup" },
        from: userOf(by),
        guest_query_id,
        text,
        ...foundEntities("entities", text),
      },
    });
    return guest_query_id;
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
    if (query) account.presses.adopt(query.id);
    if (query?.message && "from" in query.message) account.adopt(query.message);
    const guest = content.guest_message?.guest_query_id;
    if (guest !== undefined) account.guests.adopt(guest);
    return account.enqueue(content);
  }

  /** The basic group becomes a supergroup: its old id answers with the new one, and both tell the bot, the old one first. */
  migrate(fromId: number, toId: number, { newFirst = false }: { readonly newFirst?: boolean } = {}): void {
    const { account } = this.#parts;
    const old = account.find(fromId);
    const title = old.chat.title ?? "";
    const fresh = account.meet({ id: toId, type: "supergroup", title });
    for (const [id, user] of old.members) fresh.members.set(id, user);
    const tell = [
      () =>
        serviceMessage(account, old, {
          from: ANONYMOUS_ADMIN,
          sender_chat: old.chat,
          migrate_to_chat_id: toId,
        }),
      () =>
        serviceMessage(account, fresh, {
          from: ANONYMOUS_ADMIN,
          sender_chat: fresh.chat,
          migrate_from_chat_id: fromId,
        }),
    ];
    for (const each of newFirst ? tell.toReversed() : tell) each();
    old.movedTo = toId;
  }

  /** Every send to the chat answers 403 until `reopen`; the bot is not told. */
  closeChat(chatId: number, why: keyof typeof CLOSED): void {
    this.#parts.account.find(chatId).closed = CLOSED[why];
  }

  reopen(chatId: number): void {
    delete this.#parts.account.find(chatId).closed;
  }

  /** Drafts answer TEXTDRAFT_PEER_INVALID in this private chat, as was seen in ordinary ones. */
  refuseDrafts(chatId: number): void {
    this.#parts.account.find(chatId).refusesDrafts = true;
  }

  /** BotFather's switch: getMe tells it at once, groups keep what they have until the bot is added again. */
  setPrivacy(privacy: Privacy): void {
    const { account } = this.#parts;
    account.privacy = privacy;
    account.me.can_read_all_group_messages = privacy === "off";
  }

  /** A message of the chat, as it stands now; undefined when it is gone. */
  message(chatId: number, messageId: number): Message | undefined {
    return this.#parts.account.find(chatId).messages.get(messageId);
  }

  // What goes wrong

  fault(place: FaultPlace, fault: Fault): PlacedFault {
    return this.#parts.faults.place(place, fault);
  }

  /** Trouble by chance, until it is ended; placed faults go before it. */
  storm(plan: StormPlan): PlacedStorm {
    return this.#parts.faults.startStorm(plan);
  }

  /** Lets a test step in at a point of a call; see `Hooks`. Gives the way to stop. */
  on<Name extends keyof Hooks>(
    name: Name,
    listener: (event: Hooks[Name]) => void | Promise<void>,
  ): () => void {
    return this.#parts.hooks.on(name, listener);
  }
}

function botOf(id: number, username: string, privacy: Privacy): UserFromGetMe {
  return {
    id,
    is_bot: true,
    first_name: "Fernbot",
    username,
    can_join_groups: true,
    can_read_all_group_messages: privacy === "off",
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
