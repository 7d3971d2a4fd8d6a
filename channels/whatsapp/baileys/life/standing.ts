import type { ChannelHost } from "../../../../src/core/host.ts";
import type { GatewayError } from "../../../../src/core/errors.ts";

/** What the status, the page and the terminal are told of a connection; of a lasting fault also that it is one, once. */
export class Standing {
  readonly #host: ChannelHost;
  #faulty = false;

  constructor(host: ChannelHost) {
    this.#host = host;
  }

  connecting(): void {
    this.#host.stands({ is: "connecting" });
  }

  open(): void {
    this.#host.stands({ is: "open" });
    this.mended();
  }

  pairing(until: number): void {
    this.#host.stands({ is: "pairing", until });
  }

  unpaired(why: string): void {
    this.#host.stands({ is: "unpaired", why });
  }

  waiting(waitMs: number, why: string): void {
    this.#host.stands({ is: "waiting", until: this.#host.clock.now() + waitMs, why });
  }

  stopped(error: GatewayError): void {
    this.#host.stands({ is: "stopped", why: error.message });
    this.fault(error);
  }

  fault(error: GatewayError): void {
    if (!this.#faulty) this.#host.failed(error);
    this.#faulty = true;
  }

  mended(): void {
    if (this.#faulty) this.#host.recovered();
    this.#faulty = false;
  }
}
