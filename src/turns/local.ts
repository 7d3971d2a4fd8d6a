import type { LocalFacts } from "../core/agent.ts";
import { languageOf } from "../core/language.ts";
import type { Language } from "../core/sentences.ts";
import type { ClaimedTurn } from "../store/turns.ts";

/** Where and with whom a turn is spoken; undefined for one without messages. */
export function localFacts(
  { messages }: Pick<ClaimedTurn, "messages">,
  here: Pick<LocalFacts, "kind" | "now"> & { readonly timeZone: string | undefined },
): LocalFacts | undefined {
  const chat = messages[0]?.event.place.kind;
  if (chat === undefined) return undefined;
  const names = messages.map(({ event }) => event.from.name.trim()).filter((name) => name !== "");
  return {
    kind: here.kind,
    chat,
    people: [...new Set(names)],
    timeZone: here.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    now: here.now,
  };
}

/** What people of this turn write in, or wrote in before where these words do not decide. */
export function languageIn(turn: Pick<ClaimedTurn, "messages" | "language">): Language {
  return languageHeard(turn) ?? turn.language ?? "en";
}

/** The same by their own words alone, not by what they forward; undefined where these do not decide. */
export function languageHeard({ messages }: Pick<ClaimedTurn, "messages">): Language | undefined {
  const words = messages.flatMap(({ event }) =>
    event.type === "reaction" || event.type === "scheduled" || event.forward !== undefined
      ? []
      : event.content.flatMap((part) => (part.type === "text" ? [part.text] : [])),
  );
  const heard = languageOf(words, "en");
  return languageOf(words, "de") === heard ? heard : undefined;
}
