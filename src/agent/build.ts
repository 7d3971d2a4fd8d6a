import { createAgent, SystemMessage } from "langchain";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { AgentDefinition, Blobs } from "../core/agent.ts";
import { loadGraph, type ThreadGraph } from "./graph.ts";
import { harness } from "./harness/harness.ts";
import { loadModel } from "./models.ts";

export type BuildPorts = { readonly checkpointer: BaseCheckpointSaver; readonly blobs: Blobs };

/**
 * The graph that answers for a definition: an agent of ours, or the operator's own.
 * @throws GatewayError "model.unknown", "model.missing_package", "model.failed" or "agent.invalid".
 */
export async function buildAgent(
  definition: AgentDefinition,
  { checkpointer, blobs }: BuildPorts,
): Promise<ThreadGraph> {
  if (definition.graph !== undefined) return loadGraph(definition.name, definition.graph, checkpointer);
  const prompt = definition.prompt.trim();
  const agent = createAgent({
    model: await loadModel(definition.model, blobs),
    // A plain string would be sent as a list of blocks, which not every compatible server reads.
    ...(prompt === "" ? {} : { systemPrompt: new SystemMessage(prompt) }),
    middleware: [harness(definition, blobs)],
    checkpointer,
  });
  // The agent's own invoke() sends the whole saved state in as input again, every turn.
  return agent.graph;
}
