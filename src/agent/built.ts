import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { AgentDefinition, Blobs, Senses } from "../core/agent.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { ThreadGraph } from "./graph.ts";
import type { ToolServers } from "./mcp/servers.ts";
import type { Breakers } from "./harness/breakers.ts";

export type BuildPorts = {
  /** Absent for work without a thread. */
  readonly checkpointer?: BaseCheckpointSaver;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly log: Log;
  /** Of all agents. */
  readonly breakers?: Breakers;
  /** Of all agents; without them an agent has no tools of servers. */
  readonly servers?: ToolServers;
  /** Where programs are looked for; without it none is. */
  readonly path?: string;
  /** Another agent, for work without a thread. */
  readonly worker: (definition: AgentDefinition) => Promise<BuiltAgent>;
};

/** What answers for a definition. */
export type BuiltAgent = {
  readonly graph: ThreadGraph;
  readonly senses: Senses;
  /** Whether it has tools for the files of its chat. */
  readonly files: boolean;
  /** The model, and what it takes at once, in tokens; absent for an operator's graph, which has its own. */
  readonly room?: { readonly model: BaseChatModel; readonly window: number };
};
