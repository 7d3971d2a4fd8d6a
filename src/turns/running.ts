import type { Bounded } from "../core/bounds.ts";
import type { TurnEffects } from "../store/effects.ts";
import type { Spent } from "../store/thread-facts.ts";
import type { ClaimedTurn } from "../store/turns.ts";
import type { Corrections } from "./corrections.ts";
import type { Meanwhile } from "./meanwhile.ts";

/** A turn that is being run, and what may reach it from outside. */
export type Running = {
  readonly turn: ClaimedTurn;
  readonly controller: AbortController;
  readonly corrections: Corrections;
  readonly meanwhile: Meanwhile;
  readonly effects: TurnEffects;
  /** What it has to be within; absent where nothing bounds it. */
  readonly bounded?: Bounded;
  /** What the models took so far. */
  spent: Spent;
  /** Approvals that the agent is told of: they came to nothing. */
  told: readonly string[];
};
