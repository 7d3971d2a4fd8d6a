import { type Language, type Notice, say } from "../core/sentences.ts";
import { costWords, numberWords, tokenWords } from "../core/words-of-use.ts";
import type { Spent, ThreadFact } from "../store/thread-facts.ts";

/** What `/context` tells of a thread, from what its last turn has told; a graph of the operator's tells nothing of its own. */
export function contextNotice(fact: ThreadFact | undefined, ownGraph: boolean, language: Language): Notice {
  if (fact?.window === undefined)
    return { key: fact && ownGraph ? "context.own_graph" : "context.none", values: {} };
  const { title, window } = fact;
  return {
    key: "context.body",
    values: {
      title: title === "" ? "" : say("context.title", language, { title }),
      messages: numberWords(window.messages, language),
      tokens: tokenWords(window, language),
      window: numberWords(window.window, language),
      percent: Math.round((100 * window.tokens) / window.window),
      use: useWords(fact, language),
    },
  };
}

function useWords({ last, all }: ThreadFact, language: Language): string {
  return [spentWords("context.use", last, language), spentWords("context.use_all", all, language)].join("");
}

function spentWords(
  key: "context.use" | "context.use_all",
  { inputTokens, outputTokens, costMicros }: Spent,
  language: Language,
): string {
  // Not every provider counts.
  if (inputTokens + outputTokens === 0) return "";
  return say(key, language, {
    input: numberWords(inputTokens, language),
    output: numberWords(outputTokens, language),
    cost: costMicros === 0 ? "" : say("context.cost", language, { cost: costWords(costMicros) }),
  });
}
