import type { Bound, Scope } from "../core/budget.ts";
import { boundsAt, boundsFor } from "../core/bounds.ts";
import type { Quote } from "../core/events.ts";
import { usedWords } from "../core/words-of-budget.ts";
import { countsOf, liftBounds } from "../store/budgets.ts";
import { personBehind } from "../store/people.ts";
import { type About, answer, isOwner, languageIn } from "./about.ts";

/**
 * `/budget`: how much is used of what bounds this person and this chat; the owner is told of the agent's and of what holds
 * for all as well, where nobody else reads it. `/budget lift` is the owner's.
 */
export async function budget(about: About, agent: string, words: string | undefined): Promise<void> {
  const [first, second] = words?.split(/\s+/) ?? [];
  return first?.toLowerCase() === "lift"
    ? await lift(about, agent, second?.toLowerCase())
    : await show(about, agent);
}

async function show(about: About, agent: string): Promise<void> {
  const { trx, now, rules } = about;
  const all = isOwner(about) && about.event.place.kind === "private";
  const bounds = boundsOf(about, agent, about.event.from.id).filter(
    ({ scope }) => all || scope === "person" || scope === "chat",
  );
  if (bounds.length === 0) return await answer(about, "budget.unbounded");
  const saying = { language: await languageIn(about), timeZone: rules.timeZone, now };
  const counted = await countsOf(trx, boundsAt(bounds, now, rules.timeZone));
  const lines = counted.map((each) => usedWords(each.bound, each, saying));
  await answer(about, "budget.body", { lines: lines.join("\n") });
}

/**
 * Of whoever has written the message that is answered, or was answered with it; without one, of this chat. Until their hours,
 * days and months are over.
 */
async function lift(about: About, agent: string, which: string | undefined): Promise<void> {
  if (!isOwner(about)) return await answer(about, "command.owner_only");
  const { trx, chat, event, now, rules } = about;
  const quote = event.type === "message" ? event.quote : undefined;
  const scope = scopeOf(which, quote);
  // A message that nobody knows any more is nobody's, and the chat is not meant by it.
  const person = quote?.ref === undefined ? undefined : await personBehind(trx, chat, quote.ref);
  const bounds = boundsOf(about, agent, person).filter((bound) => bound.scope === scope);
  if (scope === undefined || bounds.length === 0) return await answer(about, "budget.nothing_to_lift");
  await liftBounds(trx, boundsAt(bounds, now, rules.timeZone));
  await answer(about, `budget.lifted_${scope}`, { agent });
}

/** Undefined where there is no such one. */
function scopeOf(which: string | undefined, quote: Quote | undefined): Scope | undefined {
  switch (which) {
    case undefined:
      return quote === undefined ? "chat" : "person";
    case "agent":
      return "agent";
    case "all":
      return "total";
    default:
      return undefined;
  }
}

function boundsOf(
  { channel, chat, event, rules }: About,
  agent: string,
  person: string | undefined,
): readonly Bound[] {
  const whose = person === undefined ? {} : { person };
  return boundsFor({ channel, chat, place: event.place.chat, agent, ...whose }, rules);
}
