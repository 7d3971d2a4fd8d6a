import type { ClientTool, ServerTool } from "@langchain/core/tools";

/** Tools that belong together, and what the agent is told of them beside its own prompt. */
export type Kit = {
  readonly tools: readonly (ClientTool | ServerTool)[];
  readonly prompt: string;
  /** What the agent should have and cannot have here, by name. */
  readonly unavailable?: readonly string[];
};
