import type { Generated } from "kysely";
import type { Measure, Scope } from "../core/budget.ts";

export interface BudgetTables {
  use_count: UseCountRow;
}

/** How much of a budget was used in one hour, day or month; there is no row for what is not bounded. */
export interface UseCountRow {
  scope: Scope;
  /** Of people and chats; "" otherwise. */
  channel: string;
  /** The platform's id of a person, the number of a chat, the name of an agent; "" for all together. */
  subject: string;
  measure: Measure;
  /** When the hour, day or month began, epoch ms. */
  from_at: number;
  /** Turns, tokens, millionths of the operator's currency, or seconds; requests that are under way by our guess. */
  used: Generated<number>;
  /** Whether it was told that little is left. */
  warned: Generated<number>;
  /** Whether the owner lets it pass until the hour, day or month is over. */
  lifted: Generated<number>;
}
