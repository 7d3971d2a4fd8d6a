import type { AgentDefinition, ModelChoice } from "../../src/core/agent.ts";
import { startAnthropic } from "../support/models/anthropic.ts";
import { startGoogle } from "../support/models/google.ts";
import { startOllama } from "../support/models/ollama.ts";
import { startOpenAi } from "../support/models/openai.ts";
import { startResponses } from "../support/models/responses.ts";
import type { Json, ModelServer, ModelServerOptions } from "../support/models/server.ts";
import type { Clock } from "../../src/core/clock.ts";
import { bench, type Bench, definition } from "./set-up.ts";

type Wire = {
  readonly start: (options?: ModelServerOptions) => Promise<ModelServer>;
  readonly provider: string;
  /** A name that our table knows nothing special of. */
  readonly name: string;
  /** Where the newest message's parts stand in a request. */
  readonly parts: (body: Json) => unknown;
};

const last = (list: unknown): Json => (list as readonly Json[]).at(-1) ?? {}; // of a protocol's list of messages

/** The five ways in which models are spoken to. */
export const WIRES = {
  openai: {
    start: startOpenAi,
    provider: "openai",
    name: "local",
    parts: ({ messages }) => last(messages)["content"],
  },
  // langchain speaks Responses for models of these names.
  responses: {
    start: startResponses,
    provider: "openai",
    name: "local-codex",
    parts: ({ input }) => last(input)["content"],
  },
  anthropic: {
    start: startAnthropic,
    provider: "anthropic",
    name: "local",
    parts: ({ messages }) => last(messages)["content"],
  },
  google: {
    start: startGoogle,
    provider: "google-genai",
    name: "local",
    parts: ({ contents }) => last(contents)["parts"],
  },
  ollama: { start: startOllama, provider: "ollama", name: "local", parts: ({ messages }) => messages },
} as const satisfies Record<string, Wire>;

export type WireName = keyof typeof WIRES;

const servers: ModelServer[] = [];

export async function closeServers(): Promise<void> {
  for (const server of servers.splice(0)) await server.close();
}

export type Served = Bench & {
  readonly server: ModelServer;
  readonly agent: AgentDefinition;
  /** The parts of the newest message of a request, the newest request by default. */
  readonly sent: (request?: number) => unknown;
  /** The same in one string. */
  readonly sentText: (request?: number) => string;
};

/** An agent with a model behind a local server of this protocol. */
export async function served(
  wire: WireName,
  fields: Partial<AgentDefinition> = {},
  model: Partial<ModelChoice> = {},
  clock?: Clock,
): Promise<Served> {
  const { start, provider, name, parts }: Wire = WIRES[wire];
  const server = await start({ otherwise: "seen" });
  servers.push(server);
  const choice = { provider, name, baseUrl: server.url, apiKey: "k", ...model };
  const sent = (request = -1): unknown => parts(server.requests.at(request)?.body ?? {});
  return {
    ...bench(clock),
    server,
    agent: definition({ prompt: "", model: choice, ...fields }),
    sent,
    sentText: (request) => JSON.stringify(sent(request)),
  };
}
