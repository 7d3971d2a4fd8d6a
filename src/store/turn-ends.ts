import type { Transaction } from "kysely";
import { GatewayError } from "../core/errors.ts";
import type { Hold } from "../core/identity.ts";
import type { Language } from "../core/sentences.ts";
import type { Database } from "./database.ts";
import type { TurnState } from "./fact-tables.ts";
import { heldAs } from "./holds.ts";
import { beforeClaim, withTrace } from "./inbox.ts";
import { joinInterrupted } from "./interruptions.ts";
import { giveBackSteered } from "./meanwhile.ts";
import { NOTHING_SPENT, type Spent } from "./thread-facts.ts";
import type { Tables } from "./tables.ts";
import type { RunningTurn } from "./waiting-intents.ts";

/**
 * Gives a turn back that we ended ourselves, at a shutdown: it is taken up again and no crash is counted.
 * @throws GatewayError "turn.stopped" when its people have stopped it, or had it paused, since: it is to end as that.
 */
export async function abandonTurn(
  database: Database,
  turn: RunningTurn,
  now: number,
  spent?: Spent,
): Promise<void> {
  await database.db.transaction().execute(async (trx) => {
    await assertGoesOn(trx, turn.hold);
    await giveBackSteered(trx, turn, now);
    await trx
      .updateTable("inbox")
      .set((eb) => ({
        state: beforeClaim,
        claims: eb
          .case()
          .when("intent", ">", 0)
          .then(eb("claims", "-", 1))
          .else(0)
          .end(),
        trace: withTrace({ at: now, step: "given back", turn: turn.id }),
      }))
      .where("turn_id", "=", turn.id)
      .where("state", "=", "claimed")
      .execute();
    await endTurn(trx, turn, { state: "abandoned", error: "", spent, now });
  });
}

/**
 * Breaks a turn off for what interrupts it, which is answered with it by the next one. Of what the turn was of and what
 * was steered into it no crash is counted; more than `most` messages are not put together.
 * @throws GatewayError "store.hold_lost" when somebody else holds the chat by now, and "turn.stopped" as `abandonTurn`;
 * nothing is written then.
 */
export async function interruptTurn(
  database: Database,
  turn: RunningTurn,
  by: { readonly most: number; readonly now: number; readonly spent?: Spent },
): Promise<void> {
  await database.db.transaction().execute(async (trx) => {
    await assertGoesOn(trx, turn.hold);
    await joinInterrupted(trx, turn, by);
    const { spent, now } = by;
    await endTurn(trx, turn, { state: "abandoned", error: "turn.interrupted", spent, now });
  });
}

/** What people have stopped since is not begun anew. */
async function assertGoesOn(trx: Transaction<Tables>, hold: Hold): Promise<void> {
  if ((await heldAs(trx, hold)).stopped) throw new GatewayError("turn.stopped", "stopped by the person");
}

/** The row of a turn that has ended; the hold is given up. */
export async function endTurn(
  trx: Transaction<Tables>,
  turn: RunningTurn,
  end: {
    readonly state: TurnState;
    readonly error: string;
    readonly spent: Spent | undefined;
    readonly language?: Language | undefined;
    readonly now: number;
  },
): Promise<void> {
  const { inputTokens, cachedTokens, outputTokens, costMicros } = end.spent ?? NOTHING_SPENT;
  await trx
    .updateTable("turn")
    .set({
      state: end.state,
      error: end.error,
      ended_at: end.now,
      input_tokens: inputTokens,
      cached_tokens: cachedTokens,
      output_tokens: outputTokens,
      cost_micros: costMicros,
    })
    .where("id", "=", turn.id)
    .execute();
  await trx
    .updateTable("chat")
    .set({ owner: "", until: 0, ...(end.language === undefined ? {} : { language: end.language }) })
    .where("id", "=", turn.hold.chat)
    .execute();
}
