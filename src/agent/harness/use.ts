import type { AIMessage, UsageMetadata } from "@langchain/core/messages";
import type { AgentDefinition, ModelChoice } from "../../core/agent.ts";
import type { Allowance } from "../../core/budget.ts";
import type { ModelUse } from "../../core/usage.ts";
import { modelKey } from "../model-key.ts";
import { priceOf } from "../prices.ts";

/** Whose call of which model it is, who is told of it, and what it has to be within. */
export type Counting = {
  readonly agent: Pick<AgentDefinition, "name" | "price">;
  readonly choice: ModelChoice;
  readonly onUse: ((use: ModelUse) => void) | undefined;
  readonly allowance?: Allowance | undefined;
};

/** What this answer took, as the provider says; zeros where it says nothing. */
export function useOf(answer: AIMessage, counting: Omit<Counting, "onUse" | "allowance">): ModelUse {
  const usage = answer.usage_metadata as UsageMetadata | undefined; // its own type allows none
  const input = counted(usage?.input_tokens);
  // Google counts what its models think in the total alone; it is paid for as output.
  const output = Math.max(counted(usage?.output_tokens), counted(usage?.total_tokens) - input);
  return useOfTokens({ input, cached: counted(usage?.input_token_details?.cache_read), output }, counting);
}

/** The same of so many tokens, of which some of the input may be cached. */
export function useOfTokens(
  tokens: { readonly input: number; readonly cached?: number; readonly output?: number },
  { agent, choice }: Omit<Counting, "onUse" | "allowance">,
): ModelUse {
  const { input: inputTokens, output: outputTokens = 0 } = tokens;
  const cachedTokens = Math.min(tokens.cached ?? 0, inputTokens);
  const { input, output, cached = input } = priceOf(agent, choice) ?? { input: 0, output: 0 };
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
