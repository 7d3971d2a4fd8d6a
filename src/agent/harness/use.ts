import type { AIMessage, UsageMetadata } from "@langchain/core/messages";
import type { AgentDefinition, ModelChoice } from "../../core/agent.ts";
import type { ModelUse } from "../../core/usage.ts";

/** Whose call of which model it is, and who is told of it. */
export type Counting = {
  readonly agent: Pick<AgentDefinition, "name" | "price">;
  readonly choice: ModelChoice;
  readonly onUse: ((use: ModelUse) => void) | undefined;
};

/** What this answer took, as the provider says; zeros where it says nothing. */
export function useOf(answer: AIMessage, { agent, choice }: Omit<Counting, "onUse">): ModelUse {
  const usage = answer.usage_metadata as UsageMetadata | undefined; // its own type allows none
  const inputTokens = tokens(usage?.input_tokens);
  const cachedTokens = Math.min(tokens(usage?.input_token_details?.cache_read), inputTokens);
  const outputTokens = tokens(usage?.output_tokens);
  const { input, output, cached = input } = agent.price ?? { input: 0, output: 0 };
  // A price is of a million tokens, and a cost in millionths of the currency.
  const cost = (inputTokens - cachedTokens) * input + cachedTokens * cached + outputTokens * output;
  return {
    agent: agent.name,
    model: `${choice.provider}:${choice.name}`,
    inputTokens,
    cachedTokens,
    outputTokens,
    costMicros: Math.round(cost),
  };
}

/** Compatible servers write what they like. */
function tokens(count: number | undefined): number {
  return typeof count === "number" && Number.isFinite(count) && count > 0 ? Math.round(count) : 0;
}
