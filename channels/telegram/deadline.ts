import type { Api } from "grammy";
import type { Clock } from "../../src/core/clock.ts";

/** The signal that grammY's types ask for; theirs is an older shape of the same thing. */
export type GrammySignal = NonNullable<Parameters<Api["raw"]["getMe"]>[0]>;

/** Makes a call that is cut off after `ms`, or as soon as `outer` aborts where there is one. */
export async function within<T>(
  clock: Clock,
  ms: number,
  outer: AbortSignal | undefined,
  call: (signal: GrammySignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const timer = clock.after(ms, abort);
  outer?.addEventListener("abort", abort, { once: true });
  if (outer?.aborted) abort();
  try {
    return await call(grammySignal(controller.signal));
  } finally {
    timer.cancel();
    outer?.removeEventListener("abort", abort);
  }
}

export function grammySignal(signal: AbortSignal): GrammySignal {
  return signal as unknown as GrammySignal; // what grammY uses of it, and our transport, are in both
}

/** Calls of the Bot API that are cut off by themselves. */
export type Ask = <T>(call: (api: Api["raw"], signal: GrammySignal) => Promise<T>) => Promise<T>;

/** Calls that are cut off after `ms`, or when `outer` aborts. */
export function asking(api: Api["raw"], clock: Clock, ms: number, outer?: AbortSignal): Ask {
  return (call) => within(clock, ms, outer, (signal) => call(api, signal));
}
