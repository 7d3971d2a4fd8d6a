import type { Clock } from "../../../../src/core/clock.ts";
import { GatewayError } from "../../../../src/core/errors.ts";

/** What has not been written by then is left behind, and the next one goes. */
const WRITE_MS = 30_000;

/**
 * One message of an account is written at a time, in order: Baileys does no more at once, and what waits there cannot be
 * called back.
 */
export class Lane {
  readonly #clock: Clock;
  #last: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws GatewayError "send.not_written" where the signal came before its turn; Error where the write takes too long. */
  async run(write: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const mine = this.#after(this.#last, write, signal);
    this.#last = mine.catch(() => {});
    await mine;
  }

  async #after(before: Promise<void>, write: () => Promise<void>, signal: AbortSignal): Promise<void> {
    await before;
    if (signal.aborted)
      throw new GatewayError("send.not_written", "the send was ended before its turn", {
        cause: signal.reason,
      });
    await this.#within(write());
  }

  #within(written: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(WRITE_MS, () =>
        reject(new Error(`a message was not written within ${WRITE_MS / 1_000} s`)),
      );
      written.then(resolve, reject).finally(() => timer.cancel());
    });
  }
}
