import { type Notice, say } from "../core/sentences.ts";
import { costWords, numberWords, tokenWords } from "../core/words-of-use.ts";
import type { Spent, ThreadFact } from "../store/thread-facts.ts";

/** What `/context` tells of a thread, from what its last turn has told. */
export function contextNotice(fact: ThreadFact | undefined): Notice {
  if (fact?.window === undefined) return { key: "context.none", values: {} };
  const { title, window } = fact;
  return {
    key: "context.body",
    values: {
      title: title === "" ? "" : say("context.title", "en", { title }),
      messages: numberWords(window.messages, "en"),
      tokens: tokenWords(window, "en"),
      window: numberWords(window.window, "en"),
      percent: Math.round((100 * window.tokens) / window.window),
      use: useWords(fact),
    },
  };
}

function useWords({ last, all }: ThreadFact): string {
  return [spentWords("context.use", last), spentWords("context.use_all", all)].join("");
}

function spentWords(
  key: "context.use" | "context.use_all",
  { inputTokens, outputTokens, costMicros }: Spent,
): string {
  // Not every provider counts.
  if (inputTokens + outputTokens === 0) return "";
  return say(key, "en", {
    input: numberWords(inputTokens, "en"),
    output: numberWords(outputTokens, "en"),
    cost: costMicros === 0 ? "" : say("context.cost", "en", { cost: costWords(costMicros) }),
  });
}
