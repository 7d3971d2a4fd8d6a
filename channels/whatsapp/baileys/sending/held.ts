import type { Clock } from "../../../../src/core/clock.ts";

const SHORTEST_MS = 1_000;
const LONGEST_MS = 15_000;
/** After so long one message is tried all the same: what is too old is given up by whoever asks, and told. */
const LET_THROUGH_MS = 6 * 3_600_000;

/**
 * Holds chats while there is no line, which is cheaper than to try. They are asked to come again the more seldom the longer
 * it lasts, and every six hours one message of each goes to where it is refused as not written.
 */
export class Held {
  readonly #clock: Clock;
  /** Since when each chat is held (epoch ms). */
  readonly #since = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** When the chat should come again (epoch ms); undefined where it is to go on now. */
  until(chat: string): number | undefined {
    const now = this.#clock.now();
    const since = this.#since.get(chat) ?? now;
    const heldMs = now - since;
    if (heldMs < 0 || heldMs >= LET_THROUGH_MS) {
      this.#since.delete(chat);
      return undefined;
    }
    this.#since.set(chat, since);
    return now + Math.min(Math.max(heldMs / 4, SHORTEST_MS), LONGEST_MS);
  }

  /** The line is there. */
  release(): void {
    this.#since.clear();
  }
}
