/** Time, as a thing that is handed in. All times are epoch milliseconds of this clock. */
export type Clock = {
  now(): number;
  /** Calls once, `ms` of this clock's time from now. */
  after(ms: number, call: () => void): Timer;
};

export type Timer = { cancel(): void };

// setTimeout holds a signed 32-bit count of milliseconds and fires at once above it.
const LONGEST_TIMEOUT_MS = 2_147_483_647;

export const systemClock: Clock = scaledClock(1, 0);

/**
 * A clock that runs `rate` times as fast as the machine's since `origin` (epoch ms), for tests that span processes:
 * every process that is handed the same pair reads the same time.
 */
export function scaledClock(rate: number, origin: number): Clock {
  return {
    now: () => (rate === 1 ? Date.now() : Math.round(origin + (Date.now() - origin) * rate)),
    after(ms, call) {
      const timer = setTimeout(call, Math.min(Math.max(ms, 0) / rate, LONGEST_TIMEOUT_MS));
      return { cancel: () => clearTimeout(timer) };
    },
  };
}

/** Resolves after `ms`, or as soon as `signal` aborts: who asks looks at the signal. Never rejects. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const timer = clock.after(ms, done);
    signal?.addEventListener("abort", done, { once: true });
    function done(): void {
      timer.cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    }
  });
}

/** A signal that aborts `ms` from now with a GatewayError-free reason; `clear` must be called when it is not needed. */
export function deadline(
  clock: Clock,
  ms: number,
  reason: Error,
): { readonly signal: AbortSignal; clear(): void } {
  const controller = new AbortController();
  const timer = clock.after(ms, () => controller.abort(reason));
  return { signal: controller.signal, clear: () => timer.cancel() };
}
