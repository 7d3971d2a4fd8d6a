import type { Clock, Timer } from "../../src/core/clock.ts";

/** Four polls of 30 s. OpenClaw waits as long; a shorter one would trip over a poll that is only slow. */
const STALL_MS = 120_000;

/** Notices when no poll has ended for long, well or badly, whatever holds it up. */
export class Watchdog {
  readonly #clock: Clock;
  readonly #tripped: () => void;
  #timer: Timer | undefined;
  #giveUp: (() => void) | undefined;

  constructor(clock: Clock, tripped: () => void) {
    this.#clock = clock;
    this.#tripped = tripped;
  }

  /** A poll has ended, or the first is about to begin; the next begins after `waitMs`. */
  ended(waitMs = 0): void {
    this.stop();
    this.#timer = this.#clock.after(waitMs + STALL_MS, () => {
      this.#tripped();
      this.#giveUp?.();
      this.ended();
    });
  }

  /** What a poll gives; rejects when the watchdog trips before, even if the poll itself never ends. */
  async over<T>(poll: Promise<T>): Promise<T> {
    try {
      return await Promise.race([poll, this.#trip()]);
    } finally {
      this.#giveUp = undefined;
    }
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #trip(): Promise<never> {
    return new Promise((_resolve, reject) => {
      this.#giveUp = () => reject(new Error(`no poll has ended for ${STALL_MS / 1000} s`));
    });
  }
}
