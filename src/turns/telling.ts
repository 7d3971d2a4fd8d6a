import type { Step } from "../core/agent.ts";
import type { TurnTold } from "../core/meter.ts";
import type { ClaimedTurn } from "../store/turns.ts";
import type { TurnParts } from "./parts.ts";
import type { Running } from "./running.ts";

/** Tells of a turn that has ended, in numbers and in spans, where anybody counts or follows. */
export function tellOf(
  { meter, tracer, clock }: Pick<TurnParts, "meter" | "tracer" | "clock">,
  turn: ClaimedTurn,
  { state, error }: Pick<TurnTold, "state" | "error">,
  spent?: Running["spent"],
): void {
  const { agent, channel, intent, receivedAt, startedAt } = turn;
  const now = clock.now();
  const waitedMs = Math.max(startedAt - receivedAt, 0);
  const tookMs = Math.max(now - startedAt, 0);
  meter?.turn({ agent, channel, state, error, waitedMs, tookMs });
  if (!tracer) return;
  const failed = error === "" ? {} : { failed: error };
  const attributes = {
    agent,
    channel,
    state,
    chat: turn.hold.chat,
    ...(spent ? { "tokens.input": spent.inputTokens, "tokens.output": spent.outputTokens } : {}),
  };
  tracer.span({ name: "wait", intent, from: receivedAt, until: startedAt });
  tracer.span({ name: "turn", intent, from: startedAt, until: now, attributes, ...failed });
  tracer.span({ name: "message", intent, from: receivedAt, until: now, attributes: { channel }, ...failed });
}

/** What tells of the steps of a turn; nothing where nobody follows. */
export function followed(
  { tracer }: Pick<TurnParts, "tracer">,
  { intent }: ClaimedTurn,
): { readonly onStep?: (step: Step) => void } {
  if (!tracer) return {};
  return {
    onStep: ({ kind, name, from, until, failed }) =>
      tracer.span({
        name: kind,
        intent,
        from,
        until,
        attributes: { [kind]: name },
        ...(failed ? { failed: "failed" } : {}),
      }),
  };
}
