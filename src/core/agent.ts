import type { ApprovalDesk, ApprovalRules, ApprovedCall } from "./approvals.ts";
import type { TaskDesk } from "./background.ts";
import type { Allowance, Budget } from "./budget.ts";
import type { BlobRef, ContentBlock } from "./blocks.ts";
import type { EffectLog } from "./effects.ts";
import type { Hold, ThreadId } from "./identity.ts";
import type { Fact, FactDraft, MemorySignal } from "./memory.ts";
import type { ScheduleDesk, ScheduleLimits } from "./schedules.ts";
import type { Language } from "./sentences.ts";
import type { ModelUse, Price, WindowUse } from "./usage.ts";

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
  /** Asked in this order where the model does not answer. */
  readonly fallbacks?: readonly ModelChoice[];
  readonly price?: Price;
  readonly budget?: Budget;
  /** Absolute paths of folders with a skill in each of their folders: `<folder>/<skill>/SKILL.md`. A later one of a name wins. */
  readonly skills?: readonly string[];
  readonly memory?: MemorySettings;
  readonly subagents?: Subagents;
  /** What others are told of it as a subagent; "" where the operator says nothing. */
  readonly about?: string;
  /** Whether it may hand work to subagents without waiting for them, and how often one that fails is tried again. */
  readonly background?: { readonly retries: number; readonly retrySeconds: number };
  /** Whether it may make schedules in its chat, and how many. */
  readonly schedules?: ScheduleLimits;
  readonly mcp?: readonly McpServer[];
  /** Whether it may run commands in the folder of its chat, in a sandbox. */
  readonly shell?: boolean;
  /** Absolute path of a module that is asked about each call of a tool. */
  readonly guard?: string;
  /** Which of its calls wait for somebody's yes. */
  readonly approve?: ApprovalRules;
  /** Whether it keeps a list of what is to be done. */
  readonly todos?: boolean;
  readonly rubric?: Rubric;
  readonly limits: AgentLimits;
};

/** Whom an agent may hand work to, and how much of it. */
export type Subagents = {
  readonly agents: readonly AgentDefinition[];
  /** That run at once for one message of the model. */
  readonly atOnce: number;
  /** In one turn in all. */
  readonly mostPerTurn: number;
  /** One that takes longer is ended with a sentence to the agent. */
  readonly seconds: number;
};

export type MemorySettings = {
  /** Absolute paths of texts that the agent is to know, such as AGENTS.md; read again when they change. */
  readonly files: readonly string[];
  /** Whether facts are distilled from what people say. */
  readonly facts: boolean;
  /** So long nobody must have spoken before what was said is gone through. */
  readonly quietSeconds: number;
  /** But not longer than this after the first of it. */
  readonly mostSeconds: number;
  /** Of a person with an agent, or of a group. */
  readonly mostFacts: number;
};

/** A server of tools that speaks the Model Context Protocol. */
export type McpServer = { readonly name: string; readonly timeoutSeconds: number } & (
  | {
      readonly use: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    }
  | { readonly use: "http"; readonly url: string; readonly headers: Readonly<Record<string, string>> }
);

