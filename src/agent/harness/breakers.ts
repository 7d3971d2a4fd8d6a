import type { ModelChoice } from "../../core/agent.ts";
import type { Clock } from "../../core/clock.ts";

export const FAILURES = 5;
const WITHIN_MS = 60_000;
const REST_MS = 60_000;

/** One for each model and account, whatever agents ask it. */
export class Breakers {
  readonly #clock: Clock;
  readonly #known = new Map<string, Breaker>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of({ provider, name, baseUrl = "", apiKey = "" }: ModelChoice): Breaker {
    const key = JSON.stringify([provider, name, baseUrl, apiKey]);
    const known = this.#known.get(key) ?? new Breaker(this.#clock);
    this.#known.set(key, known);
    return known;
  }
}

/** `rests` (ms) where nothing is let through. */
type Entry = { readonly rests?: number; readonly probe: boolean };

class Breaker {
  readonly #clock: Clock;
  #failures: readonly number[] = [];
  #openUntil: number | undefined;
  #probing = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  enter(): Entry {
    if (this.#openUntil === undefined) return { probe: false };
    const rests = this.#openUntil - this.#clock.now();
    // While one is let through, the others would only find out the same.
    if (rests > 0 || this.#probing) return { probe: false, rests: Math.max(rests, 1_000) };
    this.#probing = true;
    return { probe: true };
  }

  answered(): void {
    this.#failures = [];
    this.#openUntil = undefined;
    this.#probing = false;
  }

  failed({ probe }: Entry): void {
    const now = this.#clock.now();
    if (probe) this.#probing = false;
    this.#failures = [...this.#failures.filter((at) => at > now - WITHIN_MS), now];
    if (probe || (this.#openUntil === undefined && this.#failures.length >= FAILURES)) {
      this.#openUntil = now + REST_MS;
      this.#failures = [];
    }
  }

  /** Whoever asked has gone before it was known. */
  left({ probe }: Entry): void {
    if (probe) this.#probing = false;
  }
}
