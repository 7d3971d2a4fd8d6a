import type { Fact, FactDraft } from "../core/memory.ts";
import { oneLine } from "../core/words.ts";
import type { FactChanges } from "../store/memory-facts.ts";

/** What is longer is no fact, but a text about many. */
const CONTENT_CHARACTERS = 500;
/** What stands behind it is not looked at: blanks and signs may be left out of the beginning. */
const LOOKED_AT = 4 * CONTENT_CHARACTERS;
/** Of a fact whose model says nothing of it, or nothing that can be read. */
const HALF_SURE = 0.5;
const MONTH_MS = 30 * 24 * 3_600_000;

type Added = FactChanges["added"][number];
type Kept = FactChanges["changed"][number];

/**
 * What becomes of an owner's facts with what was distilled, whatever the order in which threads are gone through: what was
 * said later takes the place of what it contradicts, and what was said earlier than that is dropped. The same in other signs
 * is one fact. Drafts name facts of this owner alone. Nothing of what was said until `since` (epoch ms) is taken.
 */
export function merged(
  known: readonly Fact[],
  drafts: readonly FactDraft[],
  by: { readonly now: number; readonly firstAt: number; readonly mostFacts: number; readonly since: number },
): FactChanges {
  const kept = new Map<number, Kept>(known.map((fact) => [fact.id, fact]));
  // By what they say: a model may answer with thousands.
  const keptBy = new Map(known.map((fact) => [sameness(fact.content), fact.id]));
  const added = new Map<string, Added>();
  const inOrder = drafts
    .map((draft) => ({ ...draft, at: saidAt(draft, by) }))
    .filter(({ at }) => at > by.since)
    .toSorted((one, other) => one.at - other.at);
  for (const draft of inOrder) {
    const content = oneLine(draft.content.slice(0, LOOKED_AT))
      .slice(0, CONTENT_CHARACTERS)
      .toWellFormed()
      .trim();
    const says = sameness(content);
    if (says === "") continue;
    const fact = {
      content,
      confidence: sure(draft.confidence),
      saidAt: new Date(draft.at).toISOString(),
      ...(draft.saidIn === undefined ? {} : { saidIn: draft.saidIn }),
    };
    const same = kept.get(keptBy.get(says) ?? Number.NaN);
    const replaced = [...new Set(draft.replaces)].flatMap((id) => kept.get(id) ?? []);
    if (replaced.some((other) => other.id !== same?.id && Date.parse(other.saidAt) > draft.at)) continue;
    for (const other of replaced) if (other.id !== same?.id) kept.delete(other.id);
    if (same) kept.set(same.id, surer(same, fact));
    else {
      const before = added.get(says);
      added.set(says, before ? { ...fact, ...surer(before, fact) } : fact);
    }
  }
  const isKnown = new Set<object>(known);
  const stays = worthMost([...kept.values(), ...added.values()], by);
  return {
    added: [...added.values()].filter((fact) => stays.has(fact)),
    changed: [...kept.values()].filter((fact) => stays.has(fact) && !isKnown.has(fact)),
    removed: known.filter(({ id }) => !stays.has(kept.get(id) ?? NOTHING)).map(({ id }) => id),
  };
}

const NOTHING = {};

/** Of a message without a time it is when the first of what is gone through was; nothing is said in the future. */
function saidAt(
  draft: FactDraft,
  { now, firstAt }: { readonly now: number; readonly firstAt: number },
): number {
  const at = Date.parse(draft.saidAt);
  return at > 0 ? Math.min(at, now) : firstAt;
}

function sure(confidence: number): number {
  return Number.isFinite(confidence) ? Math.min(Math.max(confidence, 0), 1) : HALF_SURE;
}

/** Said again, it holds from then on. */
function surer<Before extends Added>(before: Before, now: Added): Before {
  const later = Date.parse(now.saidAt) > Date.parse(before.saidAt) ? now : before;
  const confidence = Math.max(before.confidence, now.confidence);
  if (later === before && confidence === before.confidence) return before;
  if (later === before) return { ...before, confidence };
  return { ...before, confidence, saidAt: now.saidAt, ...("saidIn" in now ? { saidIn: now.saidIn } : {}) };
}

/** The same for two texts that differ in nothing but signs, blanks and capitals. */
function sameness(content: string): string {
  return content
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[\p{P}\p{S}\s]+/gu, " ")
    .trim();
}

/** Where there are too many, those that nobody was sure of and that were said long ago go. */
function worthMost(
  facts: readonly Omit<Fact, "id">[],
  { now, mostFacts }: { readonly now: number; readonly mostFacts: number },
): ReadonlySet<object> {
  const worth = ({ confidence, saidAt: at }: Omit<Fact, "id">): number =>
    confidence / (1 + Math.max(now - Date.parse(at), 0) / MONTH_MS);
  return new Set(facts.toSorted((one, other) => worth(other) - worth(one)).slice(0, mostFacts));
}
