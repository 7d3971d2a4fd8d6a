import { type Clock, pause } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import type { Log } from "../core/log.ts";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 30_000;

/**
 * Tries a commit until it goes through: what has happened outside (a message was sent, a model has answered) must be
 * written down, and a full disk is only a wait. A lost hold is final, and so is the end of the process.
 */
export async function insist<T>(
  commit: () => Promise<T>,
  by: { readonly clock: Clock; readonly log: Log; readonly closing: AbortSignal },
): Promise<T> {
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    try {
      return await commit();
    } catch (err) {
      if (hasCode(err, "store.hold_lost") || by.closing.aborted) throw err;
      by.log.error({ err, waitMs }, "a commit failed, again after a wait");
      await pause(by.clock, waitMs, by.closing);
    }
  }
}
