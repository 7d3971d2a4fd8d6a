import type { AIMessage, UsageMetadata } from "@langchain/core/messages";
import type { AgentDefinition, ModelChoice } from "../../core/agent.ts";
import type { ModelUse } from "../../core/usage.ts";
import { modelKey } from "../model-key.ts";

/** Whose call of which model it is, and who is told of it. */
export type Counting = {
  readonly agent: Pick<AgentDefinition, "name" | "price">;
  readonly choice: ModelChoice;
  readonly onUse: ((use: ModelUse) => void) | undefined;
};

/** What this answer took, as the provider says; zeros where it says nothing. */
export function useOf(answer: AIMessage, { agent, choice }: Omit<Counting, "onUse">): ModelUse {
  const usage = answer.usage_metadata as UsageMetadata | undefined; // its own type allows none
  const inputTokens = counted(usage?.input_tokens);
  const cachedTokens = Math.min(counted(usage?.input_token_details?.cache_read), inputTokens);
  const outputTokens = counted(usage?.output_tokens);
  const { input, output, cached = input } = agent.price ?? { input: 0, output: 0 };
  // A price is of a million tokens, and a cost in millionths of the currency.
  const cost = (inputTokens - cachedTokens) * input + cachedTokens * cached + outputTokens * output;
  return {
    agent: agent.name,
    model: modelKey(choice),
    inputTokens,
    cachedTokens,
    outputTokens,
    costMicros: Math.round(cost),
  };
}

/** No request has as many; sums of such numbers are whole ones that a database takes. */
const MOST = 1_000_000_000;

/** What a provider says that it has counted, as a whole number; 0 where that is none. Compatible servers write what they like. */
export function counted(tokens: number | undefined): number {
  return typeof tokens === "number" && Number.isFinite(tokens) && tokens > 0
    ? Math.min(MOST, Math.round(tokens))
    : 0;
}
