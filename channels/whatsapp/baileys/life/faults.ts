import type { ChannelHost } from "../../../../src/core/host.ts";

type Teller = Pick<ChannelHost, "failed" | "recovered">;

/** What is wrong with a connection, which several parts know of: it is well again when all of them say so. */
export class Faults {
  readonly #host: Teller;
  readonly #standing = new Map<string, Error>();

  constructor(host: Teller) {
    this.#host = host;
  }

  /** For one part, whose word on the faults of another does not count. */
  of(part: string): Teller {
    return {
      failed: (error) => {
        this.#standing.set(part, error);
        this.#host.failed(error);
      },
      recovered: () => {
        if (!this.#standing.delete(part)) return;
        const [left] = this.#standing.values();
        if (left) this.#host.failed(left);
        else this.#host.recovered();
      },
    };
  }
}
