import { onTestFinished } from "vitest";
import { setImmediate as nextLoop } from "node:timers/promises";
import type { AgentDefinition, MemorySettings } from "../../src/core/agent.ts";
import type { FactOwner } from "../../src/core/memory.ts";
import { factsOf } from "../../src/store/memory-facts.ts";
import type { MessageEvent } from "../../src/core/events.ts";
import { realAgents } from "../support/agents.ts";
import { type ManualClock, manualClock } from "../support/clock.ts";
import { AGENT, type TestGateway, testGateway, type TestGatewayOptions } from "../support/gateway.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { Json, ModelRequest, ModelServer, Reply } from "../support/models/server.ts";

/** What a model is asked to go through begins so. */
const MEMORY = "You keep an assistant's memory";

export const NO_FACTS = '{"facts":[]}';

/** What a distilling model says of facts; each from the first message unless told otherwise. */
export function facts(...noted: readonly (string | Json)[]): string {
  return JSON.stringify({
    facts: noted.map((one) => (typeof one === "string" ? { content: one, confidence: 0.9, saidAt: 1 } : one)),
  });
}

export type Remembering = TestGateway & {
  readonly clock: ManualClock;
  readonly server: ModelServer;
  readonly agent: AgentDefinition;
  /** What was asked for memory, in order: instructions and conversation in one text each. */
  readonly distilled: () => readonly string[];
  /** What the model says when it next goes through a conversation; nothing to remember by default. */
  note(...replies: readonly Reply[]): void;
  /** Says something in private, or where told, and waits for the answer. */
  say(person: string, text: string, extra?: Partial<MessageEvent>): Promise<void>;
  /** Waits, however long real I/O takes, until it holds. */
  until(holds: () => boolean | Promise<boolean>): Promise<void>;
  /** Moves on and waits until so many conversations in all were gone through, or failed for good. */
  wait(ms: number, runs: number): Promise<void>;
  /** Log lines of memory: what was gone through. */
  readonly runs: () => number;
  remembered(person?: string, agent?: string): Promise<readonly string[]>;
  owner(person?: string): FactOwner;
};

export const MEMORY_SETTINGS: MemorySettings = {
  files: [],
  facts: true,
  quietSeconds: 30,
  mostSeconds: 300,
  mostFacts: 100,
};

/** The same as `remembering`, closed at the end of the test. */
export async function setUp(options: Parameters<typeof remembering>[0] = {}): Promise<Remembering> {
  const made = await remembering(options);
  onTestFinished(() => made.close());
  return made;
}

/** A gateway whose agent remembers, with a real model behind a local server. What it opens is closed by `close`. */
export async function remembering(
  options: TestGatewayOptions & {
    readonly memory?: Partial<MemorySettings>;
    /** What else the agent is. */
    readonly agent?: Partial<AgentDefinition>;
    readonly server?: ModelServer;
    readonly manual?: ManualClock;
    readonly answered?: (request: ModelRequest) => string;
  } = {},
): Promise<Remembering> {
  const clock = options.manual ?? manualClock();
  const notes: Reply[] = [];
  const isMemory = (request: ModelRequest): boolean => JSON.stringify(request.body).includes(MEMORY);
  const server =
    options.server ??
    (await startOpenAi({
      clock,
      otherwise: (request) => {
        if (!isMemory(request)) return options.answered?.(request) ?? "ok";
        const said = notes.shift() ?? NO_FACTS;
        return typeof said === "function" ? said(request) : said;
      },
    }));
  const agent: AgentDefinition = {
    ...AGENT,
    model: { provider: "openai", name: "local", baseUrl: server.url, apiKey: "k" },
    memory: { ...MEMORY_SETTINGS, ...options.memory },
    ...options.agent,
  };
  const gateway = await testGateway({
    agents: [agent],
    runner: realAgents({ clock }),
    ...options,
    clock,
  });
  const { platform, database, logged } = gateway;
  const owner = (person = "ada"): FactOwner => ({
    scope: "person",
    channel: "toy",
    subject: person,
    agent: agent.name,
  });
  const until: Remembering["until"] = async (holds) => {
    for (let round = 0; round < 500_000; round += 1) {
      if (await holds()) return;
      await nextLoop();
    }
    throw new Error("it never came to be");
  };
  const runs = (): number =>
    logged.filter(({ sentence }) => /for memory|could be remembered/.test(sentence)).length;
  return {
    ...gateway,
    clock,
    server,
    agent,
    distilled: () => server.requests.filter(isMemory).map(({ body }) => JSON.stringify(body)),
    note: (...replies) => void notes.push(...replies),
    async say(person, text, extra = {}) {
      const chat = extra.place?.chat ?? person;
      const before = platform.textsIn(chat).length;
      const place = { chat, kind: "private" } as const;
      await platform.say(chat, text, { place, from: { id: person, name: person }, whole: true, ...extra });
      await platform.until(() => platform.textsIn(chat).length > before);
      // The answer was committed before it was sent; what follows a turn has begun by then.
      await clock.advance(0);
    },
    until,
    async wait(ms, wanted) {
      await clock.advance(ms);
      await until(() => runs() >= wanted);
      await clock.advance(0);
    },
    runs,
    async remembered(person, name) {
      const of = { ...owner(person), ...(name === undefined ? {} : { agent: name }) };
      return (await factsOf(database.db, of)).map(({ content }) => content);
    },
    owner,
    async close() {
      await gateway.close();
      if (!options.server) await server.close();
    },
  };
}
