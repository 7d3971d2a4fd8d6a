import { asError } from "../core/errors.ts";

/** Does a piece of work when there is room for it. */
export type Lane = <T>(work: () => Promise<T>) => Promise<T>;

/** What a lane says that takes no work now; whoever brought it comes again. */
export class NotNow extends Error {}

/**
 * So many pieces of work at once, and of one key at most half of them, rounded up; those who wait are taken by key in
 * turn. So one who sends much, or whose work hangs, holds up nobody else.
 */
export class FairLane {
  readonly #atOnce: number;
  readonly #ofOneKey: number;
  readonly #running = new Map<number, number>();
  /** Those who wait, by key, in the order in which the keys have their turn. */
  readonly #waiting = new Map<number, (() => void)[]>();

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
    this.#ofOneKey = Math.ceil(atOnce / 2);
  }

  /**
   * An abort while it waits rejects with the signal's reason; work that has begun looks at the signal itself. With
   * `leave` it makes room before it ends.
   */
  async run<T>(key: number, work: (leave: () => void) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    await this.#turn(key, signal);
    let here = true;
    const leave = (): void => {
      if (here) this.#leave(key);
      here = false;
    };
    try {
      return await work(leave);
    } finally {
      leave();
    }
  }

  #turn(key: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const line = this.#waiting.get(key) ?? [];
      this.#waiting.set(key, line);
      const begin = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = (): void => {
        line.splice(line.indexOf(begin), 1);
        if (line.length === 0) this.#waiting.delete(key);
        reject(asError(signal.reason));
      };
      line.push(begin);
      signal.addEventListener("abort", giveUp, { once: true });
      this.#fill();
    });
  }

  #leave(key: number): void {
    const left = (this.#running.get(key) ?? 0) - 1;
    if (left > 0) this.#running.set(key, left);
    else this.#running.delete(key);
    this.#fill();
  }

  #fill(): void {
    for (;;) {
      const all = [...this.#running.values()].reduce((sum, many) => sum + many, 0);
      const next = [...this.#waiting].find(([key]) => (this.#running.get(key) ?? 0) < this.#ofOneKey);
      if (all >= this.#atOnce || !next) return;
      const [key, line] = next;
      this.#running.set(key, (this.#running.get(key) ?? 0) + 1);
      const begin = line.shift();
      // Behind all others: its next one waits for its turn.
      this.#waiting.delete(key);
      if (line.length > 0) this.#waiting.set(key, line);
      begin?.();
    }
  }
}
