import type { CacheStore } from "@whiskeysockets/baileys";
import type { Clock } from "../../../../src/core/clock.ts";

/** What Baileys remembers for a while from one socket to the next; the oldest goes where there is too much. */
export class Cache implements CacheStore {
  readonly #clock: Clock;
  readonly #keepMs: number;
  readonly #most: number;
  readonly #entries = new Map<string, { readonly value: unknown; readonly until: number }>();

  constructor(clock: Clock, { keepMs, most }: { readonly keepMs: number; readonly most: number }) {
    this.#clock = clock;
    this.#keepMs = keepMs;
    this.#most = most;
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- as CacheStore has it
  get<T>(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.until > this.#clock.now()) return entry.value as T; // as the library stored it under this key
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: unknown): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, until: this.#clock.now() + this.#keepMs });
    if (this.#entries.size <= this.#most) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  del(key: string): void {
    this.#entries.delete(key);
  }

  flushAll(): void {
    this.#entries.clear();
  }
}
