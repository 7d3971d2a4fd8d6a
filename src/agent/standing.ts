import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { AgentAnswer, AgentTurn } from "../core/agent.ts";
import type { StoredEffect } from "../core/effects.ts";
import { answerSince, answerTo, lastOfPerson, refusedOf, type Spoken, toldAfter } from "./answers.ts";
import type { ThreadGraph } from "./graph.ts";
import { answeredBefore, type Interrupt, pendingIn, questionOf } from "./interrupts.ts";
import { isQuestion, perchContent } from "./messages.ts";
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
  /** Of how many messages the turn was made then. */
  readonly begunWith: number;
  /** What an earlier attempt has done outside. */
  readonly acted: readonly StoredEffect[];
  readonly loose: Loose;
};

/**
 * What calls gave beside one that was ended. It is in the thread until that is run anew, which begins before them: then it
 * has to be told again.
 */
export type Loose = {
  readonly results: readonly ToolMessage[];
  readonly fields: Readonly<Record<string, unknown>>;
};

export async function standingOf(graph: ThreadGraph, config: object, turn: AgentTurn): Promise<Standing> {
  const snapshot = await graph.getState(glancing(config));
  const { answered, messages, acted } = answeredBefore((await turn.effects?.earlier()) ?? []);
  return {
    messages: messagesOf(snapshot.values),
    // As STATE declares it; an operator's graph has none of its fields.
    state: snapshot.values ?? {},
    pending: pendingIn(snapshot),
    begun: answered,
    begunWith: messages,
    acted,
    loose: await looseIn(graph, config, snapshot),
  };
}

async function looseIn(
  graph: ThreadGraph,
  config: object,
  { values, tasks, next, config: at }: Awaited<ReturnType<ThreadGraph["getState"]>>,
): Promise<Loose> {
  const [all, left] = [tasks, next].map((list) => (Array.isArray(list) ? list.length : 0));
  if (all === left) return { results: [], fields: {} };
  // With its id a checkpoint is given as it was written.
  const { values: before } = await graph.getState(glancing({ ...config, ...at }));
  const there = new Set(messagesOf(before).map(({ id }) => id));
  const results = messagesOf(values).filter((message) => ToolMessage.isInstance(message));
  const was = (before ?? {}) as Readonly<Record<string, unknown>>; // the state of a graph
  const fields = Object.entries(values ?? {}).filter(
    ([name, value]) => name !== "messages" && JSON.stringify(value) !== JSON.stringify(was[name]),
  );
  return { results: results.filter(({ id }) => !there.has(id)), fields: Object.fromEntries(fields) };
}

/** What an earlier attempt has come to, whose end was not committed; undefined where the agent is to be asked. */
export function answeredAlready(
  { messages, pending, begun, begunWith }: Standing,
  turn: AgentTurn,
): (Spoken & Pick<AgentAnswer, "replayed" | "refused" | "asks" | "answered">) | undefined {
  const earlier = enteredAs(turn.messageId, messages).at(-1);
  // It was interrupted after that, and is more by now.
  const held = earlier ? (perchContent(earlier)?.messages ?? 1) : begunWith;
  if (held < (turn.messages ?? 1)) return undefined;
  const id = earlier?.id;
  const answer = id === undefined ? undefined : answerTo(id, messages);
  const refused = [earlier, ...steeredIn(answer, messages)].flatMap(refusedOf);
  const replayed = { replayed: true, refused: [...new Set(refused)] };
  if (answer) return { ...answer, ...replayed };
  const [first] = pending;
  const question = first && questionOf(first, turn.language);
  // It has asked, and nobody has answered that.
  if (question && id !== undefined && id === lastOfPerson(messages)?.id)
    return { ...question, ...toldAfter(id, messages), ...replayed };
  if (begun === undefined || pending.some((each) => each.id === begun)) return undefined;
  const came = question ?? answerSince([], messages);
  return came && { ...came, ...replayed, answered: begun };
}

/**
 * The id under which a message enters. One that failed and was passed by later messages, or that was answered before it
 * became more, enters anew at the end, or the model would be asked to go on after its own last answer.
 */
export function idFor(messageId: string, messages: readonly BaseMessage[]): string {
  const earlier = enteredAs(messageId, messages);
  const last = earlier.at(-1)?.id;
  if (last === undefined) return messageId;
  const at = messages.findLastIndex(({ id }) => id === last);
  const passed = messages.some((message, index) => index > at && isQuestion(message));
  if (!passed && answerTo(last, messages) === undefined) return last;
  return earlier.length === 1 ? `${messageId}/again` : `${messageId}/again/${earlier.length}`;
}

/** What of a message stands in a thread, the oldest first. */
function enteredAs(messageId: string, messages: readonly BaseMessage[]): readonly BaseMessage[] {
  return messages.filter(({ id }) => id === messageId || id?.startsWith(`${messageId}/again`) === true);
}

/** What was said while this answer was made. */
export function steeredIn(
  answer: Pick<AgentAnswer, "steered"> | undefined,
  messages: readonly BaseMessage[],
): readonly BaseMessage[] {
  const ids = answer?.steered ?? [];
  return ids.length === 0 ? [] : messages.filter(({ id }) => id !== undefined && ids.includes(id));
}

export function messagesOf(values: unknown): readonly BaseMessage[] {
  const { messages } = (values ?? {}) as { messages?: unknown }; // the state of a graph, checked by loadGraph
  return Array.isArray(messages) ? (messages as readonly BaseMessage[]) : [];
}
