import { type Clock, pause } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import type { Log } from "../core/log.ts";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 30_000;

/** What is not the disk's or the server's trouble does not heal by waiting. */
const TRIES_OF_WHAT_DOES_NOT_HEAL = 5;

/**
 * Tries a commit until it goes through: what has happened outside (a message was sent, a model has answered) must be
 * written down, and a full disk is only a wait. A lost hold is final, and so are a turn that was stopped, the end of the
 * process, and an error that comes again and is none of the store's being away.
 */
export async function insist<T>(
  commit: () => Promise<T>,
  by: { readonly clock: Clock; readonly log: Log; readonly closing: AbortSignal },
): Promise<T> {
  let tries = 0;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    try {
      return await commit();
    } catch (err) {
      tries += 1;
      const heals = hasCode(err, "store.unavailable") || tries < TRIES_OF_WHAT_DOES_NOT_HEAL;
      const final = hasCode(err, "store.hold_lost") || hasCode(err, "turn.stopped");
      if (final || by.closing.aborted || !heals) throw err;
      by.log.error({ err, waitMs }, "a commit failed, again after a wait");
      await pause(by.clock, waitMs, by.closing);
    }
  }
}
