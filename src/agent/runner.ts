import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { AgentDefinition, AgentRunner, Blobs, Senses } from "../core/agent.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { BuiltAgent } from "./built.ts";

export type RunnerPorts = {
  /** What keeps the threads of an agent; asked for when the agent is built. */
  readonly saver: (definition: AgentDefinition) => Promise<BaseCheckpointSaver>;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly log: Log;
};

const NO_SENSES: Senses = { images: false, pdf: false, audio: false };

/** Runs turns on threads that `saver` keeps. LangChain is loaded with the first turn: it takes half a second. */
export function createAgentRunner(ports: RunnerPorts): AgentRunner {
  const { saver, blobs } = ports;
  const built = builtOnce(async (definition) => {
    const { buildAgent } = await import("./build.ts");
    return await buildAgent(definition, { ...ports, checkpointer: await saver(definition), worker: workers });
  });
  const workers = builtOnce(async (definition) => {
    const { buildAgent } = await import("./build.ts");
    return await buildAgent(definition, { ...withoutThread, worker: workers });
  });
  const { saver: _saver, ...withoutThread } = ports;

  return {
    prepare(agent) {
      // What fails here fails again where somebody waits for it and is told.
      void Promise.all([import("./run-turn.ts"), built(agent)]).catch(() => {});
    },
    async senses(agent) {
      try {
        return (await built(agent)).senses;
      } catch {
        return NO_SENSES; // the turn that follows tells of it
      }
    },
    async run(turn, signal) {
      signal.throwIfAborted();
      const { runTurn } = await import("./run-turn.ts");
      return runTurn(await built(turn.agent), blobs, turn, signal);
    },
  };
}

/** A changed file is a new definition, so what is built lives as long as its definition is in use. */
function builtOnce(
  build: (definition: AgentDefinition) => Promise<BuiltAgent>,
): (definition: AgentDefinition) => Promise<BuiltAgent> {
  const built = new WeakMap<AgentDefinition, Promise<BuiltAgent>>();
  return (definition) => {
    const ready = built.get(definition);
    if (ready !== undefined) return ready;
    const building = build(definition);
    built.set(definition, building);
    // What failed is tried again by the next turn: a package may be installed by then.
    building.catch(() => built.delete(definition));
    return building;
  };
}
