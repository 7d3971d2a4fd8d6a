import type { MinutesLeft } from "../core/budget.ts";
import { durationWords } from "../core/words.ts";
import { type Taken, unusable } from "./taken.ts";

/** A recording that is longer than what is left of the minutes of a day. */
export function overMinutes(called: string, { scope, limit, left }: MinutesLeft): Taken {
  const values = { limit: durationWords(limit), left: durationWords(left) };
  return unusable(called, "unavailable", `media.budget_${scope}`, values);
}
