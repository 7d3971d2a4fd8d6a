import type { Clock } from "../../../src/core/clock.ts";
import { badRequest } from "./refusal.ts";

const ANSWERABLE_MS = 150_000; // telegram-bot-api keeps the update as long; then nobody waits for the answer

/** Questions that Telegram takes an answer to for a while: pressed buttons, guests' messages. */
export class OpenQueries {
  readonly #clock: Clock;
  readonly #prefix: string;
  readonly #askedAt = new Map<string, number>();
  #count = 0;

  constructor(clock: Clock, prefix: string) {
    this.#clock = clock;
    this.#prefix = prefix;
  }

  /** Asks under an id of its own. */
  ask(): string {
    this.#count += 1;
    const id = `${this.#prefix}${String(this.#count).padStart(12, "0")}`;
    this.adopt(id);
    return id;
  }

  /** Asks under an id that a test chose. */
  adopt(id: string): void {
    const now = this.#clock.now();
    for (const [old, at] of this.#askedAt) if (now - at > ANSWERABLE_MS) this.#askedAt.delete(old);
    this.#askedAt.set(id, now);
  }

  /** @throws Refusal when it is too late, or there is no such question. */
  check(id: unknown): string {
    const askedAt = this.#askedAt.get(String(id));
    if (askedAt === undefined || this.#clock.now() - askedAt > ANSWERABLE_MS) {
      throw badRequest("query is too old and response timeout expired or query ID is invalid");
    }
    return String(id);
  }

  /** From now on it is too late. */
  close(id: string): void {
    this.#askedAt.delete(id);
  }
}
