import type { AIMessage } from "@langchain/core/messages";
import type { ModelUse } from "../../core/usage.ts";
import { textTokens } from "../window/tokens.ts";
import { costNothing } from "./errors.ts";
import { type Counting, useOf, useOfTokens } from "./use.ts";

/**
 * Has one request to a model counted before it is sent, by our guess of `tokens`, and set right by what it took. What the
 * provider has refused, or was not there to take, costs nothing; of what broke off, or was stopped, nobody knows, and the
 * guess stays.
 * @throws GatewayError "budget.spent", and then nothing is sent; else what `ask` throws.
 */
export async function allowed<Answer>(
  counting: Pick<Counting, "agent" | "choice" | "allowance">,
  tokens: () => number,
  ask: () => Promise<Answer>,
  answerOf: (answer: Answer) => AIMessage,
): Promise<Answer> {
  const { allowance } = counting;
  if (allowance === undefined) return await ask();
  const guess = useOfTokens({ input: tokens() }, counting);
  const reserved = await allowance.reserve(guess);
  let answer: Answer;
  try {
    answer = await ask();
  } catch (thrown) {
    if (costNothing(thrown)) await reserved.settle({ inputTokens: 0, outputTokens: 0, costMicros: 0 });
    throw thrown;
  }
  await reserved.settle(useOrGuess(answerOf(answer), guess, counting));
  return answer;
}

/** Not every server counts. */
function useOrGuess(answer: AIMessage, guess: ModelUse, counting: Omit<Counting, "onUse">): ModelUse {
  const use = useOf(answer, counting);
  if (use.inputTokens + use.outputTokens > 0) return use;
  return useOfTokens({ input: guess.inputTokens, output: textTokens(answer.text) }, counting);
}
