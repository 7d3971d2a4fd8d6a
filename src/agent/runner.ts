import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { AgentDefinition, AgentDesk, Blobs, Senses } from "../core/agent.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { BuiltAgent } from "./built.ts";
import { Breakers } from "./harness/breakers.ts";
import { ToolServers } from "./mcp/servers.ts";

export type RunnerPorts = {
  /** What keeps the threads of an agent; asked for when the agent is built. */
  readonly saver: (definition: AgentDefinition) => Promise<BaseCheckpointSaver>;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly log: Log;
  /** Where programs are looked for, such as the one that commands of agents are run in; without it none is. */
  readonly path?: string;
};

/** What the agents of a process have together beside their threads. */
export type AgentHouse = AgentDesk & {
  /** Ends the servers of tools that none of these agents has, as after a change of the configuration. Never rejects. */
  keep(agents: Iterable<AgentDefinition>): Promise<void>;
  /** Ends them all. Never rejects. */
  close(): Promise<void>;
};

const NO_SENSES: Senses = { images: false, pdf: false, audio: false };

/** Runs turns on threads that `saver` keeps. LangChain is loaded with the first turn: it takes half a second. */
export function createAgentRunner(ports: RunnerPorts): AgentHouse {
  const { saver, blobs, clock } = ports;
  const breakers = new Breakers(clock);
  const servers = new ToolServers(ports);
  const built = builtOnce(async (definition) => {
    const { buildAgent } = await import("./build.ts");
    return await buildAgent(definition, {
      ...ports,
      breakers,
      servers,
      checkpointer: await saver(definition),
      worker: workers,
    });
  });
  const workers = builtOnce(async (definition) => {
    const { buildAgent } = await import("./build.ts");
    return await buildAgent(definition, { ...withoutThread, breakers, servers, worker: workers });
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
    async distil(work, signal) {
      signal.throwIfAborted();
      const { distil } = await import("./distil.ts");
      return await distil((await built(work.agent)).graph, blobs, work, signal);
    },
    async talk({ agent, ...of }) {
      const { talkOf } = await import("./talk.ts");
      return (await talkOf((await built(agent)).graph, { ...of, blobs })).talk;
    },
    async compact(turn, signal) {
      signal.throwIfAborted();
      const { compactThread } = await import("./compact.ts");
      return await compactThread(await built(turn.agent), blobs, turn, signal);
    },
    async work({ agent, prompt, id, ...turn }, signal) {
      signal.throwIfAborted();
      const [{ work }, { asSubagent }] = await Promise.all([
        import("./work.ts"),
        import("./subagents/levels.ts"),
      ]);
      const sentAt = new Date(clock.now()).toISOString();
      const asked = { agent: agent.name, prompt, id, sentAt, turn: { ...turn, messageId: id } };
      return await work(await workers(asSubagent(agent)), asked, signal);
    },
    keep: async (agents) => await servers.keep(agents),
    close: async () => await servers.close(),
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
