import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";

/** What somebody is at is theirs for so long without another word of them: then it is taken for left behind. */
export const HOLD_MS = 30_000;
const RENEW_MS = 10_000;

/**
 * Renews a hold until it is cancelled. `renew` is given the new end (epoch ms) and gives whether the hold is still theirs; `lost`
 * is called once where it is not. A store that is away is asked again.
 */
export function keepRenewed(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  renew: (until: number) => Promise<boolean>,
  lost: () => void,
): { cancel(): void } {
  let over = false;
  let timer = clock.after(RENEW_MS, again);
  function again(): void {
    void renewed();
    timer = clock.after(RENEW_MS, again);
  }
  /** Never rejects. */
  async function renewed(): Promise<void> {
    try {
      if ((await renew(clock.now() + HOLD_MS)) || over) return;
      cancel();
      lost();
    } catch (err) {
      log.warn({ err }, "a hold could not be renewed, again soon");
    }
  }
  function cancel(): void {
    over = true;
    timer.cancel();
  }
  return { cancel };
}
