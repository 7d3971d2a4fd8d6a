import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import type { ClientTool, ServerTool } from "@langchain/core/tools";
import type { Command } from "@langchain/langgraph";
import type { Blobs, ModelChoice, Senses } from "../../core/agent.ts";
import type { Clock } from "../../core/clock.ts";
import type { Log } from "../../core/log.ts";
import type { State } from "../state.ts";
import type { Shelf } from "../tools/shelf.ts";
import type { TurnConfig } from "../turn-config.ts";
import type { Breakers } from "./breakers.ts";

/** What stages are made with, once for each agent. */
export type StageParts = {
  readonly blobs: Blobs;
  /** What the agent's own model takes. */
  readonly senses: Senses;
  /** Whether the agent has tools for the files of its chat. */
  readonly files: boolean;
  /** All that it has, deferred ones too. */
  readonly tools?: readonly (ClientTool | ServerTool)[];
  readonly clock: Clock;
  readonly log: Log;
  /** Shared by all agents of a process. */
  readonly breakers?: Breakers;
  /** Tools that are not shown from the start; absent where there are none. */
  readonly shelf?: Shelf;
  /** Names of servers of tools that failed to load. */
  readonly unavailable?: () => readonly string[];
};

/** One question to the model, on its way in. A stage changes it by handing another to the next stage. */
export type Asking = {
  /** What is to be sent, so far. The thread's own messages are never changed in place. */
  readonly messages: readonly BaseMessage[];
  /** What the thread keeps, as it was when the question arose; its messages are there as they stand in the thread. */
  readonly state: State & { readonly messages?: readonly BaseMessage[] };
  readonly system: SystemMessage;
  readonly tools: readonly (ClientTool | ServerTool)[];
  /** Whether the model is to speak now and call nothing. It is told of its tools all the same: its earlier calls name them. */
  readonly toolless?: boolean;
  readonly model: BaseChatModel;
  /** Which model that is. */
  readonly choice: ModelChoice;
  /** What its call is given beside, such as breakpoints of a provider's cache. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Absent outside of a turn: a graph that is run without one. */
  readonly turn: TurnConfig | undefined;
  readonly signal: AbortSignal | undefined;
};

/** What the model said, on its way out. */
export type Said = {
  readonly answer: AIMessage;
  /** What the thread keeps beside the answer: messages (one of an id that is there takes its place) and fields. */
  readonly update: Update;
};

export type Update = { readonly messages?: readonly BaseMessage[] } & Partial<State>;

/** A stage around the model's call. The first of a list is the outermost. */
export type AroundModel = (asking: Asking, next: (asking: Asking) => Promise<Said>) => Promise<Said>;

/** One call of a tool, on its way in. */
export type Calling = {
  readonly call: {
    readonly id: string;
    readonly name: string;
    readonly args: Readonly<Record<string, unknown>>;
  };
  /** Undefined where there is no tool of that name. */
  readonly tool: ClientTool | ServerTool | undefined;
  readonly state: State & { readonly messages: readonly BaseMessage[] };
  readonly turn: TurnConfig | undefined;
  readonly signal: AbortSignal | undefined;
  /** The guard wants somebody's yes to it first. */
  readonly asks?: true;
};

export type Called = ToolMessage | Command;

/** A stage around a tool's call. The first of a list is the outermost. */
export type AroundTool = (calling: Calling, next: (calling: Calling) => Promise<Called>) => Promise<Called>;

/** Puts two updates together: messages one after the other, fields of the second over those of the first. */
export function both(first: Update, second: Update): Update {
  const { messages: before = [], ...fields } = first;
  const { messages: after = [], ...others } = second;
  const messages = [...before, ...after];
  return { ...fields, ...others, ...(messages.length === 0 ? {} : { messages }) };
}

/** The stages as one, around `innermost`. */
export function composed<In, Out>(
  stages: readonly ((input: In, next: (input: In) => Promise<Out>) => Promise<Out>)[],
  innermost: (input: In) => Promise<Out>,
): (input: In) => Promise<Out> {
  return stages.reduceRight<(input: In) => Promise<Out>>(
    (next, stage) => (input) => stage(input, next),
    innermost,
  );
}
