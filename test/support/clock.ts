import type { Clock, Timer } from "../../src/core/clock.ts";

/** Time that moves only when the test says so. Timers run in order of their time, each in a turn of the loop of its own. */
export type ManualClock = Clock & {
  /** Moves on by `ms`, running what falls due and letting what it starts settle. */
  advance(ms: number): Promise<void>;
  /** Resolves when somebody waits for exactly `ms`: what comes before it may take real time, such as a file's. */
  whenTimer(ms: number): Promise<void>;
};

export function manualClock(start = 1_700_000_000_000): ManualClock {
  let now = start;
  let waiting: { at: number; ms: number; order: number; call: () => void }[] = [];
  const looking = new Set<() => void>();
  let order = 0;
  return {
    now: () => now,
    after(ms: number, call: () => void): Timer {
      const entry = { at: now + Math.max(ms, 0), ms, order: (order += 1), call };
      waiting.push(entry);
      for (const look of looking) look();
      return {
        cancel() {
          waiting = waiting.filter((other) => other !== entry);
        },
      };
    },
    whenTimer: (ms) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!waiting.some((entry) => entry.ms === ms)) return;
          looking.delete(look);
          resolve();
        };
        looking.add(look);
        look();
      }),
    async advance(ms: number): Promise<void> {
      const until = now + ms;
      for (;;) {
        await settle();
        const next = waiting
          .filter((entry) => entry.at <= until)
          .toSorted((a, b) => a.at - b.at || a.order - b.order)[0];
        if (!next) break;
        waiting = waiting.filter((entry) => entry !== next);
        now = Math.max(now, next.at);
        next.call();
      }
      now = until;
      await settle();
    },
  };
}

const busy: (() => boolean)[] = [];

/** Work outside of this process, such as a server's, is waited for while it lasts. */
export function settlesAfter(isBusy: () => boolean): void {
  busy.push(isBusy);
}

/** Lets promises and finished I/O run; no time passes. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 10; round += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    if (busy.some((isBusy) => isBusy())) round = -1;
  }
}
