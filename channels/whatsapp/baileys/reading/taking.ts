import type { WAMessage } from "@whiskeysockets/baileys";
import type { ChannelHost } from "../../../../src/core/host.ts";
import type { InboundEvent } from "../../../../src/core/events.ts";
import type { Contacts } from "../people/contacts.ts";
import type { Entry, Journalled } from "./journalled.ts";
import type { Account } from "../line.ts";
import type { Reader, Rows } from "./reader.ts";
import type { Said } from "./said.ts";
import type { Seen } from "./seen.ts";

/** After one such sentence to a person, others are left out for so long. */
const NOTICE_MS = 600_000;
const MOST_NOTICES = 1_000;

/** What was handed over; `live` where the server knows that it came. */
export type Item =
  | { readonly kind: "message"; readonly message?: WAMessage; readonly entry?: Entry; readonly live: boolean }
  | { readonly kind: "unreadable"; readonly entry: Entry }
  | { readonly kind: "history"; readonly message: WAMessage }
  | { readonly kind: "events"; readonly events: readonly InboundEvent[] };

/** What a batch comes to. */
type Batch = {
  readonly rows: Rows;
  readonly events: InboundEvent[];
  /** Entries that are over once the events are committed. */
  readonly over: Entry[];
  missed: number;
  latest: number;
};

export type TakingParts = {
  readonly host: Pick<ChannelHost, "accept" | "clock" | "log">;
  readonly account: Account;
  readonly contacts: Contacts;
  readonly said: Said;
  readonly journalled: Journalled;
  readonly reader: Reader;
  readonly seen: Seen;
};

/** Reads what was handed over, commits what it says, and only then takes it out of the journal. */
export class Taking {
  readonly #parts: TakingParts;
  /** When somebody was last told that they could not be read. */
  readonly #noticed = new Map<string, number>();

  constructor(parts: TakingParts) {
    this.#parts = parts;
  }

  /** All of them or none. @throws GatewayError "store.unavailable". */
  async take(items: readonly Item[]): Promise<void> {
    const { account, contacts, host, journalled, said, seen } = this.#parts;
    const me = account.me();
    if (me) await seen.load(me);
    const batch: Batch = { rows: new Map(), events: [], over: [], missed: 0, latest: 0 };
    for (const item of items) await this.#read(item, batch);
    await contacts.save();
    // Before they are handed over: what comes again after a crash must be the same to the last letter.
    await said.keep(batch.rows);
    if (batch.events.length > 0) await host.accept(batch.events);
    journalled.remove(batch.over);
    await seen.upTo(batch.latest);
    if (batch.missed > 0)
      host.log.warn({ missed: batch.missed }, `${batch.missed} missed: taken in from the phone's history`);
  }

  forget(): void {
    this.#noticed.clear();
  }

  async #read(item: Item, batch: Batch): Promise<void> {
    switch (item.kind) {
      case "events":
        batch.events.push(...item.events);
        return;
      case "history":
        return await this.#readHistory(item.message, batch);
      case "message": {
        const { entry, live } = item;
        const message = item.message ?? (entry && this.#parts.journalled.message(entry));
        if (message) await this.#readMessage(message, entry, batch);
        if (entry) this.#over(entry, live, batch);
        return;
      }
      case "unreadable": {
        const { entry } = item;
        const message = this.#parts.journalled.message(entry);
        if (message) await this.#readNothing(message, entry.viewOnce, batch);
        this.#over(entry, true, batch);
      }
    }
  }

  async #readMessage(message: WAMessage, entry: Entry | undefined, batch: Batch): Promise<void> {
    batch.latest = Math.max(batch.latest, Number(message.messageTimestamp ?? 0));
    const isEmpty = !message.message && message.messageStubType == null && !message.key.isViewOnce;
    if (isEmpty) return await this.#readNothing(message, entry?.viewOnce ?? false, batch);
    const reading = await this.#parts.reader.read(message, entry?.recipient, batch.rows);
    if (reading) batch.events.push(reading.event);
  }

  async #readNothing(message: WAMessage, viewOnce: boolean, batch: Batch): Promise<void> {
    const reading = await this.#parts.reader.unreadable(message, viewOnce, batch.rows);
    if (!reading || reading.event.type !== "message") return;
    const { place, from } = reading.event;
    const now = this.#parts.host.clock.now();
    const who = JSON.stringify([place.chat, from.id]);
    const at = this.#noticed.get(who);
    // Keys that do not fit spoil all that somebody says: once is enough.
    if (!viewOnce && at !== undefined && now - at < NOTICE_MS && !reading.again) return;
    this.#noticed.set(who, now);
    const [oldest] = this.#noticed.keys();
    if (this.#noticed.size > MOST_NOTICES && oldest !== undefined) this.#noticed.delete(oldest);
    batch.events.push(reading.event);
    this.#parts.host.log.warn({}, "a message could not be read; its sender is asked to send it again");
  }

  /** What came while nobody heard, and the server kept for somebody else: the phone alone knows of it. */
  async #readHistory(told: WAMessage, batch: Batch): Promise<void> {
    const { key, message, messageTimestamp } = told;
    if (key.fromMe === true || message == null) return;
    if (!this.#parts.seen.isLater(Number(messageTimestamp ?? 0))) return;
    const reading = await this.#parts.reader.read(told, undefined, batch.rows);
    if (!reading || reading.again) return;
    batch.events.push(reading.event);
    batch.missed += 1;
  }

  #over(entry: Entry, live: boolean, batch: Batch): void {
    if (live || !entry.found) batch.over.push(entry);
    // The server may not know that it came: when it is handed over again, it must be read as before.
    else entry.done = true;
  }
}
