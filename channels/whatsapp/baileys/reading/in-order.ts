import { type Clock, pause } from "../../../../src/core/clock.ts";

/** Items that are worked on together. */
const MOST_AT_ONCE = 50;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

export type InOrderParts<Item> = {
  readonly clock: Clock;
  readonly work: (items: readonly Item[]) => Promise<void>;
  /** It is tried again after `ms`. */
  readonly failed: (error: unknown, ms: number) => void;
  /** What failed has succeeded. */
  readonly recovered: () => void;
};

/** Works on items in their order. What fails is done again until it succeeds: nothing overtakes it. */
export class InOrder<Item> {
  readonly #parts: InOrderParts<Item>;
  readonly #closing = new AbortController();
  readonly #items: Item[] = [];
  /** Who waits until nothing is left, or until it comes to a halt. */
  readonly #waiting = new Set<() => void>();
  #halted = false;
  #running: Promise<void> | undefined;

  constructor(parts: InOrderParts<Item>) {
    this.#parts = parts;
  }

  get length(): number {
    return this.#items.length;
  }

  push(...items: readonly Item[]): void {
    this.#items.push(...items);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      this.#release();
    });
  }

  /** Resolves when nothing is left, or when what fails is only tried again later. */
  async settled(): Promise<void> {
    while (this.#running && !this.#halted) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** Leaves undone what nothing is being done about. */
  drop(): void {
    this.#items.length = 0;
  }

  /** Ends after what is being worked on; the rest is left undone. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    // Whoever pushes several at once has pushed them all by then.
    await Promise.resolve();
    let failures = 0;
    while (this.#items.length > 0 && !this.#closing.signal.aborted) {
      // After a failure each alone, so that one that cannot be done holds back no more than what comes behind it.
      const items = this.#items.slice(0, failures === 0 ? MOST_AT_ONCE : 1);
      try {
        await this.#parts.work(items);
        this.#items.splice(0, items.length);
        if (failures > 0) this.#parts.recovered();
        failures = 0;
      } catch (error) {
        const ms = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
        failures += 1;
        this.#parts.failed(error, ms);
        this.#halted = true;
        this.#release();
        await pause(this.#parts.clock, ms, this.#closing.signal);
        this.#halted = false;
      }
    }
  }

  #release(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
