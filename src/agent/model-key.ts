import type { ModelChoice } from "../core/agent.ts";

/** "openai:gpt-5": how a model is named in what is logged, counted and remembered of it. */
export function modelKey({ provider, name }: ModelChoice): string {
  return `${provider}:${name}`;
}
