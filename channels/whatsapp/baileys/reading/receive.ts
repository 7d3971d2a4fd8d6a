import {
  proto,
  type BaileysEventMap,
  type BinaryNode,
  type SocketConfig,
  type WACallEvent,
  type WAMessage,
} from "@whiskeysockets/baileys";
import type { ChannelHost, Journal } from "../../../../src/core/host.ts";
import type { Timer } from "../../../../src/core/clock.ts";
import { asError } from "../../../../src/core/errors.ts";
import type { InboundEvent } from "../../../../src/core/events.ts";
import type { WhatsAppSettings } from "../../settings.ts";
import { callEvent, isRinging } from "./calls.ts";
import type { Contacts } from "../people/contacts.ts";
import { Deliveries } from "./deliveries.ts";
import type { Groups } from "../people/groups.ts";
import { InOrder } from "./in-order.ts";
import { type Entry, Journalled } from "./journalled.ts";
import type { Account, Hearing, Line, Me } from "../line.ts";
import type { Outbox } from "../sending/outbox.ts";
import { rawOf } from "../life/raw-socket.ts";
import { Reader } from "./reader.ts";
import type { Said } from "./said.ts";
import type { Seal } from "../keys/seal.ts";
import { Seen } from "./seen.ts";
import { readingOnce } from "./signal-once.ts";
import { type Item, Taking } from "./taking.ts";

export type ReceiverParts = {
  readonly host: Pick<ChannelHost, "accept" | "clock" | "log" | "state" | "failed" | "recovered">;
  readonly settings: Pick<WhatsAppSettings, "selfChat" | "calls">;
  readonly account: Account;
  readonly contacts: Contacts;
  readonly groups: Groups;
  readonly said: Said;
  readonly outbox: Pick<Outbox, "find">;
  readonly journal: Journal;
  readonly seal: Seal;
};

/** Senders are asked again by the library for what could not be read, and the phone is: so long is that waited for. */
const PATIENCE_MS = 60_000;
/** How long the library may be busy with what came before. */
const BACKLOG_MS = 600_000;
const SWEEP_MS = 15_000;
/** How long what was found at the start stays readable: the server hands over again what it was not told of. */
const KEEP_FOUND_MS = 600_000;
/** Messages that wait to be read; of more, the oldest are told of as unreadable. */
const MOST_WAITING = 2_000;
/** Messages that are kept in memory until they are taken in; the journal has the rest. */
const MOST_HELD = 200;
/** Signs of delivery that wait to be told; more are let go. */
const MOST_SIGNS = 1_000;

/**
 * Takes in what people send. From before the library reads a message until what it says is committed it stands in the
 * journal; so nothing is lost with a kill at any line, and what is taken in twice is recognised by its id.
 */
export class Receiver {
  /** To be given to the socket as `makeSignalRepository`. */
  readonly repository: SocketConfig["makeSignalRepository"];
  readonly #parts: ReceiverParts;
  readonly #journalled: Journalled;
  readonly #deliveries: Deliveries;
  readonly #seen: Seen;
  readonly #taking: Taking;
  readonly #queue: InOrder<Item>;
  #line: Line | undefined;
  /** Whose messages are read: also for those that are still to be stored when the account is not linked any more. */
  #me: Me | undefined;
  /** When the connection came to stand (epoch ms). */
  /** When the library last told of a message, epoch ms. */
  #movedAt = 0;
  #openedAt = 0;
  #loaded = false;
  #failing = false;
  #sweeping: Timer | undefined;

