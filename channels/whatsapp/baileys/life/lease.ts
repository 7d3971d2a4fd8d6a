import type { ChannelHost, Lease } from "../../../../src/core/host.ts";
import type { Timer } from "../../../../src/core/clock.ts";
import { asError, hasCode } from "../../../../src/core/errors.ts";

/** After a crash nobody is this account for so long. */
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;

/** The right to be this account while it lasts: kept alive, and told of when it is over. */
export class Hold {
  readonly lease: Lease;
  readonly #host: ChannelHost;
  readonly #over = new AbortController();
  #until: number;
  #timer: Timer;

  private constructor(host: ChannelHost, lease: Lease, until: number) {
    this.#host = host;
    this.lease = lease;
    this.#until = until;
    this.#timer = this.#soon();
  }

  /** Undefined while another process has it. */
  static async take(host: ChannelHost): Promise<Hold | undefined> {
    const asked = host.clock.now();
    const lease = await host.state.lease(LEASE_MS);
    return lease && new Hold(host, lease, asked + LEASE_MS);
  }

  /** Aborts when it is lost or given up; the reason is why. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  end(why: Error): void {
    this.#timer.cancel();
    if (!this.#over.signal.aborted) this.#over.abort(why);
  }

  /** Gives it back, if it was not lost. Never throws. */
  async release(): Promise<void> {
    this.end(new Error("it was given back"));
    await this.lease.release().catch(() => {}); // it ends by itself
  }

  /** Asks at once whether it still holds. Never throws. */
  async renew(): Promise<void> {
    this.#timer.cancel();
    const asked = this.#host.clock.now();
    try {
      await this.lease.renew(LEASE_MS);
      this.#until = asked + LEASE_MS;
    } catch (thrown) {
      // A store that is away for a moment has not given it to anybody.
      if (hasCode(thrown, "store.hold_lost") || this.#host.clock.now() >= this.#until - RENEW_MS)
        return this.end(asError(thrown));
    }
    if (!this.#over.signal.aborted) this.#timer = this.#soon();
  }

  #soon(): Timer {
    return this.#host.clock.after(RENEW_MS, () => void this.renew());
  }
}
