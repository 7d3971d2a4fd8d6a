import type {
  BotCommand,
  BusinessConnection,
  Chat,
  Message,
  Update,
  User,
  UserFromGetMe,
} from "grammy/types";
import type { Clock } from "../../../src/core/clock.ts";
import { countsForItself, GENERAL_TOPIC, type ChatState, type Privacy } from "./chats.ts";
import { DraftBoard } from "./draft-board.ts";
import { FileStore } from "./files.ts";
import { OpenQueries } from "./queries.ts";
import { UpdateQueue } from "./queue.ts";
import { receives } from "./receive.ts";
import { badRequest, Refusal } from "./refusal.ts";
import { integer, type Parameters } from "./request.ts";
import { SentLog } from "./sent-log.ts";

/** What an older or smaller server does not know: "richMarkup" is rich messages as html or markdown. */
export type Missing = "rich" | "richMarkup" | "drafts" | "emptyDrafts";

export type AccountOptions = {
  readonly me: UserFromGetMe;
  readonly clock: Clock;
  readonly queue: UpdateQueue;
  readonly privacy: Privacy;
  readonly lacks: ReadonlySet<Missing>;
  readonly keepLast: number;
  /** Where a Bot API server that was started with --local keeps this bot's files. */
  readonly localFolder?: string;
};

export type Webhook = {
  readonly url: string;
  readonly connections: number;
  readonly secret: string;
  /** What getWebhookInfo tells of the last failure. */
  lastError?: { readonly date: number; readonly message: string };
};

/** Everything that Telegram knows of one bot: chats, messages, files, commands, and the updates that wait for it. */
export class Account {
  readonly me: UserFromGetMe;
  readonly clock: Clock;
  readonly queue: UpdateQueue;
  readonly files: FileStore;
  readonly log: SentLog;
  readonly drafts: DraftBoard;
  readonly lacks: ReadonlySet<Missing>;
  readonly isLocal: boolean;
  readonly startedAt: number;
  readonly chats = new Map<number, ChatState>();
  /** The chats of each business account that the bot is connected to, by connection. */
  readonly business = new Map<
    string,
    { connection: BusinessConnection; readonly chats: Map<number, ChatState> }
  >();
  readonly commands = new Map<string, readonly BotCommand[]>();
  readonly presses: OpenQueries;
  readonly guests: OpenQueries;
  /** BotFather's switch; a group goes by what it was when the bot came. */
  privacy: Privacy;
  /** Until then nobody gets an answer: the bot has logged out. */
  awayUntil = 0;
  webhook: Webhook | undefined;
  /** Called after `webhook` was set or taken away. */
  webhookChanged: () => void = () => undefined;
  /** One for the whole account: private chats and basic groups share it. */
  lastMessageId = 0;
  readonly #keepLast: number;
  #lastMediaGroup = 0;
  #lastPoll = 0;

  constructor(options: AccountOptions) {
    const { me, clock, keepLast } = options;
    this.me = me;
    this.clock = clock;
    this.queue = options.queue;
    this.privacy = options.privacy;
    this.lacks = options.lacks;
    this.isLocal = options.localFolder !== undefined;
    this.startedAt = clock.now();
    this.files = new FileStore(clock, keepLast, options.localFolder);
    this.log = new SentLog(keepLast);
    this.drafts = new DraftBoard(clock);
    this.presses = new OpenQueries(clock, "3000000");
    this.guests = new OpenQueries(clock, "7000000");
    this.#keepLast = keepLast;
  }

  /** Seconds since 1970, as messages carry them. */
  date(): number {
    return Math.floor(this.clock.now() / 1000);
  }

  mediaGroupId(): string {
    this.#lastMediaGroup += 1;
    return `1400000000000${String(this.#lastMediaGroup).padStart(4, "0")}`;
  }

  pollId(): string {
    this.#lastPoll += 1;
    return `5400000000000${String(this.#lastPoll).padStart(6, "0")}`;
  }

  /** The chat under this id, which becomes known to the bot if it is not. */
  meet(chat: Chat): ChatState {
    const known = this.chats.get(chat.id);
    if (known) return known;
    const state = this.#newChat(chat);
    this.chats.set(chat.id, state);
    return state;
  }

