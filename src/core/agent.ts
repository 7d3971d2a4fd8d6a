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
  /** Who writes down what is said in voice notes and videos; without one the model hears them itself, if it can. */
  readonly transcriber?: Transcriber;
  /** Whether the agent may read what people sent, and write files, in the folder of its chat. */
  readonly files: boolean;
  /** Whether the agent may ask with buttons below its answer. */
  readonly choices?: boolean;
  /** What the operator knows of the model better than our table. */
  readonly senses?: Partial<Senses>;
  readonly limits: AgentLimits;
};

/** What a model takes as it is. */
export type Senses = { readonly images: boolean; readonly pdf: boolean; readonly audio: boolean };

export type Transcriber =
  /** Any server with OpenAI's `/audio/transcriptions`; `baseUrl` ends before that. */
  | {
      readonly use: "openai";
      readonly model: string;
      readonly baseUrl: string;
      readonly apiKey?: string;
      /** ISO 639-1, where it is always the same. */
      readonly language?: string;
    }
  /** A program of this machine, run without a shell; "{file}" among its arguments stands for the sound. */
  | { readonly use: "command"; readonly command: readonly [string, ...string[]] };

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
  /** Absolute path of the chat's folder, for `uploads`, `workspace` and `outputs`; made when something is put there. */
  readonly folder: string;
  /** Called with the whole assistant text so far, never with reasoning or tool output. */
  readonly onText?: (text: string) => void;
  /** What was corrected since the turn began, for the agent's next step; each is given once. Graphs are not asked for it. */
  readonly corrections?: () => readonly CorrectionWords[];
};

/** `text` is framed as it may be shown; `id` names it in the thread and is stable over restarts. */
export type CorrectionWords = { readonly id: string; readonly text: string };

export type AgentAnswer = {
  /** Markdown; media as `![alt](path)` under the chat's outputs or the agent's assets. Never empty. */
  readonly markdown: string;
  /** The answer stood in the thread already; no model was asked. */
  readonly replayed: boolean;
  /** Names of media that the provider refused and that were answered without; told to the person once. */
  readonly refused: readonly string[];
  /** Ids of the corrections that this answer was given with: they stand in the thread. */
  readonly corrected?: readonly string[];
  /** What may be answered by a press of a button, if the agent has offered that: at least one. */
  readonly choices?: readonly string[];
};

/** The port that `turns` calls and `src/agent` implements. */
export type AgentRunner = {
  /** Begins to load what a turn of this agent takes, so that a message's window is used for it. Never throws. */
  prepare(agent: AgentDefinition): void;
  /** What this agent's model takes as it is. An agent that cannot be built takes nothing. Never rejects. */
  senses(agent: AgentDefinition): Promise<Senses>;
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
