import type { ChannelState } from "../../../../src/core/host.ts";
import type { Clock } from "../../../../src/core/clock.ts";
import type { InboundEvent, MessageEvent } from "../../../../src/core/events.ts";
import type { PollKey } from "./polls.ts";
import type { Reference } from "./references.ts";
import type { Seal } from "../keys/seal.ts";

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
  readonly #state: ChannelState;
  readonly #seal: Seal;
  readonly #clock: Clock;

  constructor(parts: { readonly state: ChannelState; readonly seal: Seal; readonly clock: Clock }) {
    this.#state = parts.state;
    this.#seal = parts.seal;
    this.#clock = parts.clock;
  }

  /** Without those that are damaged, which must not hold up what is about them. @throws GatewayError "store.unavailable". */
  async find(keys: readonly SaidKey[]): Promise<ReadonlyMap<SaidKey, SaidRow>> {
    if (keys.length === 0) return new Map();
    const found = await this.#state.get(keys);
    return new Map(
      keys.flatMap((key) => {
        const sealed = found.get(key);
        const row = sealed === undefined ? undefined : this.#read(key, sealed);
        return row ? [[key, row] as const] : [];
      }),
    );
  }

  /** The message that a chat, by its key, knows under an id; in a group with its sender's key. */
  async message(chat: string, { id, by }: Reference): Promise<MessageEvent | undefined> {
    const key = saidKey(chat, by === undefined ? id : `${by}/${id}`);
    const event = (await this.find([key])).get(key)?.event;
    return event?.type === "message" ? event : undefined;
  }

  /** In one transaction. @throws GatewayError "store.unavailable". */
  async keep(rows: ReadonlyMap<SaidKey, SaidRow>): Promise<void> {
    if (rows.size === 0) return;
    await this.#state.set(
      Object.fromEntries(
        [...rows].map(([key, row]) => [key, this.#seal.seal(Buffer.from(JSON.stringify(row)), key)]),
      ),
      { until: this.#clock.now() + KEEP_MS },
    );
  }

  #read(key: SaidKey, sealed: string): SaidRow | undefined {
    try {
      return JSON.parse(this.#seal.open(sealed, key).toString("utf8")) as SaidRow; // as `keep` writes it
    } catch {
      return undefined;
    }
  }
}

/** So long does WhatsApp keep what could not be delivered, and with it what may come again. */
const KEEP_MS = 14 * 24 * 3_600_000;

/** `id` is that of the event: in a group the sender's key stands before that of the message. */
export function saidKey(chat: string, id: string): SaidKey {
  return `said/${chat}/${id}`;
}
