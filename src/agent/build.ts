import { setMaxListeners } from "node:events";
import { createAgent, SystemMessage } from "langchain";
import type { AgentDefinition, ModelChoice } from "../core/agent.ts";
import type { BuildPorts, BuiltAgent } from "./built.ts";
import { loadGraph } from "./graph.ts";
import { harness } from "./harness/harness.ts";
import { kitsFor } from "./kits.ts";
import { Toolbox } from "./mcp/toolbox.ts";
import { loadModel } from "./models.ts";
import { sensesOf, sensesOfGraph } from "./senses.ts";
import { skillsOf } from "./skills/skills.ts";
import { isDeferred, nameOfTool } from "./tools/deferring.ts";
import { Shelf } from "./tools/shelf.ts";
import { TOOL_SEARCH, toolSearch } from "./tools/tool-search.ts";
import { windowOf } from "./window/models.ts";

/**
 * What answers for a definition: an agent of ours, or the operator's own graph.
 * @throws GatewayError "model.unknown", "model.missing_package", "model.failed" or "agent.invalid".
 */
export async function buildAgent(definition: AgentDefinition, ports: BuildPorts): Promise<BuiltAgent> {
  const { checkpointer, blobs } = ports;
  setMaxListeners(MOST_LISTENERS);
  if (definition.graph !== undefined) {
    const graph = await loadGraph(definition.name, definition.graph, checkpointer);
    return { graph, senses: sensesOfGraph(definition), files: false };
  }
  const model = await loadModel(definition.model, blobs);
  const senses = sensesOf(definition, model.profile);
  const takesTools = takesAny(definition.model);
  const files = definition.files && takesTools;
  const kits = takesTools ? await kitsFor(definition, ports) : [];
  const own = kits.flatMap((kit) => kit.tools);
  const skills = skillsOf(definition, ports.log);
  // The first request is to say which of them are broken.
  if (skills.any) await skills.found();
  const missing = kits.flatMap((kit) => kit.unavailable ?? []);
  const toolbox = takesTools
    ? await toolboxOf(definition, ports, { files, taken: own.map(nameOfTool) })
    : undefined;
  const shelf =
    toolbox || own.some(isDeferred) ? new Shelf(own, () => toolbox?.tools() ?? NO_TOOLS) : undefined;
  const tools = shelf ? [...own, toolSearch(shelf)] : own;
  const prompt = [definition.prompt.trim(), ...kits.map((kit) => kit.prompt)].filter((part) => part !== "");
  const agent = createAgent({
    model,
    // A plain string would be sent as a list of blocks, which not every compatible server reads.
    ...(prompt.length === 0 ? {} : { systemPrompt: new SystemMessage(prompt.join("\n\n")) }),
    middleware: [
      harness(definition, {
        ...ports,
        senses,
        files,
        tools,
        ...(shelf ? { shelf } : {}),
        unavailable: () => [...missing, ...(toolbox?.unavailable() ?? []), ...skills.unavailable],
      }),
    ],
    tools,
    ...(checkpointer ? { checkpointer } : {}),
  });
  // The agent's own invoke() sends the whole saved state in as input again, every turn.
  const window = windowOf(definition.limits, definition.model, model.profile);
  return { graph: agent.graph, senses, files, room: { model, window } };
}

/**
 * LangGraph makes a signal for each step, and every call of a tool in it has a few listeners there while it runs: of some
 * calls that one message makes Node would say that they look like a leak. Nobody else gets at that signal in time.
 */
const MOST_LISTENERS = 1_000;

/** Always the same list, for by that is known that nothing has changed. */
const NO_TOOLS = [] as const;

/** The tools of the servers that the agent names, which are waited for within their time. */
async function toolboxOf(
  { mcp = [] }: AgentDefinition,
  { servers, log }: BuildPorts,
  { files, taken }: { readonly files: boolean; readonly taken: readonly string[] },
): Promise<Toolbox | undefined> {
  if (servers === undefined || mcp.length === 0) return undefined;
  const toolbox = new Toolbox(servers.of({ mcp }), { log, files, taken: [...taken, TOOL_SEARCH] });
  await toolbox.ready();
  return toolbox;
}

/** The demo model has no use for tools. */
function takesAny({ provider }: ModelChoice): boolean {
  return provider !== "demo";
}
