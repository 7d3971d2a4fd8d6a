import { setMaxListeners } from "node:events";
import type { BaseMessage } from "@langchain/core/messages";
import type { AgentTurn, Blobs, Compacted } from "../core/agent.ts";
import { gatewayErrorIn } from "../core/errors.ts";
import type { WindowUse } from "../core/usage.ts";
import type { BuiltAgent } from "./built.ts";
import { modelFailure } from "./harness/errors.ts";
import { length } from "./harness/window.ts";
import { pendingIn } from "./interrupts.ts";
import type { Summary } from "./state.ts";
import { withTurn } from "./turn-config.ts";
import { guessedUse, measureOf, type Measuring, windowUse } from "./window/measure.ts";
import { FULL, splitForSummary } from "./window/plan.ts";
import { sumUp, upToLast } from "./window/sum-up.ts";
import { measured } from "./window/tokens.ts";

/** Of what makes a thread be summed up by itself: less is not worth it. */
const HALF = 0.5;

/** See `AgentDesk.compact`. An operator's graph keeps what it likes, and is left alone. */
export async function compactThread(
  { graph, room }: BuiltAgent,
  blobs: Blobs,
  turn: AgentTurn,
  signal: AbortSignal,
): Promise<Compacted> {
  const { agent, thread, folder, messageId: id } = turn;
  const config = { configurable: withTurn({ thread_id: thread, hold: turn.hold }, turn), signal };
  setMaxListeners(0, signal);
  try {
    const snapshot = await graph.getState(config);
    const { messages = [], _summary: earlier } = (snapshot.values ?? {}) as Kept; // as STATE declares it
    if (room === undefined)
      return { done: false, now: { messages: messages.length, tokens: 0, estimated: true, window: 0 } };
    const by: Measuring = { agent, choice: agent.model, window: room.window };
    // It was done already, and its process ended before that was told.
    if (earlier?.asked?.id === id)
      return { done: true, before: earlier.asked.before, after: earlier.asked.after };
    const before = earlier?.asked?.count === messages.length ? earlier.asked.after : windowUse(messages, by);
    // LangGraph forgets what it waits for when a thread is changed from outside.
    if (pendingIn(snapshot).length > 0) return { done: false, now: before, waits: true };
    const measure = measureOf(messages, by);
    const { kept, dropped } = splitForSummary(messages, measure);
    if (!isHalfFull(messages, before, agent.limits) || dropped.length === 0)
      return { done: false, now: before };
    const { summary, gone } = await sumUp(
      { dropped, upTo: upToLast(messages, dropped), earlier, history: { folder, thread, blobs } },
      {
        model: room.model,
        window: room.window,
        signal,
        counting: { agent, choice: agent.model, onUse: turn.onUse, allowance: turn.allowance },
      },
    );
    signal.throwIfAborted();
    const after = guessedUse(kept, summary, by, measured(messages, agent.model));
    const asked = { id, count: kept.length, before, after };
    await graph.updateState(config, { messages: gone, _summary: { ...summary, asked } });
    return { done: true, before, after };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw gatewayErrorIn(error) ?? modelFailure(error, agent.model);
  }
}

type Kept = { readonly messages?: readonly BaseMessage[]; readonly _summary?: Summary };

function isHalfFull(
  messages: readonly BaseMessage[],
  use: WindowUse,
  limits: AgentTurn["agent"]["limits"],
): boolean {
  const characters = messages.reduce((sum, message) => sum + length(message), 0);
  return (
    use.tokens >= use.window * FULL * HALF ||
    messages.length >= limits.messages * HALF ||
    characters >= limits.characters * HALF
  );
}
