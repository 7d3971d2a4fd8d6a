import type { ChannelState } from "../../../../src/core/host.ts";
import type { Clock } from "../../../../src/core/clock.ts";
import { formOf } from "../people/jids.ts";
import type { Me } from "../line.ts";

/** How far it may have gone on before it is written down: what is taken in twice is recognised. */
const WRITE_EVERY_SECONDS = 60;

/**
 * Up to when an account's messages have come, in seconds since 1970. What the phone tells of later ones, after a gap, was
 * missed; what was said before the account was linked is not for us.
 */
export class Seen {
  readonly #state: ChannelState;
  readonly #clock: Clock;
  #key: string | undefined;
  #last = 0;
  #written = 0;
  #before = 0;

  constructor(parts: { readonly state: ChannelState; readonly clock: Clock }) {
    this.#state = parts.state;
    this.#clock = parts.clock;
  }

  /** @throws GatewayError "store.unavailable". */
  async load({ pn, lid }: Me): Promise<void> {
    const key = `seen/${formOf(lid) ?? formOf(pn) ?? ""}`;
    if (key === this.#key) return;
    const stored = (await this.#state.get([key])).get(key);
    const now = Math.floor(this.#clock.now() / 1_000);
    if (stored === undefined) await this.#state.set({ [key]: String(now) });
    this.#key = key;
    this.#last = this.#written = this.#before = stored === undefined ? now : Number(stored);
  }

  /** A new connection: what is missing is missing since the one before. */
  reconnected(): void {
    this.#before = this.#last;
  }

  /** Whether a message of history came too late for the connection before. */
  isLater(seconds: number): boolean {
    return seconds > this.#before;
  }

  /** @throws GatewayError "store.unavailable". */
  async upTo(seconds: number): Promise<void> {
    // Senders say when it was; one that is ahead of its time would hide what comes until then.
    this.#last = Math.max(this.#last, Math.min(seconds, Math.floor(this.#clock.now() / 1_000)));
    if (this.#key === undefined || this.#last - this.#written < WRITE_EVERY_SECONDS) return;
    await this.#state.set({ [this.#key]: String(this.#last) });
    this.#written = this.#last;
  }
}
