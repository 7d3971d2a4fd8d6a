import type { ChannelState } from "../../../src/core/host.ts";
import type { Clock } from "../../../src/core/clock.ts";
import type { InboundEvent } from "../../../src/core/events.ts";
import type { Entries } from "./contacts.ts";

/** Cloud API: what is no template goes only within 24 hours of the person's last message. */
const WINDOW_MS = 24 * 3_600_000;
/** Our clock may be ahead of Meta's: near the end Meta is asked. */
const DOUBT_MS = 2 * 60_000;

/** How long the last message of a person is known: a read mark can be set for 30 days. */
export const KNOWN_MS = 30 * 24 * 3_600_000;

/** The last that a person has written: when (epoch ms, by Meta's clock), and its id. */
export type LastHeard = { readonly at: number; readonly ref: string };

/** When people have written last, over restarts: whether they can be written to, and what a sign of life names. */
export class Windows {
  readonly #state: ChannelState;
  readonly #clock: Clock;

  constructor(state: ChannelState, clock: Clock) {
    this.#state = state;
    this.#clock = clock;
  }

  /** Whether it is certain that Meta would refuse to hand a message to this person. */
  async isClosed(chat: string): Promise<boolean> {
    const last = await this.last(chat);
    return last !== undefined && this.#clock.now() - last.at > WINDOW_MS + DOUBT_MS;
  }

  async last(chat: string): Promise<LastHeard | undefined> {
    return read((await this.#state.get([windowEntry(chat)])).get(windowEntry(chat)));
  }

  /** To be stored before the events are committed, for KNOWN_MS. Webhooks come in any order: the latest counts. */
  async heard(events: readonly InboundEvent[]): Promise<Entries> {
    const latest = new Map<string, LastHeard>();
    for (const event of events) {
      if (event.type !== "message" && event.type !== "choice" && event.type !== "reaction") continue;
      const { chat } = event.place;
      const at = Date.parse(event.sentAt);
      if (at > (latest.get(chat)?.at ?? 0)) latest.set(chat, { at, ref: event.id });
    }
    if (latest.size === 0) return {};
    const kept = await this.#state.get([...latest.keys()].map(windowEntry));
    return Object.fromEntries(
      [...latest].flatMap(([chat, last]) =>
        last.at >= (read(kept.get(windowEntry(chat)))?.at ?? 0)
          ? [[windowEntry(chat), JSON.stringify(last)]]
          : [],
      ),
    );
  }
}

function read(value: string | undefined): LastHeard | undefined {
  return value === undefined ? undefined : (JSON.parse(value) as LastHeard); // written by `heard`
}

function windowEntry(chat: string): string {
  return `window/${chat}`;
}
