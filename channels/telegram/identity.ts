import type { UserFromGetMe } from "grammy/types";
import { type Clock, pause } from "../../src/core/clock.ts";
import { GatewayError } from "../../src/core/errors.ts";

const WAIT_MS = 10_000;

/** Who the bot is, as soon as Telegram has told. */
export class Identity {
  #me: UserFromGetMe | undefined;
  readonly #told = new AbortController();

  is(me: UserFromGetMe): void {
    this.#me = me;
    this.#told.abort();
  }

  /** @throws GatewayError "channel.unreachable" when it is not known within 10 s. */
  async known(clock: Clock, closing: AbortSignal): Promise<UserFromGetMe> {
    if (!this.#me) await pause(clock, WAIT_MS, AbortSignal.any([this.#told.signal, closing]));
    if (this.#me) return this.#me;
    throw new GatewayError(
      "channel.unreachable",
      `Telegram has not said who this bot is within ${WAIT_MS / 1000} s; check the network and the token`,
    );
  }
}
