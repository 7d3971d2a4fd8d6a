import { stat } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { asError, GatewayError } from "../core/errors.ts";

/** As much of a compiled LangGraph graph as a turn uses. */
export type ThreadGraph = {
  getState(config: object): Promise<{
    readonly values: unknown;
    /** What its next step is, and what it waits for. */
    readonly tasks?: unknown;
    /** Names those of them that have not come to an end. */
    readonly next?: unknown;
    /** Names the checkpoint. */
    readonly config?: object;
  }>;
  invoke(input: object, config: object): Promise<unknown>;
  updateState(config: object, values: object): Promise<unknown>;
  stream(input: object, config: object): Promise<AsyncIterable<unknown>>;
};

/** A compiled graph of any copy of LangGraph: an operator's folder may have its own, so classes say nothing. */
type CompiledGraph = ThreadGraph & {
  readonly channels: Readonly<Record<string, unknown>>;
  checkpointer?: unknown;
  withConfig(config: object): CompiledGraph;
};

/**
 * The compiled graph that a module exports by default, with our checkpointer; what `createAgent` returns is one too.
 * A file that was changed is loaded again, its own imports are not.
 * @throws GatewayError "agent.invalid".
 */
export async function loadGraph(
  agent: string,
  path: string,
  checkpointer: BaseCheckpointSaver | undefined,
): Promise<ThreadGraph> {
  const invalid = (what: string, cause?: unknown): GatewayError =>
    new GatewayError("agent.invalid", `agent "${agent}": ${path} ${what}`, { cause });

  let exported: unknown;
  try {
    const { mtimeMs } = await stat(path);
    const module = (await import(`${pathToFileURL(path).href}?changed=${mtimeMs}`)) as { default?: unknown }; // any module
    exported = module.default;
  } catch (error) {
    throw invalid(`could not be loaded: ${asError(error).message}`, error);
  }
  const graph = compiled(exported) ?? compiled((exported as { graph?: unknown } | undefined)?.graph);
  if (graph === undefined) {
    throw invalid("has no compiled graph as its default export; end it with: export default graph.compile()");
  }
  if (!("messages" in graph.channels)) {
    throw invalid('is a graph without a "messages" channel; build it on MessagesAnnotation');
  }
  if (graph.checkpointer) {
    throw invalid("has a checkpointer of its own; compile it without one, Perch keeps its threads");
  }
  // A copy, because the module's own graph may be shared by other agents.
  const ours = graph.withConfig({});
  if (checkpointer) ours.checkpointer = checkpointer;
  return ours;
}

function compiled(value: unknown): CompiledGraph | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { channels, invoke, stream, getState, withConfig } = value as Partial<CompiledGraph>; // read, then checked
  const able = [invoke, stream, getState, withConfig].every((method) => typeof method === "function");
  if (!able || typeof channels !== "object" || channels === null) return undefined;
  return value as CompiledGraph; // just checked
}
