import { ToolMessage } from "@langchain/core/messages";
import type { AgentDefinition } from "../../core/agent.ts";
import type { AroundTool } from "./stage.ts";
import { roundsInTurn } from "./this-turn.ts";

/** Hands work to a subagent and waits for it. */
export const TASK = "task";

/**
 * Of the subagents that one message calls, and one turn, only so many run; the other calls are answered with a sentence.
 * Which ones is read from the thread, so that calls that run at once agree on it.
 */
export function subagentsLimited({ subagents }: Pick<AgentDefinition, "subagents">): AroundTool {
  if (subagents === undefined) return (calling, next) => next(calling);
  const { atOnce, mostPerTurn } = subagents;
  const roundsIn = roundsInTurn();
  return async (calling, next) => {
    const { call, state, turn } = calling;
    if (call.name !== TASK) return await next(calling);
    const rounds = roundsIn({ turn, state, messages: state.messages }).map((calls) =>
      calls.filter(({ name }) => name === TASK),
    );
    const place = rounds.at(-1)?.findIndex(({ id }) => id === call.id) ?? 0;
    let left = mostPerTurn;
    for (const tasks of rounds.slice(0, -1)) left -= Math.min(tasks.length, atOnce, left);
    if (place < Math.min(atOnce, left)) return await next(calling);
    const content =
      place < left
        ? `Error: not run, for at most ${atOnce} subagents work at once. Call it again when these are done, if it is still needed.`
        : `Error: not run, for at most ${mostPerTurn} subagents work in one turn. Go on without another.`;
    return new ToolMessage({ content, tool_call_id: call.id, name: call.name, status: "error" });
  };
}
