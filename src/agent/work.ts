import { setMaxListeners } from "node:events";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { GatewayError, gatewayErrorIn } from "../core/errors.ts";
import { unlessAborted } from "../core/unless-aborted.ts";
import type { BuiltAgent } from "./built.ts";
import { earlierSteps } from "./harness/effects.ts";
import { humanMessage } from "./messages.ts";
import { STEPS } from "./steps.ts";
import { type TurnConfig, withTurn } from "./turn-config.ts";
import { plainText } from "./words.ts";

/** A report stands in the asking agent's thread, or in a row of the store: long results belong into files. */
const MOST_CHARACTERS = 100_000;

/** What an agent is to do without a thread: it is told the prompt and nothing else. */
export type Work = {
  /** Who does it, for what is said of it. */
  readonly agent: string;
  readonly prompt: string;
  /** Names the prompt's message. */
  readonly id: string;
  /** ISO 8601. */
  readonly sentAt: string;
  /** What its tools and stages are told. */
  readonly turn: TurnConfig;
};

/**
 * Runs an agent on one message and gives the last text that it said.
 * @throws GatewayError, "model.failed" where it ends without a text; an abort rejects at once with the signal's reason.
 */
export async function work({ graph, files }: BuiltAgent, asked: Work, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const { agent, prompt, id, sentAt, turn } = asked;
  // LangGraph leaves a listener for each step; the signal lives as long as the work.
  setMaxListeners(0, signal);
  const human = humanMessage(id, { content: [{ type: "text", text: prompt }], sentAt }, files);
  const config = { configurable: withTurn({}, turn), signal, recursionLimit: STEPS };
  try {
    // What an earlier run of it has done outside, it goes on from.
    const past = earlierSteps([], (await turn.effects?.earlier()) ?? []);
    const ended = apart(() => graph.invoke({ ...past.fields, messages: [human, ...past.steps] }, config));
    const said = lastSaid((await unlessAborted(ended, signal)) as Ended, id); // the state of a graph, checked by loadGraph
    const notice = said?.additional_kwargs["perchNotice"];
    if (said !== undefined && (notice === undefined || notice === "cut"))
      return bounded(plainText(said.text).trim());
    // What stands there then is a sentence of ours for people.
    const why = typeof notice === "string" ? `without an answer (${notice})` : "without any text";
    throw new GatewayError("model.failed", `agent "${agent}" ended its work ${why}`);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const cause = gatewayErrorIn(error);
    if (cause) throw cause;
    throw new GatewayError("model.failed", `agent "${agent}" failed at its work`, { cause: error });
  }
}

type Ended = { readonly messages?: readonly BaseMessage[] } | undefined;

/**
 * LangChain finds the run that another one is begun in by itself, and would hand it on: its thread, its checkpoints, and
 * its stream, so that people were shown what a subagent says.
 */
function apart<Result>(run: () => Promise<Result>): Promise<Result> {
  return AsyncLocalStorageProviderSingleton.getInstance().run(undefined, run);
}

function lastSaid(ended: Ended, id: string): BaseMessage | undefined {
  const messages = ended?.messages ?? [];
  const asked = messages.findLastIndex((message) => message.id === id);
  return messages.findLast(
    (message, at) => at > asked && AIMessage.isInstance(message) && message.text.trim() !== "",
  );
}

function bounded(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text;
  return `${text.slice(0, MOST_CHARACTERS).toWellFormed()}\n[… cut here; ask for less, or for a file]`;
}
