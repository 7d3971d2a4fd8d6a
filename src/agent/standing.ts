import type { BaseMessage } from "@langchain/core/messages";
import type { AgentAnswer, AgentTurn } from "../core/agent.ts";
import type { StoredEffect } from "../core/effects.ts";
import { answerSince, answerTo, lastOfPerson, refusedOf, type Spoken } from "./answers.ts";
import type { ThreadGraph } from "./graph.ts";
import { answeredBefore, type Interrupt, pendingIn, questionOf } from "./interrupts.ts";
import type { State } from "./state.ts";
import { glancing } from "./threads.ts";

/** What there is of a turn in its thread, and of what it has done outside, before it is run. */
export type Standing = {
  readonly messages: readonly BaseMessage[];
  readonly state: State;
  /** What the thread waits to be told, the oldest first. */
  readonly pending: readonly Interrupt[];
  /** The interrupt that an earlier attempt at this turn has begun to answer. */
  readonly begun: string | undefined;
  /** What an earlier attempt has done outside. */
  readonly acted: readonly StoredEffect[];
};

export async function standingOf(graph: ThreadGraph, config: object, turn: AgentTurn): Promise<Standing> {
  const snapshot = await graph.getState(glancing(config));
  const { answered, acted } = answeredBefore((await turn.effects?.earlier()) ?? []);
  return {
    messages: messagesOf(snapshot.values),
    // As STATE declares it; an operator's graph has none of its fields.
    state: snapshot.values ?? {},
    pending: pendingIn(snapshot),
    begun: answered,
    acted,
  };
}

/** What an earlier attempt has come to, whose end was not committed; undefined where the agent is to be asked. */
export function answeredAlready(
  { messages, pending, begun }: Standing,
  { messageId, language }: AgentTurn,
): (Spoken & Pick<AgentAnswer, "replayed" | "refused">) | undefined {
  const earlier = messages.findLast(({ id }) => id === messageId || id === anew(messageId));
  const replayed = { replayed: true, refused: refusedOf(earlier) };
  const answer = earlier?.id === undefined ? undefined : answerTo(earlier.id, messages);
  if (answer) return { ...answer, ...replayed };
  const [first] = pending;
  const question = first && questionOf(first.value, language);
  // It has asked, and nobody has answered that.
  if (question && earlier !== undefined && earlier === lastOfPerson(messages))
    return { ...question, ...replayed };
  if (begun === undefined || pending.some(({ id }) => id === begun)) return undefined;
  const came = question ?? answerSince([], messages);
  return came && { ...came, ...replayed };
}

/**
 * The id under which a message enters. One that failed and was passed by later messages enters anew at the end, or the
 * model would be asked to go on after its own last answer.
 */
export function idFor(messageId: string, messages: readonly BaseMessage[]): string {
  const stands = messages.some(({ id }) => id === messageId);
  return stands && lastOfPerson(messages)?.id !== messageId ? anew(messageId) : messageId;
}

function anew(messageId: string): string {
  return `${messageId}/again`;
}

export function messagesOf(values: unknown): readonly BaseMessage[] {
  const { messages } = (values ?? {}) as { messages?: unknown }; // the state of a graph, checked by loadGraph
  return Array.isArray(messages) ? (messages as readonly BaseMessage[]) : [];
}
