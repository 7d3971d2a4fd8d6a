import type { ClientTool, ServerTool } from "@langchain/core/tools";

/** Whether the model is shown a tool only once it was searched for: `metadata: { deferred: true }`. */
export function isDeferred(tool: ClientTool | ServerTool): boolean {
  const { metadata } = tool as { readonly metadata?: Readonly<Record<string, unknown>> }; // both have some, or none
  return metadata?.["deferred"] === true;
}

export function nameOfTool(tool: ClientTool | ServerTool): string {
  return "name" in tool ? String(tool.name) : "";
}
