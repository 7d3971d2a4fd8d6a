import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { SystemMessage, createAgent } from "langchain";
import type { AgentAnswer, AgentDefinition, AgentTurn } from "../../src/core/agent.ts";
import type { ContentBlock } from "../../src/core/blocks.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import type { Hold } from "../../src/core/identity.ts";
import type { BuiltAgent } from "../../src/agent/built.ts";
import { harness } from "../../src/agent/harness/harness.ts";
import { loadModel } from "../../src/agent/models.ts";
import { runTurn } from "../../src/agent/run-turn.ts";
import { ThreadSaver } from "../../src/agent/threads.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import type { Database } from "../../src/store/database.ts";
import { type TurnEffects, turnEffects } from "../../src/store/effects.ts";
import { threadStore } from "../../src/store/threads.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import type { ModelServer } from "../support/models/server.ts";
import { WIRES, type WireName } from "./model-servers.ts";
import { definition, turn, holdChat } from "./set-up.ts";

export type ToolBench = {
  readonly server: ModelServer;
  readonly agent: AgentDefinition;
  readonly folder: string;
  readonly logged: readonly LoggedLine[];
  readonly hold: Hold;
  /** Runs a turn to its end; the second time of an id is another attempt at it. */
  readonly run: (
    id: string,
    said: string | readonly ContentBlock[],
    more?: Partial<AgentTurn>,
    signal?: AbortSignal,
  ) => Promise<AgentAnswer>;
  readonly say: (id: string, said: string) => Promise<string>;
  /** The same as after a restart: nothing is known but what was kept. */
  readonly restart: () => void;
  /** What is known of what a turn has done, as its next attempt finds it. */
  readonly effects: (id: string) => TurnEffects;
  /** What stands in the thread, a line for each message. */
  readonly thread: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
};

/** An agent of ours with tools of the test's own, a model behind a real server, and threads on a real database. */
export async function toolBench(options: {
  readonly database: Database;
  readonly tools: readonly StructuredToolInterface[];
  readonly wire?: WireName;
  readonly fields?: Partial<AgentDefinition>;
  readonly clock?: Clock;
}): Promise<ToolBench> {
  const { database, clock = systemClock } = options;
  const folder = await mkdtemp(join(tmpdir(), "perch-tools-"));
  const chat = join(folder, "chat");
  const { start, provider, name } = WIRES[options.wire ?? "openai"];
  const server = await start({ otherwise: "Done." });
  const agent = definition({
    prompt: "",
    model: { provider, name, baseUrl: server.url, apiKey: "k" },
    ...options.fields,
  });
  const logged: LoggedLine[] = [];
  const log = memoryLog(logged);
  const blobs = new FileBlobs(join(folder, "blobs"));
  const hold = await holdChat(database);
  const senses = { images: false, pdf: false, audio: false };
  const build = async (): Promise<BuiltAgent> => {
    const parts = { blobs, senses, files: agent.files, clock, log, tools: [...options.tools] };
    const built = createAgent({
      model: await loadModel(agent.model, blobs),
      systemPrompt: new SystemMessage("You help."),
      middleware: [harness(agent, parts)],
      tools: [...options.tools],
      checkpointer: new ThreadSaver({ store: threadStore(database), blobs, mediaTurns: 2 }),
    });
    return { graph: built.graph, senses, files: agent.files };
  };
  let built = build();
  const closing = new AbortController().signal;
  const effects = (message: string): TurnEffects =>
    turnEffects(database, { hold, thread: "7/helper/1", message, again: true }, { clock, log, closing });
  const run: ToolBench["run"] = async (id, said, more = {}, signal = new AbortController().signal) =>
    await runTurn(
      await built,
      blobs,
      { ...turn(agent, id, said), hold, folder: chat, effects: effects(id), ...more },
      signal,
    );
  return {
    server,
    agent,
    folder: chat,
    logged,
    hold,
    run,
    effects,
    say: async (id, said) => (await run(id, said)).markdown,
    restart: () => void (built = build()),
    async thread() {
      const { graph } = await built;
      const { values } = await graph.getState({ configurable: { thread_id: "7/helper/1" } });
      return ((values as { messages?: readonly BaseMessage[] }).messages ?? []).map(lineOf);
    },
    async close() {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function lineOf(message: BaseMessage): string {
  if (HumanMessage.isInstance(message)) return `person: ${message.text}`;
  if (!AIMessage.isInstance(message)) return `${message.name ?? message.type}: ${message.text}`;
  const calls = (message.tool_calls ?? []).map((call) => `${call.name}(${JSON.stringify(call.args)})`);
  return `model: ${[message.text, ...calls].filter((each) => each !== "").join(" ")}`;
}

/** All that the model was told by tools in a request, the newest by default. */
export function toolWords(server: ModelServer, at = -1): string {
  const { messages } = (server.requests.at(at)?.body ?? {}) as {
    readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
  };
  return (messages ?? [])
    .filter(({ role, content }) => role === "tool" || JSON.stringify(content).includes("tool_result"))
    .map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)))
    .join("\n");
}
