import type { Compacted } from "../core/agent.ts";
import { type Language, say } from "../core/sentences.ts";
import { numberWords, tokenWords } from "../core/words-of-use.ts";

/** What the person is told who has asked for a summary. */
export function compactedWords(compacted: Compacted, language: Language): string {
  if (compacted.done) {
    const { before, after } = compacted;
    return say("compact.done", language, {
      before: tokenWords(before, language),
      after: tokenWords(after, language),
    });
  }
  const { now, waits } = compacted;
  if (waits) return say("compact.waits", language);
  if (now.window === 0) return say("compact.own_graph", language);
  return say("compact.not_yet", language, {
    now: tokenWords(now, language),
    window: numberWords(now.window, language),
  });
}
