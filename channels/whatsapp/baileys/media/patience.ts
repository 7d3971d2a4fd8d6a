import type { Clock } from "../../../../src/core/clock.ts";

/** Waiting that ends when nothing has moved for a while. */
export type Patience = {
  /** Aborts with the reason of what ended it: the silence, or whoever asked. */
  readonly signal: AbortSignal;
  moved(): void;
  /** Must be called at the end. */
  clear(): void;
};

/** @param silent what the signal aborts with when nothing has moved for `ms`. */
export function patience(clock: Clock, ms: number, silent: Error, outer: AbortSignal): Patience {
  const controller = new AbortController();
  const lost = (): void => controller.abort(silent);
  const abort = (): void => controller.abort(outer.reason);
  let over = false;
  let timer = clock.after(ms, lost);
  outer.addEventListener("abort", abort, { once: true });
  if (outer.aborted) abort();
  return {
    signal: controller.signal,
    moved() {
      timer.cancel();
      if (!over) timer = clock.after(ms, lost); // what is being let go of may still move
    },
    clear() {
      over = true;
      timer.cancel();
      outer.removeEventListener("abort", abort);
    },
  };
}
