import { monitorEventLoopDelay } from "node:perf_hooks";
import { pause, systemClock } from "../src/core/clock.ts";

const EVERY_MS = 1;
/** A hold is seen by a look before it and one behind it. */
const MARGIN_MS = 10;

/** Does a piece of work; gives how long it took, and the longest time for which the event loop could do nothing else. */
export async function holding<T>(
  work: () => Promise<T>,
): Promise<{ readonly gives: T; readonly ms: number; readonly holdMs: number }> {
  const looks = monitorEventLoopDelay({ resolution: EVERY_MS });
  looks.enable();
  try {
    await pause(systemClock, MARGIN_MS);
    const began = performance.now();
    const gives = await work();
    const ms = performance.now() - began;
    await pause(systemClock, MARGIN_MS);
    return { gives, ms, holdMs: Math.max(0, looks.max / 1e6 - EVERY_MS) };
  } finally {
    looks.disable();
  }
}
