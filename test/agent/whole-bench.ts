import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BaseMessage } from "@langchain/core/messages";
import { onTestFinished } from "vitest";
import type { AgentAnswer, AgentDefinition, AgentTurn, Compacted } from "../../src/core/agent.ts";
import type { ContentBlock } from "../../src/core/blocks.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { type AgentHouse, createAgentRunner } from "../../src/agent/runner.ts";
import { ThreadSaver } from "../../src/agent/threads.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import type { Database } from "../../src/store/database.ts";
import { turnEffects } from "../../src/store/effects.ts";
import { threadStore } from "../../src/store/threads.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import type { ModelServer } from "../support/models/server.ts";
import { WIRES, type WireName } from "./model-servers.ts";
import { definition, turn, holdChat } from "./set-up.ts";

/** An agent as a gateway has it: its real kits, the real saver on a real database, a model behind a real server. */
export type WholeBench = {
  readonly server: ModelServer;
  readonly agent: AgentDefinition;
  readonly blobs: FileBlobs;
  /** Of the chat. */
  readonly folder: string;
  readonly logged: readonly LoggedLine[];
  /** Runs a turn to its end; the second time of an id is another attempt at it. */
  readonly run: (
    id: string,
    said: string | readonly ContentBlock[],
    more?: Partial<AgentTurn>,
    signal?: AbortSignal,
  ) => Promise<AgentAnswer>;
  readonly say: (id: string, said: string) => Promise<string>;
  /** Sums the thread up, as by a command. */
  readonly compact: (id: string) => Promise<Compacted>;
  /** The same as after a restart: nothing is known but what was kept. */
  readonly restart: () => void;
  readonly messages: () => Promise<readonly BaseMessage[]>;
  /** What else the thread keeps. */
  readonly values: () => Promise<Readonly<Record<string, unknown>>>;
};

export async function wholeBench(
  database: Database,
  {
    wire = "openai",
    clock = systemClock,
    fields = () => ({}),
  }: {
    readonly wire?: WireName;
    readonly clock?: Clock;
    /** Of the agent, which is given with its model and name. */
    readonly fields?: (agent: AgentDefinition) => Partial<AgentDefinition>;
  } = {},
): Promise<WholeBench> {
  const { start, provider, name } = WIRES[wire];
  const server = await start({ otherwise: "Done." });
  const home = await mkdtemp(join(tmpdir(), "perch-whole-"));
  const folder = join(home, "chat");
  await mkdir(folder);
  const plain = definition({ model: { provider, name, baseUrl: server.url, apiKey: "k" } });
  const agent = { ...plain, ...fields(plain) };
  const logged: LoggedLine[] = [];
  const log = memoryLog(logged);
  const blobs = new FileBlobs(join(home, "blobs"));
  const hold = await holdChat(database);
  const saver = (): ThreadSaver => new ThreadSaver({ store: threadStore(database), blobs, mediaTurns: 2 });
  const houses: AgentHouse[] = [];
  const build = (): AgentHouse => {
    const house = createAgentRunner({ saver: async () => saver(), blobs, clock, log });
    houses.push(house);
    return house;
  };
  let house = build();
  onTestFinished(async () => {
    for (const each of houses) await each.close();
    await server.close();
    await rm(home, { recursive: true, force: true });
  });
  const closing = new AbortController().signal;
  const turnOf = (id: string, said: string | readonly ContentBlock[]): AgentTurn => ({
    ...turn(agent, id, said),
    hold,
    folder,
    effects: turnEffects(
      database,
      { hold, thread: "7/helper/1", message: id, again: true },
      { clock, log, closing },
    ),
  });
  const run: WholeBench["run"] = async (id, said, more = {}, signal = new AbortController().signal) =>
    await house.run({ ...turnOf(id, said), ...more }, signal);
  const values = async (): Promise<Readonly<Record<string, unknown>>> =>
    (await saver().get({ configurable: { thread_id: "7/helper/1" } }))?.channel_values ?? {};
  return {
    server,
    agent,
    blobs,
    folder,
    logged,
    run,
    say: async (id, said) => (await run(id, said)).markdown,
    compact: async (id) => await house.compact(turnOf(id, ""), new AbortController().signal),
    restart: () => void (house = build()),
    messages: async () => ((await values())["messages"] ?? []) as readonly BaseMessage[], // the graph's channel
    values,
  };
}
