import { GatewayError, hasCode } from "../core/errors.ts";
import { keepRenewed } from "../store/renew.ts";
import { type ClaimedTurn, renewHold } from "../store/turns.ts";
import type { TurnParts } from "./parts.ts";

/** Renews the hold of a turn until it is cancelled; a turn whose hold is lost, or that was stopped elsewhere, is ended. */
export function keepHold(
  { hold }: ClaimedTurn,
  controller: AbortController,
  parts: Pick<TurnParts, "clock" | "database" | "log">,
): { cancel(): void } {
  let reason: unknown = new GatewayError("turn.stopped", "stopped by the person");
  return keepRenewed(
    parts,
    async (until) => {
      try {
        return !(await renewHold(parts.database, hold, until)).stopped;
      } catch (error) {
        if (!hasCode(error, "store.hold_lost")) throw error;
        reason = error;
        return false;
      }
    },
    () => controller.abort(reason),
  );
}
