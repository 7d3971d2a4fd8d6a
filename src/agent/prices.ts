import type { AgentDefinition, ModelChoice } from "../core/agent.ts";
import type { Price } from "../core/usage.ts";

/**
 * What a million tokens of a model cost: what the operator says, else our table; undefined where neither knows. A server
 * that somebody else runs takes what it likes, whatever its models are called.
 */
export function priceOf({ price }: Pick<AgentDefinition, "price">, choice: ModelChoice): Price | undefined {
  if (price !== undefined) return price;
  if (choice.baseUrl !== undefined) return undefined;
  const name = choice.name.toLowerCase();
  return rowsOf(choice.provider).find(([pattern]) => pattern.test(name))?.[1];
}

/** Input, output and what of the input is cached, in US dollars; the first row whose pattern the name matches. */
type Row = readonly [RegExp, Price];

function row(pattern: RegExp, input: number, output: number, cached: number): Row {
  return [pattern, { input, output, cached }];
}

// The providers' own price pages (openai.com/api/pricing, claude.com/pricing, ai.google.dev/gemini-api/docs/pricing) as of
// December 2025: usual requests, neither batches nor priority, and for Gemini the price of prompts up to 200,000 tokens.

const OPENAI: readonly Row[] = [
  row(/^gpt-5(\.\d)?-pro/, 15, 120, 15),
  row(/^gpt-5-mini/, 0.25, 2, 0.025),
  row(/^gpt-5-nano/, 0.05, 0.4, 0.005),
  row(/^gpt-5(\.1)?(-\d{4}|-chat|-codex$|$)/, 1.25, 10, 0.125),
  row(/^gpt-4\.1-mini/, 0.4, 1.6, 0.1),
  row(/^gpt-4\.1-nano/, 0.1, 0.4, 0.025),
  row(/^gpt-4\.1(-\d{4}|$)/, 2, 8, 0.5),
  row(/^gpt-4o-mini(-\d{4}|$)/, 0.15, 0.6, 0.075),
  row(/^gpt-4o(-\d{4}|$)/, 2.5, 10, 1.25),
  row(/^o4-mini(-\d{4}|$)/, 1.1, 4.4, 0.275),
  row(/^o3-mini/, 1.1, 4.4, 0.55),
  row(/^o3(-\d{4}|$)/, 2, 8, 0.5),
  row(/^o1(-\d{4}|$)/, 15, 60, 7.5),
];

const ANTHROPIC: readonly Row[] = [
  row(/^claude-opus-4-5/, 5, 25, 0.5),
  row(/^claude-(opus-4|3-opus)/, 15, 75, 1.5),
  row(/^claude-(sonnet-4|3-[57]-sonnet)/, 3, 15, 0.3),
  row(/^claude-haiku-4-5/, 1, 5, 0.1),
  row(/^claude-3-5-haiku/, 0.8, 4, 0.08),
  row(/^claude-3-haiku/, 0.25, 1.25, 0.03),
];

const GOOGLE: readonly Row[] = [
  row(/^(models\/)?gemini-3-pro/, 2, 12, 0.2),
  row(/^(models\/)?gemini-2\.5-pro/, 1.25, 10, 0.125),
  row(/^(models\/)?gemini-2\.5-flash-lite/, 0.1, 0.4, 0.01),
  row(/^(models\/)?gemini-2\.5-flash($|-preview-\d)/, 0.3, 2.5, 0.03),
  row(/^(models\/)?gemini-2\.0-flash($|-0)/, 0.1, 0.4, 0.025),
];

const FREE: Price = { input: 0, output: 0 };

function rowsOf(provider: string): readonly Row[] {
  switch (provider) {
    case "openai":
      return OPENAI;
    case "anthropic":
      return ANTHROPIC;
    case "google-genai":
      return GOOGLE;
    case "demo":
      return [[/(?:)/, FREE]];
    default:
      return [];
  }
}
