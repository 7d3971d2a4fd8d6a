import { pause, systemClock } from "../src/core/clock.ts";

/** The longest time for which the event loop could do nothing else, in ms. */
export type Hold = {
  /** By the clock: also what the process had to wait for a processor. */
  readonly longest: number;
  /** That this process worked itself, on whichever of its threads: at most what the loop was held by it. */
  readonly own: number;
};

const EVERY_MS = 1;
/** A hold is seen by a look before it and one behind it. */
const MARGIN_MS = 10;

/** Does a piece of work; gives how long it took, and how the event loop was held meanwhile. */
export async function holding<T>(
  work: () => Promise<T>,
): Promise<{ readonly gives: T; readonly ms: number; readonly hold: Hold }> {
  let longest = 0;
  let own = 0;
  let at = performance.now();
  let used = cpuMs();
  const looks = setInterval(() => {
    const [now, usedNow] = [performance.now(), cpuMs()];
    const held = Math.max(0, now - at - EVERY_MS);
    longest = Math.max(longest, held);
    own = Math.max(own, Math.min(held, usedNow - used));
    [at, used] = [now, usedNow];
  }, EVERY_MS);
  try {
    await pause(systemClock, MARGIN_MS);
    const began = performance.now();
    const gives = await work();
    const ms = performance.now() - began;
    await pause(systemClock, MARGIN_MS);
    return { gives, ms, hold: { longest, own } };
  } finally {
    clearInterval(looks);
  }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Of several, each at its worst. */
export function worst(holds: readonly Hold[]): Hold {
  return {
    longest: Math.max(...holds.map(({ longest }) => longest)),
    own: Math.max(...holds.map(({ own }) => own)),
  };
}
