import type { AgentLimits, ModelChoice } from "../../core/agent.ts";

/** What langchain's static table says of a model; an empty one says nothing. */
type Profile = { readonly maxInputTokens?: number };

/**
 * How many tokens a model takes at once: what the operator says, else what langchain knows, else our table. Of a server that
 * somebody runs themselves the model's name says little, since what it takes is set there: a small number is taken.
 */
export function windowOf(
  { contextTokens }: Pick<AgentLimits, "contextTokens">,
  choice: ModelChoice,
  { maxInputTokens }: Profile,
): number {
  if (contextTokens !== undefined) return contextTokens;
  if (maxInputTokens !== undefined && maxInputTokens > 0 && choice.provider !== "ollama")
    return maxInputTokens;
  const name = choice.name.toLowerCase();
  return rowsOf(choice).find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN;
}

const UNKNOWN = 32_768;

/** The first row whose pattern the name matches; as the providers' own pages say. */
type Row = readonly [RegExp, number];

const OPENAI: readonly Row[] = [
  [/^gpt-3/, 16_385],
  [/^gpt-4-32k/, 32_768],
  [/^gpt-4(-0|-\d{4}|$)/, 8_192],
  [/^gpt-4\.1/, 1_047_576],
  [/^gpt-5/, 400_000],
  [/^o1-(mini|preview)/, 128_000],
  [/^o\d/, 200_000],
  [/./, 128_000],
];

const ANTHROPIC: readonly Row[] = [
  [/^claude-(instant|2\.0|2$)/, 100_000],
  [/./, 200_000],
];

const GOOGLE: readonly Row[] = [
  [/gemini-1\.0|gemini-pro$/, 30_720],
  [/gemma-3n|gemma-?3[:-](1b|270m)/, 32_768],
  [/gemma-?2/, 8_192],
  [/gemma/, 131_072],
  [/./, 1_048_576],
];

/** What companies offer over OpenAI's protocol; whatever else is served there may be anybody's. */
const COMPATIBLE: readonly Row[] = [
  [/^(.*\/)?(deepseek-(chat|reasoner)|qwen-(plus|max|turbo)|kimi|moonshot-v1-128k|grok-)/, 128_000],
  [/^(.*\/)?(mistral-(large|medium)|magistral|devstral-medium)/, 128_000],
  [/^(openai\/)?(gpt-(4o|4\.1|5)|o[134])/, 128_000],
  [/^(anthropic\/)?claude-/, 200_000],
  [/^(google\/)?gemini-/, 1_000_000],
  [/./, UNKNOWN],
];

/** Ollama's own default for what it loads on small machines: beyond it the beginning is cut off in silence. */
const OLLAMA: readonly Row[] = [[/./, 4_096]];

function rowsOf({ provider, baseUrl }: ModelChoice): readonly Row[] {
  switch (provider) {
    case "openai":
      return baseUrl === undefined ? OPENAI : COMPATIBLE;
    case "anthropic":
      return ANTHROPIC;
    case "google-genai":
      return GOOGLE;
    case "ollama":
      return OLLAMA;
    default:
      return [];
  }
}
