import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BaseMessage } from "@langchain/core/messages";
import type { AgentAnswer, AgentDefinition } from "../../../src/core/agent.ts";
import type { ContentBlock } from "../../../src/core/blocks.ts";
import type { Summary } from "../../../src/agent/state.ts";
import type { Json, Reply } from "../../support/models/server.ts";
import { listOf } from "../../support/models/server.ts";
import { type Served, served, type WireName } from "../model-servers.ts";
import { turn } from "../set-up.ts";

/** A thread in a folder of its own, with a model that is asked for summaries now and then. */
export type Talking = Served & {
  readonly folder: string;
  /** Runs one turn on a thread; its number names it. */
  readonly tell: (n: number, said: string | readonly ContentBlock[], thread?: string) => Promise<AgentAnswer>;
  /** What the thread keeps. */
  readonly kept: (thread?: string) => Promise<{
    readonly messages: readonly BaseMessage[];
    readonly summary: Summary | undefined;
  }>;
  /** A history file as it is. */
  readonly history: (name?: string) => Promise<string>;
  readonly histories: () => Promise<readonly string[]>;
};

export async function talking(
  fields: Partial<AgentDefinition> = {},
  wire: WireName = "openai",
): Promise<Talking> {
  const parts = await served(wire, { prompt: "You help.", ...fields });
  const folder = await mkdtemp(join(tmpdir(), "perch-window-"));
  const { runner, saver, agent } = parts;
  return {
    ...parts,
    folder,
    tell: async (n, said, thread = "7/helper/1") =>
      await runner.run({ ...turn(agent, `intent-${n}`, said), thread, folder }, new AbortController().signal),
    async kept(thread = "7/helper/1") {
      const tuple = await saver.getTuple({ configurable: { thread_id: thread } });
      const { messages = [], _summary: summary } = (tuple?.checkpoint.channel_values ?? {}) as {
        messages?: readonly BaseMessage[];
        _summary?: Summary;
      }; // as STATE declares it
      return { messages, summary };
    },
    history: async (name = "helper-1.md") => await readFile(join(folder, "history", name), "utf8"),
    histories: async () => (await readdir(join(folder, "history"))).filter((name) => name.endsWith(".md")),
  };
}

/** Whether a request asks for a summary. */
export function asksForSummary(body: Json): boolean {
  return systemOf(body).startsWith("You keep the record of a conversation");
}

/** The one text of a request's first message. */
export function systemOf(body: Json): string {
  return String(listOf(body["messages"])[0]?.["content"]);
}

/** Says `summary` where it is asked for one, else `answer`. */
export function summing(summary: Reply, answer: Reply): Reply {
  return (request) => {
    const reply = asksForSummary(request.body) ? summary : answer;
    return typeof reply === "function" ? reply(request) : reply;
  };
}
