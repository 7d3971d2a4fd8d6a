import type { Progress } from "../../src/core/channel.ts";
import { type Clock, type Timer, pause } from "../../src/core/clock.ts";

/** What goes on in a conversation right now and is written nowhere. */
export type Sign =
  | { readonly kind: "idle" }
  | { readonly kind: "typing" }
  | { readonly kind: "draft"; readonly text: string };

/** One reader of one conversation: told that something changed, never what, so a slow one holds nothing up. */
export type Watch = {
  /** Resolves on the next change (at once if there was one since the last call), after `ms`, or when `signal` aborts. */
  changed(ms: number, signal: AbortSignal): Promise<void>;
  end(): void;
};

// A turn gives signs of life more often than this; without one it is over, or its process is gone.
const SIGN_MS = 15_000;

const IDLE: Sign = { kind: "idle" };

/** Signs of life by conversation, and who watches. Holds conversations that are busy or watched, no others. */
export class Live {
  readonly #clock: Clock;
  readonly #signs = new Map<string, { readonly sign: Sign; readonly timer: Timer }>();
  readonly #watchers = new Set<{ readonly chat: string; wake(): void }>();
  #listed = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  sign(chat: string): Sign {
    return this.#signs.get(chat)?.sign ?? IDLE;
  }

  show(chat: string, progress: Progress): void {
    // What was shown goes with the answer, or with its time.
    if (progress.kind === "over") return;
    const before = this.#signs.get(chat);
    before?.timer.cancel();
    // Typing beside a draft says nothing new.
    const sign = progress.kind === "typing" && before?.sign.kind === "draft" ? before.sign : progress;
    this.#signs.set(chat, { sign, timer: this.#clock.after(SIGN_MS, () => this.clear(chat)) });
    if (sign !== before?.sign) this.#signChanged(chat);
  }

  clear(chat: string): void {
    const before = this.#signs.get(chat);
    if (!before) return;
    before.timer.cancel();
    this.#signs.delete(chat);
    this.#signChanged(chat);
  }

  /** An entry was written, which every open page shows in its list of conversations. */
  entryAdded(): void {
    this.#listed += 1;
    for (const watcher of this.#watchers) watcher.wake();
  }

  /** Goes up whenever the list of conversations changes. */
  get listed(): number {
    return this.#listed;
  }

  get watching(): number {
    return this.#watchers.size;
  }

  watch(chat: string): Watch {
    let news = new AbortController();
    const watcher = { chat, wake: () => news.abort() };
    this.#watchers.add(watcher);
    return {
      changed: async (ms, signal) => {
        await pause(this.#clock, ms, AbortSignal.any([news.signal, signal]));
        news = new AbortController();
      },
      end: () => void this.#watchers.delete(watcher),
    };
  }

  close(): void {
    for (const { timer } of this.#signs.values()) timer.cancel();
    this.#signs.clear();
  }

  #signChanged(chat: string): void {
    for (const watcher of this.#watchers) if (watcher.chat === chat) watcher.wake();
  }
}