  /** As `meet`, of a business account. */
  meetCustomer(connection: BusinessConnection, chat: Chat): ChatState {
    const chats = this.business.get(connection.id)?.chats;
    if (!chats) throw new Error(`no business connection ${connection.id}`);
    const state = chats.get(chat.id) ?? { ...this.#newChat(chat), business: connection };
    chats.set(chat.id, state);
    return state;
  }

  /** @throws Refusal "chat not found", or the new id of a group that moved. */
  find(id: unknown): ChatState {
    if (id === undefined || id === "") throw badRequest("chat_id is empty");
    const state =
      typeof id === "string" && id.startsWith("@")
        ? [...this.chats.values()].find(
            ({ chat }) => chat.username?.toLowerCase() === id.slice(1).toLowerCase(),
          )
        : this.chats.get(integer(id) ?? 0);
    if (!state) throw badRequest("chat not found");
    if (state.movedTo !== undefined) {
      throw badRequest("group chat was upgraded to a supergroup chat", { migrate_to_chat_id: state.movedTo });
    }
    return state;
  }

  /** As `find`, where the bot must be able to write; on behalf of a business account if the call says so. @throws Refusal */
  findOpen(parameters: Parameters): ChatState {
    const connectionId = parameters["business_connection_id"];
    if (typeof connectionId === "string" && connectionId !== "") {
      return this.#findCustomer(connectionId, parameters["chat_id"]);
    }
    const state = this.find(parameters["chat_id"]);
    if (state.closed !== undefined) throw new Refusal(403, `Forbidden: ${state.closed}`);
    return state;
  }

  /** Gives a message its id and date and puts it into the chat. */
  keep(state: ChatState, content: Partial<Message>): Message {
    const message: Message = {
      message_id: this.#nextMessageId(state),
      date: this.date(),
      chat: state.chat,
      ...(state.business && { business_connection_id: state.business.id }),
      ...content,
    };
    state.messages.set(message.message_id, message);
    const [oldest] = state.messages.keys();
    if (state.messages.size > this.#keepLast && oldest !== undefined) state.messages.delete(oldest);
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
    const counter = countsForItself(state) ? state : this;
    counter.lastMessageId = Math.max(counter.lastMessageId, message.message_id);
  }

  meetTopic(chatId: number, topic: number, name: string): void {
    const topics = this.find(chatId).topics;
    if (!topics.has(topic)) topics.set(topic, { name, state: "open" });
  }

  /** Tells the bot of a message that is new or was edited, if it gets such messages. */
  tell(state: ChatState, message: Message, what: "new" | "edited" = "new"): Update | undefined {
    if (!receives(this.me, state, message)) return undefined;
    const kind = state.business
      ? "business_message"
      : state.chat.type === "channel"
        ? "channel_post"
        : "message";
    return this.enqueue({ [what === "new" ? kind : `edited_${kind}`]: message });
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

  #findCustomer(connectionId: string, chatId: unknown): ChatState {
    const account = this.business.get(connectionId);
    if (!account?.connection.is_enabled) throw badRequest("business connection not found");
    const state = account.chats.get(integer(chatId) ?? 0);
    if (!state) throw badRequest("chat not found");
    // A word of the core servers, passed on as it is; not seen live.
    if (!account.connection.rights?.can_reply) throw badRequest("BOT_ACCESS_FORBIDDEN");
    return state;
  }

  #newChat(chat: Chat): ChatState {
    return {
      chat,
      messages: new Map(),
      topics: new Map(),
      members: new Map(),
      reactions: new Map(),
      votes: new Map(),
      bot: { status: "member" },
      privacy: this.privacy,
      refusesDrafts: false,
      lastMessageId: chat.is_forum ? GENERAL_TOPIC : 0,
    };
  }

  #nextMessageId(state: ChatState): number {
    const counter = countsForItself(state) ? state : this;
    counter.lastMessageId += 1;
    return counter.lastMessageId;
  }
}

export function botUser(me: UserFromGetMe): User {
  return { id: me.id, is_bot: true, first_name: me.first_name, username: me.username };
}
