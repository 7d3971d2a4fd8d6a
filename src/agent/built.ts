import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { AgentDefinition, Blobs, Senses } from "../core/agent.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { ThreadGraph } from "./graph.ts";

export type BuildPorts = {
  /** Absent for work without a thread. */
  readonly checkpointer?: BaseCheckpointSaver;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly log: Log;
  /** Another agent, for work without a thread. */
  readonly worker: (definition: AgentDefinition) => Promise<BuiltAgent>;
};

/** What answers for a definition. */
export type BuiltAgent = {
  readonly graph: ThreadGraph;
  readonly senses: Senses;
  /** Whether it has tools for the files of its chat. */
  readonly files: boolean;
};
