import type { ChannelHost } from "../../src/core/host.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { type Failure, wordsOf } from "./failures.ts";

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
const CONFLICT_FIRST_MS = 5_000;
const CONFLICT_LONGEST_MS = 60_000;
/** After a restart the poll of the process before ends by itself; what lasts longer is another program. */
const CONFLICTS_BEFORE_TOLD = 5;
/** Some 90 s: a network that is away for less is nobody's concern. */
const FAILURES_BEFORE_TOLD = 8;

/** What a row of failed calls means, how long to wait in it, and what is said of it. */
export class Trouble {
  readonly #host: ChannelHost;
  readonly #random: () => number;
  #failures = 0;
  #conflicts = 0;
  #told = false;

  /** `random` as Math.random. */
  constructor(host: ChannelHost, random: () => number) {
    this.#host = host;
    this.#random = random;
  }

  over(): void {
    if (this.#failures > 0)
      this.#host.log.info({ failures: this.#failures }, "receiving from Telegram works again");
    this.#failures = 0;
    this.#conflicts = 0;
    if (this.#told) this.#host.recovered();
    this.#told = false;
  }

  /** Milliseconds to wait; undefined when there is no use in going on. */
  met(failure: Failure): number | undefined {
    const { id, log } = this.#host;
    if (isBadToken(failure)) {
      this.#host.failed(new GatewayError("channel.refused", badToken(id, failure.code)));
      return undefined;
    }
    const waitMs = this.#waitFor(failure);
    (this.#failures === 0 ? log.warn : log.debug)(
      { waitMs, why: wordsOf(failure) },
      "receiving from Telegram failed; tried again after a wait",
    );
    this.#failures += 1;
    if (this.#failures === FAILURES_BEFORE_TOLD)
      this.tell(
        new GatewayError("channel.unreachable", `receiving from Telegram fails: ${wordsOf(failure)}`),
      );
    return waitMs;
  }

  /** Said once in a row of failures. */
  tell(error: GatewayError): void {
    if (!this.#told) this.#host.failed(error);
    this.#told = true;
  }

  #waitFor(failure: Failure): number {
    if (failure.kind === "refused" && failure.code === 409) return this.#conflict();
    if (failure.kind === "refused" && failure.retryAfterMs !== undefined)
      return Math.max(failure.retryAfterMs, FIRST_WAIT_MS);
    return growing(this.#failures, FIRST_WAIT_MS, LONGEST_WAIT_MS);
  }

  #conflict(): number {
    const waitMs = growing(this.#conflicts, CONFLICT_FIRST_MS, CONFLICT_LONGEST_MS);
    this.#conflicts += 1;
    if (this.#conflicts === CONFLICTS_BEFORE_TOLD)
      this.tell(
        new GatewayError(
          "channel.refused",
          "another program reads this bot's messages with the same token; stop it, or have @BotFather make a new " +
            "token and set it here",
        ),
      );
    // Two programs that wait alike would meet again and again.
    return waitMs * (1 + this.#random() / 4);
  }
}

/** The n-th wait of a row that doubles. */
export function growing(before: number, firstMs: number, longestMs: number): number {
  return Math.min(firstMs * 2 ** before, longestMs);
}

function isBadToken(failure: Failure): failure is Extract<Failure, { readonly kind: "refused" }> {
  return failure.kind === "refused" && (failure.code === 401 || failure.code === 404);
}

function badToken(channel: string, code: number): string {
  const why = code === 401 ? "it was revoked or mistyped" : "it is no token, or apiRoot is no Bot API";
  return (
    `Telegram does not accept the token of the channel “${channel}” (${code}): ${why}; ` +
    `set channels.${channel}.token to what @BotFather shows under /mybots`
  );
}
