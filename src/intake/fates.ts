import { type Language, say } from "../core/sentences.ts";
import { agoWords, durationWords } from "../core/words.ts";
import { latestTurn, missedIn } from "../store/fates.ts";
import type { About } from "./about.ts";
import { modelOf } from "./status.ts";

/** What `/why` looks back on. */
const RECENT_MS = 24 * 3_600_000;

/** What became of the last messages of a chat that were not answered, by reason. Nothing of what was said in them. */
export async function missed({ trx, chat, now }: About, language: Language): Promise<string> {
  const reasons = await missedIn(trx, chat, now - RECENT_MS);
  if (reasons.length === 0) return say("why.nothing", language);
  return reasons
    .map(({ why, count, lastAt }) => say("why.missed", language, { count, why, ago: agoWords(now - lastAt) }))
    .join("\n");
}

/** How the last turn of a chat went; "" where there was none. */
export async function lastTurn({ trx, chat, now, rules }: About, language: Language): Promise<string> {
  const turn = await latestTurn(trx, chat);
  if (!turn) return "";
  const { agent, state, error, startedAt, endedAt } = turn;
  return say("why.turn", language, {
    agent,
    model: modelOf(rules.agents.get(agent)),
    ago: agoWords(now - startedAt),
    took: durationWords(((endedAt === 0 ? now : endedAt) - startedAt) / 1_000),
    state: error === "" ? state : `${state} (${error})`,
  });
}
