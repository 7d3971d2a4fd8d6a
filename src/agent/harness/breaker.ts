import { GatewayError, hasCode } from "../../core/errors.ts";
import { modelKey } from "../model-key.ts";
import { Breakers, FAILURES } from "./breakers.ts";
import { mayPass } from "./errors.ts";
import type { AroundModel, StageParts } from "./stage.ts";

/**
 * Lets a model rest that fails again and again: nobody waits for it then. After the rest one question is let through, and
 * its outcome says whether the others are.
 */
export function withBreaker({
  clock,
  breakers = new Breakers(clock),
}: Pick<StageParts, "clock" | "breakers">): AroundModel {
  return async (asking, next) => {
    const { choice, signal } = asking;
    const breaker = breakers.of(choice);
    const entry = breaker.enter();
    if (entry.rests !== undefined) {
      throw new GatewayError(
        "model.failed",
        `${modelKey(choice)} has failed ${FAILURES} times in a minute and is left in peace for ` +
          `${Math.ceil(entry.rests / 1_000)} s`,
        { reason: "busy", retryAfterMs: entry.rests },
      );
    }
    try {
      const said = await next(asking);
      breaker.answered();
      return said;
    } catch (thrown) {
      if (signal?.aborted || hasCode(thrown, "budget.spent")) breaker.left(entry);
      else if (mayPass(thrown)) breaker.failed(entry);
      // A refusal is an answer too.
      else breaker.answered();
      throw thrown;
    }
  };
}
