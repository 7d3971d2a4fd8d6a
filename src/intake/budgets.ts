import type { Bound } from "../core/budget.ts";
import { boundsAt, boundsFor } from "../core/bounds.ts";
import { usedWords } from "../core/words-of-budget.ts";
import { countsOf, liftBounds } from "../store/budgets.ts";
import { senderOf } from "../store/people.ts";
import { type About, answer, isOwner, languageIn } from "./about.ts";

/**
 * `/budget`: how much is used of what bounds this person and this chat; the owner is told of the agent's and of what holds
 * for all as well. `/budget lift` is the owner's.
 */
export async function budget(about: About, agent: string, words: string | undefined): Promise<void> {
  const [first, second] = words?.split(/\s+/) ?? [];
  return first?.toLowerCase() === "lift"
    ? await lift(about, agent, second?.toLowerCase())
    : await show(about, agent);
}

async function show(about: About, agent: string): Promise<void> {
  const { trx, now, rules } = about;
  const owner = isOwner(about);
  const bounds = boundsOf(about, agent, about.event.from.id).filter(
    ({ scope }) => owner || scope === "person" || scope === "chat",
  );
  if (bounds.length === 0) return await answer(about, "budget.unbounded");
  const saying = { language: await languageIn(about), timeZone: rules.timeZone, now };
  const counted = await countsOf(trx, boundsAt(bounds, now, rules.timeZone));
  const lines = counted.map((each) => usedWords(each.bound, each, saying));
  await answer(about, "budget.body", { lines: lines.join("\n") });
}

/** Of whoever's message is answered, else of this chat; until their hours, days and months are over. */
async function lift(about: About, agent: string, which: string | undefined): Promise<void> {
  if (!isOwner(about)) return await answer(about, "command.owner_only");
  const { trx, chat, event, now, rules } = about;
  const ref = event.type === "message" ? event.quote?.ref : undefined;
  const person = ref === undefined ? undefined : await senderOf(trx, chat, ref);
  const scope =
    which === "agent" ? "agent" : which === "all" ? "total" : person === undefined ? "chat" : "person";
  const bounds = boundsOf(about, agent, person ?? "").filter((bound) => bound.scope === scope);
  const known = which === undefined || which === "agent" || which === "all";
  if (!known || bounds.length === 0) return await answer(about, "budget.nothing_to_lift");
  await liftBounds(trx, boundsAt(bounds, now, rules.timeZone));
  await answer(about, `budget.lifted_${scope}`, { agent });
}

function boundsOf({ channel, chat, event, rules }: About, agent: string, person: string): readonly Bound[] {
  return boundsFor({ channel, chat, place: event.place.chat, agent, person }, rules);
}
