import type { Allowance, BoundNow } from "../core/budget.ts";
import type { Bounded } from "../core/bounds.ts";
import type { Clock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { ModelUse } from "../core/usage.ts";
import { charge, type Charge, firstSpent } from "./budgets.ts";
import type { Database } from "./database.ts";

type Use = Pick<ModelUse, "inputTokens" | "outputTokens" | "costMicros">;

/**
 * What requests to models have to be within. Each is one row for each bound, raised before it is sent: of many workers at
 * once the one whose raise comes later sees what the others are about to use.
 */
export function allowanceOf(
  database: Database,
  bounded: Bounded,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Allowance {
  return {
    async reserve(guess) {
      const bounds = bounded
        .at(clock.now(), guess.agent)
        .filter(({ measure }) => measure === "tokens" || measure === "cost");
      if (bounds.length === 0) return { settle: async () => {} };
      await database.light(async (trx) => {
        const spent = firstSpent(await charge(trx, chargesFor(bounds, guess)), (bound) =>
          usedOf(bound, guess),
        );
        // What was counted is taken back with the transaction.
        if (spent)
          throw new GatewayError(
            "budget.spent",
            `the budget (${spent.scope}, ${spent.measure}) is used up until ${new Date(spent.until).toISOString()}; nothing was asked`,
            { spent },
          );
      });
      return {
        async settle(use) {
          const charges = chargesFor(bounds, use, guess).filter(({ amount }) => amount !== 0);
          try {
            await database.light(async (trx) => charge(trx, charges));
          } catch (err) {
            log.warn(
              { err },
              "what a request to a model took could not be written down; our guess of it counts",
            );
          }
        },
      };
    },
  };
}

/** What a request adds to each bound, beyond what was counted of it before. */
function chargesFor(bounds: readonly BoundNow[], use: Use, before?: Use): readonly Charge[] {
  return bounds.map((bound) => ({
    bound,
    amount: usedOf(bound, use) - (before ? usedOf(bound, before) : 0),
  }));
}

function usedOf({ measure }: BoundNow, { inputTokens, outputTokens, costMicros }: Use): number {
  return measure === "cost" ? costMicros : inputTokens + outputTokens;
}
