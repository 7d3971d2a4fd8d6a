import type { Fault } from "./faults.ts";
import type { Call } from "./request.ts";

/** Trouble by chance; the same seed gives the same trouble to the same calls of a chat. */
export type StormPlan = {
  readonly seed: number;
  /** 429 on one call in so many, with a wait of at least and at most so many seconds. */
  readonly rateLimit?: { readonly oneIn: number; readonly seconds: readonly [number, number] };
  /** The connection breaks on one call in so many: half of them before anything happened, half after. */
  readonly reset?: { readonly oneIn: number };
  /** Which calls it may hit; all but polls and downloads without it. */
  readonly hits?: (call: Call) => boolean;
};

export type StormCounts = {
  /** All that it could have hit. */
  calls: number;
  untouched: number;
  rateLimited: number;
  resetBefore: number;
  resetAfter: number;
};

export class Storm {
  readonly #plan: StormPlan;
  readonly #seen = new Map<string, number>();
  readonly #counts: StormCounts = { calls: 0, untouched: 0, rateLimited: 0, resetBefore: 0, resetAfter: 0 };

  constructor(plan: StormPlan) {
    this.#plan = plan;
  }

  counts(): Readonly<StormCounts> {
    return { ...this.#counts };
  }

  of(call: Call): Fault | undefined {
    const { rateLimit, reset, hits = isOrdinary } = this.#plan;
    if (!hits(call)) return undefined;
    const random = this.#random(call);
    this.#counts.calls += 1;
    if (rateLimit && random() < 1 / rateLimit.oneIn) {
      const [least, most] = rateLimit.seconds;
      this.#counts.rateLimited += 1;
      return { kind: "rateLimit", seconds: least + Math.floor(random() * (most - least + 1)) };
    }
    if (reset && random() < 1 / reset.oneIn) {
      const when = random() < 0.5 ? "before" : "after";
      this.#counts[when === "before" ? "resetBefore" : "resetAfter"] += 1;
      return { kind: "drop", when };
    }
    this.#counts.untouched += 1;
    return undefined;
  }

  // By chat and method, so that it makes no difference how the calls of different chats come to lie.
  #random({ method, parameters }: Call): () => number {
    const key = `${method}/${String(parameters["chat_id"])}`;
    const n = (this.#seen.get(key) ?? 0) + 1;
    this.#seen.set(key, n);
    return generator(hash(`${this.#plan.seed}/${key}/${n}`));
  }
}

function isOrdinary({ method }: Call): boolean {
  return method !== "getUpdates" && method !== "file";
}

// FNV-1a, 32 bits.
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193);
  return value >>> 0;
}

// The generator known as mulberry32; its numbers are from 0 up to but not including 1.
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
