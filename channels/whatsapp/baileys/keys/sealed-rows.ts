import type { Clock } from "../../../../src/core/clock.ts";
import type { ChannelState } from "../../../../src/core/host.ts";
import type { Seal } from "./seal.ts";

/** So long does WhatsApp keep what could not be delivered: what may come again, and what devices that come back ask for. */
const KEEP_MS = 14 * 24 * 3_600_000;

export type SealedRowsParts = {
  readonly state: ChannelState;
  readonly seal: Seal;
  readonly clock: Clock;
};

/** What was said and sent, as JSON, sealed under its key, for 14 days. */
export class SealedRows {
  readonly #parts: SealedRowsParts;

  constructor(parts: SealedRowsParts) {
    this.#parts = parts;
  }

  /** Without those that are damaged: one row must not hold up all that has to do with it. @throws GatewayError "store.unavailable". */
  async find<Key extends string>(keys: readonly Key[]): Promise<ReadonlyMap<Key, unknown>> {
    if (keys.length === 0) return new Map();
    const found = await this.#parts.state.get(keys);
    return new Map(
      keys.flatMap((key) => {
        const sealed = found.get(key);
        const row = sealed === undefined ? undefined : this.#read(key, sealed);
        return row === undefined ? [] : [[key, row] as const];
      }),
    );
  }

  /** In one transaction. @throws GatewayError "store.unavailable". */
  async keep(rows: ReadonlyMap<string, object>): Promise<void> {
    if (rows.size === 0) return;
    const { state, seal, clock } = this.#parts;
    const sealed = [...rows].map(([key, row]) => [key, seal.seal(Buffer.from(JSON.stringify(row)), key)]);
    await state.set(Object.fromEntries(sealed), { until: clock.now() + KEEP_MS });
  }

  #read(key: string, sealed: string): unknown {
    try {
      return JSON.parse(this.#parts.seal.open(sealed, key).toString("utf8"));
    } catch {
      return undefined;
    }
  }
}
