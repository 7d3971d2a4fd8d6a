import type { SpentBudget } from "../core/budget.ts";
import type { Bounded } from "../core/bounds.ts";
import { spentWords, warningWords } from "../core/words-of-budget.ts";
import {
  charge,
  countsOf,
  firstExceeded,
  firstSpent,
  isCounted,
  markCounted,
  markWarned,
  wasTold,
} from "../store/budgets.ts";
import type { Queries } from "../store/tables.ts";
import type { ClaimedTurn } from "../store/turns.ts";
import { languageIn } from "./local.ts";
import type { TurnParts } from "./parts.ts";
import { isScheduled } from "./scheduled.ts";

/** What a turn has to be within, and the budget that has no room for it, as its claim has found them. */
export type TurnBudget = { bounded?: Bounded | undefined; spent?: SpentBudget | undefined };

/** Nobody is told more often than this that there is nothing left. */
const TOLD_AGAIN_MS = 10 * 60_000;

/**
 * Counts a turn in the transaction that claims it, and gives the budget that has no room for it: then it is not counted. One
 * that was counted before and is begun again is let through; its requests are still asked about.
 */
export async function countTurn(
  trx: Queries,
  { task, again, messages }: ClaimedTurn,
  bounded: Bounded,
  now: number,
): Promise<SpentBudget | undefined> {
  // It asks no model, or goes on with what was counted.
  if (task === "export" || task === "approved") return undefined;
  const bounds = bounded.at(now).filter(({ measure }) => measure !== "media");
  if (bounds.length === 0) return undefined;
  const ids = messages.map(({ id }) => id);
  if (again && (await isCounted(trx, ids))) return undefined;
  const turns = bounds.filter(({ measure }) => measure === "turns");
  const counted = await charge(
    trx,
    turns.map((bound) => ({ bound, amount: 1 })),
  );
  const others = await countsOf(
    trx,
    bounds.filter(({ measure }) => measure !== "turns"),
  );
  const spent = firstExceeded(counted) ?? firstSpent(others);
  if (spent)
    await charge(
      trx,
      turns.map((bound) => ({ bound, amount: -1 })),
    );
  else await markCounted(trx, ids);
  return spent;
}

/** What the person is told of a turn that a budget has ended; undefined where they were told so just now. */
export async function stopWords(
  { database, clock }: Pick<TurnParts, "database" | "clock">,
  turn: ClaimedTurn,
  spent: SpentBudget,
  timeZone: string | undefined,
): Promise<string | undefined> {
  const now = clock.now();
  const { channel, hold } = turn;
  const person = turn.messages[0]?.event.from.id ?? "";
  // What has begun anew since, and is used up again, is told again; where nobody has just asked, nothing else is.
  const from = isScheduled(turn) ? spent.from : Math.max(spent.from, now - TOLD_AGAIN_MS);
  if (await wasTold(database.db, { channel, chat: hold.chat, person }, { from, until: now }))
    return undefined;
  return spentWords(spent, { language: languageIn(turn), timeZone, now });
}

/**
 * What is said behind an answer where little is left of a budget, once for each of its hours, days and months. Of what is
 * not the person's nor the chat's the log is told.
 */
export async function warnings(
  trx: Queries,
  turn: ClaimedTurn,
  bounded: Bounded,
  { clock, log }: Pick<TurnParts, "clock" | "log">,
): Promise<string> {
  const now = clock.now();
  const bounds = bounded.at(now).filter(({ free, limit }) => !free && limit > 0);
  const low = (await countsOf(trx, bounds)).filter(
    ({ bound, used, warned, lifted }) =>
      !warned && !lifted && used * 100 >= bound.limit * bounded.warnPercent,
  );
  const marked = await markWarned(trx, low);
  for (const { bound, used } of marked.filter(
    ({ bound: { scope } }) => scope === "agent" || scope === "total",
  ))
    log.warn(
      { scope: bound.scope, agent: bound.subject, measure: bound.measure, used, limit: bound.limit },
      "little is left of a budget",
    );
  const saying = { language: languageIn(turn), timeZone: bounded.timeZone, now };
  return marked
    .filter(({ bound: { scope } }) => scope === "person" || scope === "chat")
    .map(({ bound, used }) => warningWords(bound, used, saying))
    .join("\n");
}
