import type { BlobRef, ContentBlock } from "./blocks.ts";
import type { Hold, ThreadId } from "./identity.ts";

/** An agent as the operator wrote it: `config/agents/<name>.md`, or a compiled graph of their own. */
export type AgentDefinition = {
  readonly name: string;
  /** The text below the front matter. */
  readonly prompt: string;
  readonly model: ModelChoice;
  /** Absolute path of a module whose default export is a compiled LangGraph graph with a `messages` channel. */
  readonly graph?: string;
  /** Absolute path of a folder that the agent may send files from, read only. */
  readonly assets?: string;
  readonly limits: AgentLimits;
};

export type AgentLimits = {
  /** A turn that takes longer is ended with one sentence to the chat. */
  readonly turnSeconds: number;
  /** At most this many of the newest messages are sent to the model. */
  readonly messages: number;
  /** At most this many characters of text of them. */
  readonly characters: number;
  /** Media of the last so many turns are shown to the model; older ones become words. */
  readonly mediaTurns: number;
};

export type ModelChoice = {
  /** "openai", "anthropic", "google-genai", "ollama", or "demo" which needs nothing. */
  readonly provider: string;
  readonly name: string;
  /** An OpenAI-compatible server, or a provider's other address. */
  readonly baseUrl?: string;
  readonly apiKey?: string;
};

/** One intent of one person, to be answered on one thread. */
export type AgentTurn = {
  readonly hold: Hold;
  readonly thread: ThreadId;
  readonly agent: AgentDefinition;
  /** Stable over restarts: a turn that is run again adds nothing twice. */
  readonly messageId: string;
  readonly content: readonly ContentBlock[];
  /** ISO 8601. */
  readonly sentAt: string;
  /** Called with the whole assistant text so far, never with reasoning or tool output. */
  readonly onText?: (text: string) => void;
};

export type AgentAnswer = {
  /** Markdown; media as `![alt](path)` under the chat's outputs or the agent's assets. Never empty. */
  readonly markdown: string;
  /** The answer stood in the thread already; no model was asked. */
  readonly replayed: boolean;
};

/** The port that `turns` calls and `src/agent` implements. */
export type AgentRunner = {
  /** Begins to load what a turn of this agent takes, so that a message's window is used for it. Never throws. */
  prepare(agent: AgentDefinition): void;
  /** @throws GatewayError "model.*", "agent.invalid" or "store.hold_lost"; an abort rejects with the signal's reason. */
  run(turn: AgentTurn, signal: AbortSignal): Promise<AgentAnswer>;
};

/** Content-addressed media: what is put under a reference is never changed. */
export type Blobs = {
  /** Durable when it resolves. Putting the same bytes twice is free. */
  put(bytes: Uint8Array): Promise<BlobRef>;
  /** @throws GatewayError "blob.missing". */
  read(ref: BlobRef): Promise<Uint8Array>;
};
