import type { BaileysEventMap, WAMessage, WAMessageKey } from "@whiskeysockets/baileys";
import type { Clock } from "../../../../src/core/clock.ts";
import type { DeliveryEvent } from "../../../../src/core/events.ts";
import type { Contacts } from "../people/contacts.ts";
import { isoOf } from "./words.ts";

/** As `WebMessageInfo.Status` numbers them. */
const DELIVERED = 3;
const READ = 4;

const MOST_REMEMBERED = 10_000;

/**
 * What became of our messages. It is told per device, per member of a group, and again after each reconnect; a step is
 * handed on once.
 */
export class Deliveries {
  readonly #contacts: Pick<Contacts, "keyOf">;
  readonly #clock: Clock;
  readonly #told = new Set<string>();

  constructor(parts: { readonly contacts: Pick<Contacts, "keyOf">; readonly clock: Clock }) {
    this.#contacts = parts.contacts;
    this.#clock = parts.clock;
  }

  ofUpdates(updates: BaileysEventMap["messages.update"]): readonly DeliveryEvent[] {
    return updates.flatMap(({ key, update }) => this.#step(key, update.status, update.messageTimestamp));
  }

  /** A status that came while its message was still held back is told with the message alone. */
  ofMessages(messages: readonly WAMessage[]): readonly DeliveryEvent[] {
    return messages.flatMap(({ key, status }) => this.#step(key, status, undefined));
  }

  /** In groups each member tells of themselves: the first of them counts. */
  ofReceipts(receipts: BaileysEventMap["message-receipt.update"]): readonly DeliveryEvent[] {
    return receipts.flatMap(({ key, receipt: { receiptTimestamp, readTimestamp, playedTimestamp } }) => {
      const seen = playedTimestamp ?? readTimestamp;
      return seen == null ? this.#step(key, DELIVERED, receiptTimestamp) : this.#step(key, READ, seen);
    });
  }

  #step(
    { id, remoteJid, fromMe }: WAMessageKey,
    status: number | null | undefined,
    at: unknown,
  ): readonly DeliveryEvent[] {
    // The account's own phone is told of its messages too; whoever keeps what we sent knows which are ours.
    if (!fromMe || !id || !OUR_ID.test(id) || (status ?? 0) < DELIVERED) return [];
    const chat = this.#contacts.keyOf(remoteJid);
    const now = (status ?? 0) >= READ ? "read" : "delivered";
    const name = `${id}/${now}`;
    if (chat === undefined || this.#told.has(name)) return [];
    this.#told.add(name);
    const [oldest] = this.#told;
    if (this.#told.size > MOST_REMEMBERED && oldest !== undefined) this.#told.delete(oldest);
    const sentAt = at == null ? new Date(this.#clock.now()).toISOString() : isoOf(at);
    return [{ type: "delivery", id: name, chat, ref: id, status: now, sentAt }];
  }
}

/** What `MessageIds` makes looks like this, and little else does. */
const OUR_ID = /^3EB0[0-9A-F]{18}$/;
