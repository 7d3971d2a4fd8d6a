import type { InboundEvent, MessageEvent } from "../../../../src/core/events.ts";
import type { PollKey } from "./polls.ts";
import type { Reference } from "./references.ts";
import { SealedRows, type SealedRowsParts } from "../keys/sealed-rows.ts";

/** What was told of something that somebody did in a chat. */
export type SaidEvent = Extract<InboundEvent, { readonly place: unknown }>;

/** A row: the event as it was handed over, and what reading later ones takes. */
export type SaidRow = {
  readonly event: SaidEvent;
  /** Of a poll: what opens the votes. */
  readonly poll?: PollKey;
};

/** Where a row stands. */
export type SaidKey = `said/${string}`;

/**
 * What others said, as it was handed over: a redelivered message gives the same event again, whatever was learnt of its
 * sender meanwhile; replies, edits and votes find what they are about; and nobody can put words into another's mouth.
 */
export class Said {
  readonly #rows: SealedRows;

  constructor(parts: SealedRowsParts) {
    this.#rows = new SealedRows(parts);
  }

  /** @throws GatewayError "store.unavailable". */
  async find(keys: readonly SaidKey[]): Promise<ReadonlyMap<SaidKey, SaidRow>> {
    return (await this.#rows.find(keys)) as ReadonlyMap<SaidKey, SaidRow>; // as `keep` writes them
  }

  /** The message that a chat, by its key, knows under an id; in a group with its sender's key. */
  async message(chat: string, { id, by }: Reference): Promise<MessageEvent | undefined> {
    const key = saidKey(chat, by === undefined ? id : `${by}/${id}`);
    const event = (await this.find([key])).get(key)?.event;
    return event?.type === "message" ? event : undefined;
  }

  /** In one transaction. @throws GatewayError "store.unavailable". */
  async keep(rows: ReadonlyMap<SaidKey, SaidRow>): Promise<void> {
    await this.#rows.keep(rows);
  }
}

/** `id` is that of the event: in a group the sender's key stands before that of the message. */
export function saidKey(chat: string, id: string): SaidKey {
  return `said/${chat}/${id}`;
}
