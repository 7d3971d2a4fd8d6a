import type { Work } from "../../src/core/dispatcher.ts";

/** Work that remembers what it did and ends when it is told to. */
export type Recorder = {
  readonly run: Work["run"];
  /** Keys in the order in which work on them began. */
  readonly runs: readonly string[];
  /** The most runs of one key at once, and of all together. */
  readonly most: () => { readonly ofOne: number; readonly ofAll: number };
  /** Resolves when so many runs, of the key or of all, have begun. */
  begun(count: number, key?: string): Promise<void>;
  /** From now on, runs of these keys last until `end`. */
  hold(...keys: readonly string[]): void;
  end(key: string): void;
  /** Ends all runs; none lasts any more. */
  endAll(): void;
  /** What runs of the key do from now on, before they end. */
  does(key: string, what: () => void | Promise<void>): void;
};

export function recorder(): Recorder {
  const runs: string[] = [];
  const running = new Map<string, number>();
  const held = new Set<string>();
  const ends = new Map<string, () => void>();
  const doing = new Map<string, () => void | Promise<void>>();
  const looking = new Set<() => void>();
  let [all, ofOne, ofAll] = [0, 0, 0];
  const count = (key: string | undefined): number =>
    key === undefined ? runs.length : runs.filter((run) => run === key).length;
  return {
    runs,
    most: () => ({ ofOne, ofAll }),
    async run(key) {
      runs.push(key);
      const now = (running.get(key) ?? 0) + 1;
      running.set(key, now);
      ofOne = Math.max(ofOne, now);
      ofAll = Math.max(ofAll, (all += 1));
      const ended = held.has(key) ? new Promise<void>((resolve) => ends.set(key, resolve)) : undefined;
      for (const look of looking) look();
      try {
        await doing.get(key)?.();
        await ended;
      } finally {
        running.set(key, (running.get(key) ?? 1) - 1);
        all -= 1;
      }
    },
    begun: (number, key) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (count(key) < number) return;
          looking.delete(look);
          resolve();
        };
        looking.add(look);
        look();
      }),
    hold(...keys) {
      for (const key of keys) held.add(key);
    },
    end(key) {
      ends.get(key)?.();
      ends.delete(key);
    },
    endAll() {
      held.clear();
      for (const end of ends.values()) end();
    },
    does: (key, what) => void doing.set(key, what),
  };
}