/** By what an answer is graded before it is given. */
export type Rubric = {
  readonly criteria: string;
  /** At most so many answers are sent back. */
  readonly rounds: number;
  /** Who grades; the agent's own model without one. */
  readonly model?: ModelChoice;
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
  /** At most this many messages are sent to the model as they are; what is more is summed up. */
  readonly messages: number;
  /** At most this many characters of text of them; of documents as well. */
  readonly characters: number;
  /** Media of the last so many turns are shown to the model; older ones become words. */
  readonly mediaTurns: number;
  /** What the model takes at most, where the operator knows it better than our table. */
  readonly contextTokens?: number;
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
  /** Of how many messages of people it is made; 1 without it. Those that an interrupted turn is begun anew with count as well. */
  readonly messages?: number;
  /** ISO 8601. */
  readonly sentAt: string;
  /** Absolute path of the chat's folder, for `uploads`, `workspace` and `outputs`; made when something is put there. */
  readonly folder: string;
  /** Called with the whole assistant text so far, never with reasoning or tool output. */
  readonly onText?: (text: string) => void;
  /** What was corrected since the turn began, for the agent's next step; each is given once. Graphs are not asked for it. */
  readonly corrections?: () => readonly CorrectionWords[];
  /**
   * What people have said since the turn began, for the agent's next step, in order; each is given once. Graphs are not
   * asked for it. @throws GatewayError "store.hold_lost".
   */
  readonly steered?: () => Promise<readonly Steered[]>;
  /** Where and with whom it is spoken. */
  readonly local?: LocalFacts;
  /** What is remembered, framed: shown before the newest message, and never part of the thread. */
  readonly recalled?: string;
  /** In which the sentences are that Perch itself says. */
  readonly language?: Language;
  /** Epoch ms: what takes longer is not begun. */
  readonly endsAt?: number;
  /** Told of each call of a model, and of each of a tool, when it has ended; where somebody follows the way of messages. */
  readonly onStep?: (step: Step) => void;
  /** Told of each call of a model once, also where the turn fails. */
  readonly onUse?: (use: ModelUse) => void;
  /** Asked before each request to a model; without it nothing bounds them. */
  readonly allowance?: Allowance;
  readonly effects?: EffectLog;
  /** Where calls are put off that wait for somebody's yes; absent where nobody could be asked. */
  readonly approvals?: ApprovalDesk;
  /** A call that somebody has said yes to: it is made before the model is asked. */
  readonly approved?: ApprovedCall;
  /** Of what a graph waits to be told: the ids that this turn's person may answer; absent where it is all. */
  readonly answers?: readonly string[];
  readonly tasks?: TaskDesk;
  readonly schedules?: ScheduleDesk;
  readonly look?: Look;
};

/** One call of a model or a tool. `name` is "openai:gpt-5", or the tool's. Times are epoch ms. */
export type Step = {
  readonly kind: "model" | "tool";
  readonly name: string;
  readonly from: number;
  readonly until: number;
  readonly failed: boolean;
};

/** Names are people's own and untrusted. */
export type LocalFacts = {
  /** "telegram". */
  readonly kind: string;
  readonly chat: "private" | "group";
  /** Who speaks now; in a group each message says so by itself. */
  readonly people: readonly string[];
  /** IANA, such as "Europe/Berlin". */
  readonly timeZone: string;
  /** Epoch ms. */
  readonly now: number;
};

/**
 * A file of the chat's folder as blocks that a model can be shown: pictures, pages, transcripts, frames; `from` pages, or
 * seconds, are passed over, and at most `count` are shown; both are left unheeded where a file has neither. A file that
 * cannot be used gives one text block that says why. Never rejects but for its signal.
 */
export type Look = (
  /** "/uploads/report.pdf". */
  path: string,
  part: { readonly from?: number; readonly count?: number },
  signal?: AbortSignal,
) => Promise<readonly ContentBlock[]>;

/** `text` is framed as it may be shown; `id` names it in the thread and is stable over restarts. */
export type CorrectionWords = { readonly id: string; readonly text: string };

/** What was said while a turn ran, as `AgentTurn` has what it began with; `id` names it in the thread. */
export type Steered = {
  readonly id: string;
  readonly content: readonly ContentBlock[];
  readonly sentAt: string;
};

