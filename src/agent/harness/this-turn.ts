import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { cameMeanwhile } from "../messages.ts";
import type { Asking } from "./stage.ts";

type Thread = Pick<Asking, "messages" | "state">;

/** What stands in the thread since it was asked last: the model's own messages of this turn, results and corrections. */
export function sinceAsked(asking: Thread): readonly BaseMessage[] {
  const thread = threadOf(asking);
  return thread.slice(askedAt(thread) + 1);
}

/** The message that is being answered. */
export function askedLast(asking: Thread): BaseMessage | undefined {
  const thread = threadOf(asking);
  return thread[askedAt(thread)];
}

/** As it is kept, where that is known: what is sent may be cut at its beginning. */
function threadOf({ messages, state }: Thread): readonly BaseMessage[] {
  return state.messages ?? messages;
}

export function askedAt(thread: readonly BaseMessage[]): number {
  return thread.findLastIndex((message) => HumanMessage.isInstance(message) && !cameMeanwhile(message));
}

type Call = { readonly id?: string; readonly name: string; readonly args: Readonly<Record<string, unknown>> };

/** The calls of each message that has any, in order. */
export function callsIn(messages: readonly BaseMessage[]): readonly (readonly Call[])[] {
  return messages.flatMap((message) => {
    const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
    return calls.length === 0 ? [] : [calls];
  });
}

/**
 * Gives the calls of each message of a turn, in order, also of those that a summary has taken out of its thread meanwhile.
 */
export function roundsInTurn(): (
  asking: Pick<Asking, "turn" | "messages" | "state">,
) => readonly (readonly Call[])[] {
  const seen = perTurn(() => new Map<string, readonly Call[]>());
  return (asking) => {
    const rounds = seen(asking);
    for (const message of sinceAsked(asking)) {
      const [calls] = callsIn([message]);
      if (calls) rounds.set(message.id ?? `${rounds.size}`, calls);
    }
    return [...rounds.values()];
  };
}

/**
 * What a stage knows of a turn beside its thread: how often it has sent an answer back, which nothing keeps. It goes with
 * the turn. A subagent's run shares the turn of who called it, so it is told apart by what it was asked.
 */
export function perTurn<Value>(
  initial: () => Value,
): (asking: Pick<Asking, "turn" | "messages" | "state">) => Value {
  const known = new WeakMap<object, Map<string, Value>>();
  return (asking) => {
    const { turn } = asking;
    if (turn === undefined) return initial();
    const ofTurn = known.get(turn) ?? new Map<string, Value>();
    known.set(turn, ofTurn);
    const asked = askedLast(asking)?.id ?? "";
    const value = ofTurn.get(asked) ?? initial();
    ofTurn.set(asked, value);
    return value;
  };
}
