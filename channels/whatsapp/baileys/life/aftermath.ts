import type { ChannelHost } from "../../../../src/core/host.ts";
import { GatewayError } from "../../../../src/core/errors.ts";
import { Backoff } from "./backoff.ts";
import { banMs, meaningOf } from "./closes.ts";
import type { Ended } from "./connection.ts";

/** Restarts in a row that WhatsApp may ask for before they count as failures. */
const MOST_RESTARTS = 3;
/** Another program that logged in has the account to itself for so long. */
const REPLACED_MS = 60_000;
/** Who is replaced twice within an hour shares the keys with another program. */
const REPLACED_AGAIN_MS = 3_600_000;
/** Some three minutes: a network that is away for less is nobody's concern. */
const FAILURES_BEFORE_TOLD = 8;
/** Logins after the linking that WhatsApp may refuse: it may not know the new device everywhere yet. */
const MOST_DOUBTS = 2;

export type Next = { readonly why: string; readonly fault?: GatewayError } & (
  | {
      readonly act: "connect";
      readonly waitMs: number;
      /** Look at the lease first. */
      readonly onlyIfOurs?: true;
    }
  | { readonly act: "link" }
  | { readonly act: "stop"; readonly mayRelink: boolean }
);

/** What follows from how connections ended, one after another. */
export class Aftermath {
  readonly #host: ChannelHost;
  readonly #backoff: Backoff;
  /** Connections in a row without a login. */
  #unopened = 0;
  #restarts = 0;
  #doubts = 0;
  #replacedAt: number | undefined;

  constructor(host: ChannelHost, random: () => number) {
    this.#host = host;
    this.#backoff = new Backoff(host.clock, random);
  }

  opened(): void {
    this.#unopened = 0;
    this.#restarts = 0;
    this.#doubts = 0;
  }

  /** `justLinked` while no login with new keys has gone well. */
  of(ended: Ended, { justLinked }: { readonly justLinked: boolean }): Next {
    const { reaction, why } = meaningOf(ended.close);
    switch (reaction) {
      case "at once":
        this.#restarts += 1;
        return this.#restarts <= MOST_RESTARTS
          ? { act: "connect", waitMs: 0, why }
          : this.#again("soon", why, ended);
      case "soon":
      case "later":
        return this.#again(reaction, why, ended);
      case "replaced":
        return this.#replaced(why);
      case "banned":
        return { act: "connect", waitMs: banMs(ended.close), why, fault: refused(why) };
      case "doubted":
      case "unpaired": {
        this.#doubts += 1;
        const most = justLinked ? MOST_DOUBTS : reaction === "doubted" ? 1 : 0;
        return this.#doubts <= most
          ? this.#again("soon", why, ended)
          : { act: "link", why, fault: refused(why) };
      }
      case "account lost":
        return { act: "stop", why, mayRelink: true };
      case "stop":
        return { act: "stop", why, mayRelink: false };
    }
  }

  #again(reaction: "soon" | "later", why: string, ended: Ended): Next {
    const { waitMs, paused } = this.#backoff.next(reaction, ended);
    this.#unopened += 1;
    const fault =
      paused || this.#unopened >= FAILURES_BEFORE_TOLD
        ? new GatewayError("channel.unreachable", why)
        : undefined;
    const said = paused ? `${why}; that was the tenth time in ten minutes` : why;
    return { act: "connect", waitMs, why: said, ...(fault ? { fault } : {}) };
  }

  #replaced(why: string): Next {
    const now = this.#host.clock.now();
    const again = this.#replacedAt !== undefined && now - this.#replacedAt < REPLACED_AGAIN_MS;
    this.#replacedAt = now;
    return again
      ? { act: "stop", why, mayRelink: true }
      : { act: "connect", waitMs: REPLACED_MS, why, onlyIfOurs: true };
  }
}

function refused(why: string): GatewayError {
  return new GatewayError("channel.refused", why);
}
