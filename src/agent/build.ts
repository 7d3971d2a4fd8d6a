import { createAgent, SystemMessage } from "langchain";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { AgentDefinition, Blobs, Senses } from "../core/agent.ts";
import { choiceTool } from "./choices.ts";
import { loadGraph, type ThreadGraph } from "./graph.ts";
import { harness } from "./harness/harness.ts";
import { loadModel } from "./models.ts";
import { sensesOf, sensesOfGraph } from "./senses.ts";

export type BuildPorts = { readonly checkpointer: BaseCheckpointSaver; readonly blobs: Blobs };

export type BuiltAgent = {
  readonly graph: ThreadGraph;
  readonly senses: Senses;
  /** Whether it has tools for the files of its chat. */
  readonly files: boolean;
};

/**
 * What answers for a definition: an agent of ours, or the operator's own graph.
 * @throws GatewayError "model.unknown", "model.missing_package", "model.failed" or "agent.invalid".
 */
export async function buildAgent(
  definition: AgentDefinition,
  { checkpointer, blobs }: BuildPorts,
): Promise<BuiltAgent> {
  if (definition.graph !== undefined) {
    const graph = await loadGraph(definition.name, definition.graph, checkpointer);
    return { graph, senses: sensesOfGraph(definition), files: false };
  }
  const model = await loadModel(definition.model, blobs);
  const senses = sensesOf(definition, model.profile);
  const takesTools = definition.model.provider !== "demo";
  const files = definition.files && takesTools;
  const choices = definition.choices === true && takesTools;
  // Loaded for agents that have them: deepagents takes a fifth of a second and 17 MB.
  const { fileTools, FILES_PROMPT } = files ? await import("./files/file-tools.ts") : NO_TOOLS;
  const prompt = [definition.prompt.trim(), FILES_PROMPT].filter((part) => part !== "").join("\n\n");
  const agent = createAgent({
    model,
    // A plain string would be sent as a list of blocks, which not every compatible server reads.
    ...(prompt === "" ? {} : { systemPrompt: new SystemMessage(prompt) }),
    middleware: [harness(definition, { blobs, senses, files })],
    tools: [...fileTools(), ...(choices ? [choiceTool()] : [])],
    checkpointer,
  });
  // The agent's own invoke() sends the whole saved state in as input again, every turn.
  return { graph: agent.graph, senses, files };
}

const NO_TOOLS = { fileTools: () => [], FILES_PROMPT: "" } as const;
