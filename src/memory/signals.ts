import type { MemorySignal } from "../core/memory.ts";

/** How people begin to set something right, in the languages that Perch speaks. */
const CORRECTIONS = [
  /\bthat(?:'s| is| was) (?:wrong|incorrect|not (?:right|true|correct|what i))/u,
  /\b(?:you(?:'re| are) (?:wrong|mistaken)|you (?:misunderstood|got (?:that|it|this|me) wrong))/u,
  /\bi (?:never said|didn'?t (?:say|mean)|did not (?:say|mean)|meant|have told you)/u,
  /^(?:no|nope|wrong|incorrect|actually|correction)\b(?!\s*(?:problem|worries|thanks|thank|need|one|idea))/u,
  /\b(?:not any ?more|no longer|try again|let me correct)\b/u,
  /\bdas (?:stimmt|passt) (?:so )?nicht\b|\bdas (?:ist|war) (?:falsch|nicht (?:richtig|wahr|korrekt))/u,
  /\b(?:du (?:irrst|liegst falsch|hast (?:mich|das) (?:falsch|missverstanden))|da irrst du)/u,
  /\b(?:ich (?:meinte|habe (?:nie|nicht) gesagt|hab (?:nie|nicht) gesagt)|so (?:war|habe? ich) das nicht gemeint)/u,
  /^(?:nein|falsch|nö|korrektur|stimmt nicht)\b(?!\s*(?:danke|kein problem|schon gut))/u,
  /\b(?:nicht mehr|sondern|versuch(?:e|'s)? (?:es )?noch ?mal)\b/u,
] as const;

/** How they say that something was right, and is to stay so. */
const REINFORCEMENTS = [
  /\b(?:exactly|precisely|perfect|spot on|well done|good job|that(?:'s| is) (?:right|correct|it|true|great|what i (?:wanted|meant|needed)))\b/u,
  /\b(?:you(?:'re| are) right|i (?:love|like) (?:that|this|it)|keep (?:doing|it)|always do (?:that|it)|just what i)\b/u,
  /^(?:yes|yep|yeah|right|correct|great)\b/u,
  /\b(?:genau|perfekt|richtig so|stimmt genau|gut gemacht|super gemacht|weiter so|so ist es|du hast recht)\b/u,
  /\b(?:das (?:ist|war) (?:richtig|korrekt|super|perfekt|gut so)|das (?:stimmt|passt)(?! (?:so )?nicht)|so mag ich (?:das|es))/u,
  /^(?:ja|jawohl|richtig|korrekt|stimmt)\b(?! nicht)/u,
] as const;

/** More than this is no answer to what was said before; where it corrects, it does so at its beginning. */
const LOOKED_AT = 300;

/**
 * What a person's own words say about what an agent remembers, without a model. A hint for the model that goes through them
 * later, so that a wrong one costs nothing.
 */
export function signalsIn(said: string): readonly MemorySignal[] {
  const words = said.slice(0, LOOKED_AT).toLowerCase().normalize("NFC").replaceAll("’", "'").trim();
  const any = (patterns: readonly RegExp[]): boolean => patterns.some((pattern) => pattern.test(words));
  const correction = any(CORRECTIONS);
  // "No, that's not right" is no praise.
  const reinforcement = !correction && any(REINFORCEMENTS);
  return [
    ...(correction ? (["correction"] as const) : []),
    ...(reinforcement ? (["reinforcement"] as const) : []),
  ];
}
