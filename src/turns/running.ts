import type { TurnEffects } from "../store/effects.ts";
import type { Spent } from "../store/thread-facts.ts";
import type { Corrections } from "./corrections.ts";

/** A turn that is being run, and what may reach it from outside. */
export type Running = {
  readonly controller: AbortController;
  readonly corrections: Corrections;
  readonly effects: TurnEffects;
  /** What the models took so far. */
  spent: Spent;
};
