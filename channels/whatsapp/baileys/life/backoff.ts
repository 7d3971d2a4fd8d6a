import type { Clock } from "../../../../src/core/clock.ts";
import type { Reaction } from "./closes.ts";

const FIRST_MS = 1_000;
const LONGEST_SOON_MS = 60_000;
const LONGEST_LATER_MS = 300_000;
/** A connection that stood so long ends a row of failures. */
const STEADY_MS = 60_000;
const BREAKER_WINDOW_MS = 600_000;
const BREAKER_CLOSES = 10;
const BREAKER_PAUSE_MS = 600_000;

/** How long to wait before the next connection, after a row of those that ended. */
export class Backoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  #failures = 0;
  /** When connections ended that had been answered, within the breaker's window. */
  #closes: number[] = [];

  /** `random` as Math.random. */
  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * A connection ended after `openMs`; `answered` where WhatsApp said anything in it. Whoever comes back too often is
   * noticed there, so ten answered ones in ten minutes pause for ten more; a network that is away is nobody's offence.
   */
  next(
    reaction: Extract<Reaction, "soon" | "later">,
    { openMs, answered }: { readonly openMs: number; readonly answered: boolean },
  ): { readonly waitMs: number; readonly paused: boolean } {
    const now = this.#clock.now();
    if (openMs >= STEADY_MS) this.#failures = 0;
    if (answered) this.#closes.push(now);
    this.#closes = this.#closes.filter((at) => at > now - BREAKER_WINDOW_MS);
    if (this.#closes.length >= BREAKER_CLOSES) {
      this.#closes = [];
      this.#failures = 0;
      return { waitMs: BREAKER_PAUSE_MS, paused: true };
    }
    const longestMs = reaction === "later" ? LONGEST_LATER_MS : LONGEST_SOON_MS;
    const waitMs = Math.round(this.#random() * Math.min(FIRST_MS * 2 ** this.#failures, longestMs));
    this.#failures += 1;
    return { waitMs, paused: false };
  }
}
