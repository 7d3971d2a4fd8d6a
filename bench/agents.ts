import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { createDeepAgent } from "deepagents";
import { createAgent } from "langchain";
import { z } from "zod";
import type { BuiltAgent } from "../src/agent/built.ts";
import { harness } from "../src/agent/harness/harness.ts";
import { runTurn } from "../src/agent/run-turn.ts";
import { ThreadSaver } from "../src/agent/threads.ts";
import type { AgentDefinition, Senses } from "../src/core/agent.ts";
import { systemClock } from "../src/core/clock.ts";
import type { ChatId } from "../src/core/identity.ts";
import type { Log } from "../src/core/log.ts";
import { FileBlobs } from "../src/store/blobs.ts";
import { openSqlite } from "../src/store/sqlite.ts";
import { threadStore } from "../src/store/threads.ts";
import { QUESTION, ScriptedModel, TOOL } from "./scripted-model.ts";

/** One agent that is talked to in one chat. */
export type Contender = {
  readonly name: string;
  readonly model: ScriptedModel;
  /** One question with one tool call; `n` is one more each time. */
  turn(thread: string, n: number): Promise<void>;
  /** Files that it writes to. */
  readonly folder: string | undefined;
  close(): Promise<void>;
};

const ASKED = QUESTION.repeat(8);
const SENSES: Senses = { images: true, pdf: true, audio: false };
const NOBODY = { chat: 1 as ChatId, owner: "bench", epoch: 1 };

const QUIET: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => QUIET };

function lookUp() {
  return tool(() => "It is known that it is so.", {
    name: TOOL,
    description: "Looks something up.",
    schema: z.object({ about: z.string() }),
  });
}

/** An agent of somebody else's, with a saver of its own. */
function bare(
  name: string,
  model: ScriptedModel,
  agent: { invoke(input: object, config: object): Promise<unknown> },
  folder?: string,
): Contender {
  return {
    name,
    model,
    folder,
    async turn(thread, n) {
      await agent.invoke(
        { messages: [new HumanMessage({ id: `m${n}`, content: `${n}: ${ASKED}` })] },
        { configurable: { thread_id: thread }, recursionLimit: 200 },
      );
    },
    async close() {},
  };
}

export function bareInMemory(): Contender {
  const model = new ScriptedModel();
  const agent = createAgent({ model, tools: [lookUp()], checkpointer: new MemorySaver() });
  return bare("createAgent + MemorySaver", model, agent as never); // more is asked of its input than it needs
}

export function bareOnSqlite(): Contender {
  const model = new ScriptedModel();
  const { folder, checkpointer } = saverIn("perch-bench-bare-");
  const agent = createAgent({ model, tools: [lookUp()], checkpointer });
  return bare("createAgent + SqliteSaver", model, agent as never, folder); // as above
}

export function deepOnSqlite(): Contender {
  const model = new ScriptedModel();
  const { folder, checkpointer } = saverIn("perch-bench-deep-");
  const agent = createDeepAgent({ model, tools: [lookUp()], checkpointer });
  return bare("createDeepAgent + SqliteSaver", model, agent as never, folder); // as above
}

function saverIn(prefix: string): { readonly folder: string; readonly checkpointer: SqliteSaver } {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  return { folder, checkpointer: SqliteSaver.fromConnString(join(folder, "saver.db")) };
}

/** The whole harness, on the store. */
export async function perch(
  limits: Partial<AgentDefinition["limits"]> = {},
  folder = mkdtempSync(join(tmpdir(), "perch-bench-agent-")),
): Promise<Contender> {
  const model = new ScriptedModel();
  const definition: AgentDefinition = {
    name: "bench",
    prompt: "You help.",
    model: { provider: "openai", name: "scripted" },
    files: false,
    limits: { turnSeconds: 600, messages: 200, characters: 400_000, mediaTurns: 3, ...limits },
  };
  const database = await openSqlite(join(folder, "perch.db"));
  const blobs = new FileBlobs(join(folder, "blobs"));
  const checkpointer = new ThreadSaver({ store: threadStore(database), blobs, mediaTurns: 3 });
  const parts = { blobs, senses: SENSES, files: false, clock: systemClock, log: QUIET };
  const agent = createAgent({
    model,
    tools: [lookUp()],
    middleware: [harness(definition, parts)],
    checkpointer,
  });
  const built: BuiltAgent = { graph: agent.graph, senses: SENSES, files: false };
  return {
    name: "Perch",
    model,
    folder,
    async turn(thread, n) {
      const { hold: _hold, ...turn } = {
        hold: NOBODY,
        thread,
        agent: definition,
        messageId: `m${n}`,
        content: [{ type: "text", text: `${n}: ${ASKED}` }] as const,
        sentAt: "2026-11-30T12:00:00Z",
        folder: join(folder, "chats", "1"),
      };
      await runTurn(built, blobs, turn as never, new AbortController().signal); // no chat is held
    },
    close: async () => await database.close(),
  };
}