  constructor(parts: ReceiverParts) {
    const { host, contacts, journal, seal } = parts;
    const account: Account = { line: () => parts.account.line(), me: () => this.#me };
    const { clock, state, log } = host;
    this.#parts = parts;
    this.#journalled = new Journalled({ journal, seal, clock, me: () => account.me() });
    this.#deliveries = new Deliveries({ contacts, clock });
    this.#seen = new Seen({ state, clock });
    this.#taking = new Taking({
      ...parts,
      account,
      journalled: this.#journalled,
      reader: new Reader({ ...parts, account, log }),
      seen: this.#seen,
    });
    this.#queue = new InOrder({
      clock,
      work: (items) => this.#taking.take(items),
      failed: (error, ms) => this.#failed(error, ms),
      recovered: () => this.#recovered(),
    });
    this.repository = readingOnce(this.#journalled, (error) => this.#broken(error));
  }

  readonly hear: Hearing = (line) => {
    const { ev, ws } = line.socket;
    this.#line = line;
    this.#me = this.#parts.account.me() ?? this.#me;
    this.#seen.reconnected();
    this.recover();
    const onStanza = (node: BinaryNode): void => this.#keep(node);
    const onMessages = (told: BaileysEventMap["messages.upsert"]): void => this.#hearMessages(told);
    const onUpdates = (updates: BaileysEventMap["messages.update"]): void =>
      this.#tell(this.#deliveries.ofUpdates(updates));
    const onReceipts = (receipts: BaileysEventMap["message-receipt.update"]): void =>
      this.#tell(this.#deliveries.ofReceipts(receipts));
    const onHistory = ({ messages }: BaileysEventMap["messaging-history.set"]): void =>
      inOrder(messages).forEach((message) => this.#queue.push({ kind: "history", message }));
    const onCalls = (calls: readonly WACallEvent[]): void => this.#hearCalls(calls, line);
    const onState = ({ connection }: BaileysEventMap["connection.update"]): void => {
      if (connection === "open") this.#openedAt = this.#parts.host.clock.now();
    };
    // Before the library's own listener, which reads the message.
    ws.prependListener("CB:message", onStanza);
    ev.on("messages.upsert", onMessages);
    ev.on("messages.update", onUpdates);
    ev.on("message-receipt.update", onReceipts);
    ev.on("messaging-history.set", onHistory);
    ev.on("call", onCalls);
    ev.on("connection.update", onState);
    return () => {
      ws.off("CB:message", onStanza);
      ev.off("messages.upsert", onMessages);
      ev.off("messages.update", onUpdates);
      ev.off("message-receipt.update", onReceipts);
      ev.off("messaging-history.set", onHistory);
      ev.off("call", onCalls);
      ev.off("connection.update", onState);
    };
  };

  /** Takes in what was read and not committed: by an earlier process, or on a connection that ended before it was told. */
  recover(): void {
    if (!this.#parts.account.me()) return;
    try {
      if (!this.#loaded) this.#load();
      if (!this.#loaded && this.#failing) this.#recovered();
      this.#loaded = true;
    } catch (thrown) {
      this.#failing = true;
      this.#parts.host.failed(asError(thrown));
      return;
    }
    for (const entry of this.#journalled.entries())
      if (!entry.busy && !entry.done && this.#journalled.isRead(entry))
        this.#push({ kind: "message", entry, live: false });
    this.#watch();
  }

  #load(): void {
    const rows = this.#journalled.load();
    if (rows > 0)
      this.#parts.host.log.error(
        { rows },
        "what waits in the journal is damaged, or sealed with another stateKey than the one that is set; it is left there",
      );
  }

  /** Resolves when all that was handed over is committed. */
  settled(): Promise<void> {
    return this.#queue.settled();
  }

  /** Another account is linked: what can be stored of the former's is, the rest is dropped. */
  async forget(): Promise<void> {
    await this.settled();
    this.#queue.drop();
    this.#journalled.remove(this.#journalled.entries());
    this.#taking.forget();
    if (this.#failing) this.#recovered();
    this.#me = undefined;
  }

  /** Resolves when nothing is under way any more; what could not be committed stays in the journal. */
  async close(): Promise<void> {
    this.#sweeping?.cancel();
    this.#sweeping = undefined;
    await this.#queue.close();
  }

  #keep(node: BinaryNode): void {
    try {
      this.#journalled.keep(node);
    } catch (error) {
      this.#broken(error);
    }
    if (this.#journalled.size > MOST_WAITING && this.#queue.length === 0) this.#sweep();
    this.#watch();
  }

  #hearMessages({ messages }: BaileysEventMap["messages.upsert"]): void {
    this.#tell(this.#deliveries.ofMessages(messages));
    this.#movedAt = this.#parts.host.clock.now();
    for (const message of messages) {
      const entry = this.#journalled.find(message.key);
      // What was never on the line is what we have sent on it ourselves.
      if (message.key.fromMe && !entry) continue;
      // It may be filled yet, under the same id.
      if (message.messageStubType === proto.WebMessageInfo.StubType.CIPHERTEXT) {
        if (entry) entry.failedAt ??= this.#movedAt;
        continue;
      }
      const held = !entry || this.#queue.length < MOST_HELD || !this.#journalled.isRead(entry);
      this.#push({ kind: "message", live: true, ...(held ? { message } : {}), ...(entry ? { entry } : {}) });
    }
  }

  #hearCalls(calls: readonly WACallEvent[], { socket }: Line): void {
    const { settings, contacts, host } = this.#parts;
    if (settings.calls !== "reject") return;
    for (const call of calls.filter(isRinging)) {
      socket.rejectCall(call.id, call.from).catch((err: unknown) => {
        host.log.warn({ err }, "a call could not be refused");
      });
      const event = callEvent(call, contacts);
      if (!event) continue;
      contacts.hasChat(event.place.chat);
      this.#queue.push({ kind: "events", events: [event] });
    }
  }

  #tell(events: readonly InboundEvent[]): void {
    if (events.length > 0 && this.#queue.length < MOST_SIGNS) this.#queue.push({ kind: "events", events });
  }

  #push(item: Item): void {
    if ("entry" in item && item.entry) item.entry.busy = true;
    this.#queue.push(item);
  }

  /** Looks after what the library has not told of: held back in its buffers, lost in them, or never to be read. */
  #sweep(): void {
    const { host, account } = this.#parts;
    const now = host.clock.now();
    const isAway = account.line() === undefined;
    const gone: Entry[] = [];
    let tooMany = this.#journalled.size - MOST_WAITING;
    for (const entry of this.#journalled.entries()) {
      const age = now - entry.since;
      if (entry.done && age >= KEEP_FOUND_MS) gone.push(entry);
      if (entry.done || entry.busy) continue;
      const isRead = this.#journalled.isRead(entry);
      const waits = isRead ? age < PATIENCE_MS : isAway || this.#mayBeRead(entry, now);
      if (waits && tooMany-- <= 0) continue;
      this.#push(isRead ? { kind: "message", entry, live: true } : { kind: "unreadable", entry });
    }
    if (gone.length > 0) this.#journalled.remove(gone);
  }

  /** It comes again by itself, but not while nobody is there for it, nor before the library has come to it. */
  #mayBeRead({ since, failedAt }: Entry, now: number): boolean {
    const from = failedAt ?? Math.max(since, Math.min(this.#movedAt, since + BACKLOG_MS));
    return now - Math.max(from, this.#openedAt) < PATIENCE_MS;
  }

  #watch(): void {
    if (this.#sweeping || this.#journalled.size === 0) return;
    this.#sweeping = this.#parts.host.clock.after(SWEEP_MS, () => {
      this.#sweeping = undefined;
      try {
        this.#sweep();
      } catch (err) {
        this.#parts.host.log.warn({ err }, "the journal could not be swept; it is tried again");
      }
      this.#watch();
    });
  }

  /** What cannot be journalled must not be read: the server keeps it for the next connection. */
  #broken(error: unknown): void {
    this.#parts.host.log.error({ err: error }, "the journal cannot be written, so the connection is ended");
    if (this.#line) rawOf(this.#line.socket)?.terminate();
  }

  #failed(error: unknown, ms: number): void {
    const { host } = this.#parts;
    host.log.warn(
      { err: error },
      `what people sent could not be stored; it is tried again in ${ms / 1_000} s`,
    );
    if (!this.#failing) host.failed(asError(error));
    this.#failing = true;
  }

  #recovered(): void {
    this.#failing = false;
    this.#parts.host.recovered();
  }
}

function inOrder(messages: readonly WAMessage[]): readonly WAMessage[] {
  return messages.toSorted((one, other) => Number(one.messageTimestamp) - Number(other.messageTimestamp));
}
