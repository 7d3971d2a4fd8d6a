import type { Clock, Timer } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import type { Lease } from "../core/host.ts";
import type { ChannelId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";

/** Whoever dies leaves a connection to others after this. */
export const LEASE_MS = 12_000;
/** How often it is renewed, or asked for by those who wait. */
const RENEW_MS = 4_000;
/** Before its end by our own clock it is given up, so that a call that is on its way has ended when another begins. */
const MARGIN_MS = 3_000;

/** What the lease of being a connection is called: another one than that which a connection takes for itself. */
export function leaseOf(id: ChannelId): string {
  return `open/${id}`;
}

type Parts = {
  readonly take: (ms: number) => Promise<Lease | undefined>;
  /** The connection is this process's now. Never rejects. */
  readonly won: () => Promise<void>;
  /** It is no more: nothing is to be taken in or sent. Never rejects. */
  readonly lost: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
};

/** What keeps several processes from being one connection: who holds the lease is it, the others wait. */
export class Ownership {
  readonly #by: Parts;
  #lease: Lease | undefined;
  #next: Timer | undefined;
  /** A renewal may hang: the end of the lease waits for nobody. */
  #expiry: Timer | undefined;
  /** Opening and closing take their time: what is lost meanwhile is closed after it, what is won again opened after that. */
  #doing = Promise.resolve();
  #takesNoMore = false;
  #ended = false;

  constructor(by: Parts) {
    this.#by = by;
  }

  get held(): boolean {
    return this.#lease !== undefined;
  }

  /** Resolves when it was tried once; goes on by itself. Never rejects. */
  async begin(): Promise<void> {
    const { clock, log } = this.#by;
    try {
      if (this.#lease) await this.#renew(this.#lease);
      else if (!this.#takesNoMore) await this.#take();
    } catch (err) {
      if (hasCode(err, "store.hold_lost")) void this.#lose("another process has taken it"); // nor does this
      else log.warn({ err }, "the lease of the connection cannot be had or renewed now, again soon");
    }
    if (this.#ended) return;
    // It is renewed while the connection is being opened, too.
    this.#next = clock.after(RENEW_MS, () => void this.begin());
    await this.#doing;
  }

  /** The process is about to end: it keeps what it has. */
  takeNoMore(): void {
    this.#takesNoMore = true;
  }

  /** Gives it up once `closing` is done, so that others need not wait for its end. Never rejects. */
  async end(closing = async (): Promise<void> => {}): Promise<void> {
    this.#ended = true;
    this.#next?.cancel();
    this.#expiry?.cancel();
    await this.#behind(closing);
    const lease = this.#lease;
    this.#lease = undefined;
    await lease?.release().catch((err: unknown) => {
      this.#by.log.warn({ err }, "the connection could not be given up; it is free when its lease ends");
    });
  }

  async #take(): Promise<void> {
    const { clock, take, won } = this.#by;
    const asked = clock.now();
    const lease = await take(LEASE_MS);
    if (!lease) return;
    if (this.#takesNoMore || this.#ended) return await lease.release();
    this.#lease = lease;
    this.#holdUntil(asked + LEASE_MS);
    void this.#behind(won); // it never rejects
  }

  async #renew(lease: Lease): Promise<void> {
    const asked = this.#by.clock.now();
    await lease.renew(LEASE_MS);
    if (this.#lease === lease) this.#holdUntil(asked + LEASE_MS);
  }

  #holdUntil(at: number): void {
    const { clock } = this.#by;
    this.#expiry?.cancel();
    this.#expiry = clock.after(
      at - MARGIN_MS - clock.now(),
      () => void this.#lose("its lease could not be renewed in time"),
    );
  }

  async #lose(why: string): Promise<void> {
    if (!this.#lease) return;
    this.#lease = undefined;
    this.#expiry?.cancel();
    this.#by.log.warn({}, `the connection is no longer this process's: ${why}`);
    await this.#behind(this.#by.lost);
  }

  async #behind(what: () => Promise<void>): Promise<void> {
    this.#doing = this.#doing.then(what);
    await this.#doing;
  }
}