export type AgentAnswer = {
  /** Markdown; media as `![alt](path)` under the chat's outputs or the agent's assets. Never empty. */
  readonly markdown: string;
  /** The answer stood in the thread already; no model was asked. */
  readonly replayed: boolean;
  /** Names of media that the provider refused and that were answered without; told to the person once. */
  readonly refused: readonly string[];
  /** Ids of the corrections that this answer was given with: they stand in the thread. */
  readonly corrected?: readonly string[];
  /** Ids of what was said while it was being made and stands in the thread before it: it answers that as well. */
  readonly steered?: readonly string[];
  /** What may be answered by a press of a button, if the agent has offered that: at least one. */
  readonly choices?: readonly string[];
  /** What the graph has stopped at, by its id, where the answer is its question. */
  readonly asks?: string;
  /** What the graph had stopped at, by its id, where it has gone on with what this turn's person said. */
  readonly answered?: string;
  /** A few words for what the thread is about, from its first message; once it has one it stays. */
  readonly title?: string;
  readonly window?: WindowUse;
};

export type Compacted =
  | { readonly done: true; readonly before: WindowUse; readonly after: WindowUse }
  /** There is too little in the thread for it to be worth a summary; or it waits for an answer, which a summary would lose. */
  | { readonly done: false; readonly now: WindowUse; readonly waits?: true };

/** What is to be gone through for what should be remembered. */
export type Distilling = {
  readonly agent: AgentDefinition;
  readonly thread: ThreadId;
  /** Absolute path of the chat's folder. */
  readonly folder: string;
  /** The id of the last message that was gone through; "" for none. */
  readonly after: string;
  /** Ids of messages that somebody else has said in this thread; they are left out. */
  readonly others: readonly string[];
  /** Ids of messages that were edited or taken back since; one that ends in "/" also names what follows under it. */
  readonly unsaid: readonly string[];
  readonly known: readonly Fact[];
  readonly signals: readonly MemorySignal[];
  /** Whom the facts are about: the one person of a private chat, or a group. */
  readonly about: "person" | "group";
  readonly allowance?: Allowance;
};

export type Distilled = {
  /** Absent where the model says nothing that can be read, though it was asked twice. */
  readonly facts?: readonly FactDraft[];
  /** The id of the last message that was gone through. */
  readonly upTo: string;
  /** There is more behind that, which did not fit. */
  readonly more: boolean;
  readonly uses: readonly ModelUse[];
};

/** One message of a thread in words, for who reads it and is no model of that thread: without media, tools or paths. */
export type Talk = {
  readonly id: string;
  readonly by: "person" | "agent";
  readonly text: string;
  /** ISO 8601; "" where nobody has said when. */
  readonly at: string;
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

/** Other work that needs a model. `src/agent` implements it beside the runner. */
export type AgentDesk = AgentRunner & {
  /** Sums a thread up now. @throws as `run`. */
  compact(turn: AgentTurn, signal: AbortSignal): Promise<Compacted>;
  /** @throws GatewayError "model.*" where no model answers. */
  distil(work: Distilling, signal: AbortSignal): Promise<Distilled>;
  /** What was said in a thread, with what was summed up since; `folder` is its chat's. */
  talk(thread: Pick<Distilling, "agent" | "thread" | "folder">): Promise<readonly Talk[]>;
  /** Work without a thread: `prompt` is all that the agent is told. @throws as `run`. */
  work(task: AgentTask, signal: AbortSignal): Promise<string>;
};

/** The conversation for which work without a thread is done; nothing of it is known there. */
export type Behind = { readonly thread: ThreadId; readonly chat?: LocalFacts["chat"] };

/** A task in the background; its tools see the folder of its chat. */
export type AgentTask = Pick<AgentTurn, "folder" | "onUse" | "allowance" | "look" | "effects"> & {
  readonly agent: AgentDefinition;
  readonly behind?: Behind;
  readonly prompt: string;
  /** Names it in what is kept of it. */
  readonly id: string;
};

/** Content-addressed media: what is put under a reference is never changed. */
export type Blobs = {
  /** Durable when it resolves. Putting the same bytes twice is free. */
  put(bytes: Uint8Array): Promise<BlobRef>;
  /** @throws GatewayError "blob.missing". */
  read(ref: BlobRef): Promise<Uint8Array>;
};
