import { createAgent, SystemMessage } from "langchain";
import type { AgentDefinition, ModelChoice } from "../core/agent.ts";
import type { BuildPorts, BuiltAgent } from "./built.ts";
import { loadGraph } from "./graph.ts";
import { harness } from "./harness/harness.ts";
import { kitsFor } from "./kits.ts";
import { loadModel } from "./models.ts";
import { sensesOf, sensesOfGraph } from "./senses.ts";

/**
 * What answers for a definition: an agent of ours, or the operator's own graph.
 * @throws GatewayError "model.unknown", "model.missing_package", "model.failed" or "agent.invalid".
 */
export async function buildAgent(definition: AgentDefinition, ports: BuildPorts): Promise<BuiltAgent> {
  const { checkpointer, blobs } = ports;
  if (definition.graph !== undefined) {
    const graph = await loadGraph(definition.name, definition.graph, checkpointer);
    return { graph, senses: sensesOfGraph(definition), files: false };
  }
  const model = await loadModel(definition.model, blobs);
  const senses = sensesOf(definition, model.profile);
  const takesTools = takesAny(definition.model);
  const files = definition.files && takesTools;
  const kits = takesTools ? await kitsFor(definition, ports) : [];
  const prompt = [definition.prompt.trim(), ...kits.map((kit) => kit.prompt)].filter((part) => part !== "");
  const agent = createAgent({
    model,
    // A plain string would be sent as a list of blocks, which not every compatible server reads.
    ...(prompt.length === 0 ? {} : { systemPrompt: new SystemMessage(prompt.join("\n\n")) }),
    middleware: [harness(definition, { ...ports, senses, files })],
    tools: kits.flatMap((kit) => kit.tools),
    ...(checkpointer ? { checkpointer } : {}),
  });
  // The agent's own invoke() sends the whole saved state in as input again, every turn.
  return { graph: agent.graph, senses, files };
}

/** The demo model has no use for tools. */
function takesAny({ provider }: ModelChoice): boolean {
  return provider !== "demo";
}
