import { hasCode } from "../core/errors.ts";
import { type ClaimedTurn, renewHold } from "../store/turns.ts";
import type { TurnParts } from "./parts.ts";

/** A hold ends by itself after this, unless it is renewed. */
export const HOLD_MS = 60_000;
const RENEW_MS = 20_000;

/** Renews the hold of a turn until it is cancelled; a turn whose hold is lost is ended. */
export function keepHold(
  turn: ClaimedTurn,
  controller: AbortController,
  { clock, database, log }: Pick<TurnParts, "clock" | "database" | "log">,
): { cancel(): void } {
  let timer = clock.after(RENEW_MS, renew);
  function renew(): void {
    renewHold(database, turn.hold, clock.now() + HOLD_MS).then(
      () => undefined,
      (err: unknown) => {
        if (hasCode(err, "store.hold_lost")) controller.abort(err);
        else log.warn({ chat: turn.hold.chat, err }, "a hold could not be renewed, again soon");
      },
    );
    timer = clock.after(RENEW_MS, renew);
  }
  return { cancel: () => timer.cancel() };
}
