import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { AgentDefinition, AgentRunner, Blobs, Senses } from "../core/agent.ts";
import type { BuiltAgent } from "./build.ts";

export type RunnerPorts = {
  /** What keeps the threads of an agent; asked for when the agent is built. */
  readonly saver: (definition: AgentDefinition) => Promise<BaseCheckpointSaver>;
  readonly blobs: Blobs;
};

const NO_SENSES: Senses = { images: false, pdf: false, audio: false };

/** Runs turns on threads that `saver` keeps. LangChain is loaded with the first turn: it takes half a second. */
export function createAgentRunner({ saver, blobs }: RunnerPorts): AgentRunner {
  // A changed file is a new definition, so what is built lives as long as its definition is in use.
  const built = new WeakMap<AgentDefinition, Promise<BuiltAgent>>();

  return {
    prepare(agent) {
      // What fails here fails again where somebody waits for it and is told.
      void Promise.all([import("./run-turn.ts"), build(agent)]).catch(() => {});
    },
    async senses(agent) {
      try {
        return (await build(agent)).senses;
      } catch {
        return NO_SENSES; // the turn that follows tells of it
      }
    },
    async run(turn, signal) {
      signal.throwIfAborted();
      const { runTurn } = await import("./run-turn.ts");
      return runTurn(await build(turn.agent), blobs, turn, signal);
    },
  };

  function build(definition: AgentDefinition): Promise<BuiltAgent> {
    const ready = built.get(definition);
    if (ready !== undefined) return ready;
    const building = buildAnew(definition);
    built.set(definition, building);
    // What failed is tried again by the next turn: a package may be installed by then.
    building.catch(() => built.delete(definition));
    return building;
  }

  async function buildAnew(definition: AgentDefinition): Promise<BuiltAgent> {
    const { buildAgent } = await import("./build.ts");
    return await buildAgent(definition, { checkpointer: await saver(definition), blobs });
  }
}
