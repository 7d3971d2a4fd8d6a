import type { AgentDefinition } from "../core/agent.ts";
import type { BuildPorts } from "./built.ts";
import { choiceTool } from "./choices.ts";
import type { Kit } from "./kit.ts";

/** What an agent of ours may use, in the order in which it is told of it. Each is loaded for agents that have it. */
export async function kitsFor(definition: AgentDefinition, _ports: BuildPorts): Promise<readonly Kit[]> {
  const kits: Kit[] = [];
  // deepagents takes a fifth of a second and 17 MB.
  if (definition.files) kits.push((await import("./files/file-tools.ts")).fileKit());
  if (definition.choices) kits.push({ tools: [choiceTool()], prompt: "" });
  return kits;
}
