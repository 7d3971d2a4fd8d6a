import { ToolMessage } from "@langchain/core/messages";
import type { AgentDefinition } from "../../core/agent.ts";
import type { WishOutcome } from "../../core/approvals.ts";
import { hasCode } from "../../core/errors.ts";
import { isApproved, stepOf } from "./approved.ts";
import { keptWords, keyOf } from "./effects.ts";
import type { AroundTool, Calling } from "./stage.ts";
import { metadataOf, refused } from "./tools.ts";

/** What the agent reads in the place of a result until somebody has decided. */
const WAITS =
  "Not run yet: this call waits for somebody's approval, and they are asked with your answer. Do not call it again and do not " +
  "wait for it. End your answer by saying what waits. What has become of it you are told later by itself.";
const WHY_NOT: Readonly<Record<Exclude<WishOutcome, "asked">, string>> = {
  "asked before":
    "Not run: the very same call waits for approval already. Do not call it again; you are told later.",
  "too many":
    "Error: not run, because too many calls of this conversation wait for approval. Wait for the answers.",
  nobody: "Error: not run. It needs the approval of the owner, and nobody owns this connection.",
};
const UNASKED =
  "Error: not run. This call needs somebody's approval, and nobody can be asked for that from here. Report what you would have " +
  "called, so that it can be called in the conversation.";
const UNWRITTEN =
  "Error: the wish for approval could not be written down, so nothing was done. Try again later.";

/**
 * Puts calls off that wait for somebody's yes. Nothing is kept waiting in the run: the wish is committed, the call has a
 * result that says so, and the turn ends as others do. What comes of it is a turn of its own.
 */
export function approvalsAsked({ approve }: Pick<AgentDefinition, "approve">): AroundTool {
  const named = new Set(approve?.tools);
  return async (calling, next) => {
    const { call, turn } = calling;
    if (isApproved(calling) || !(calling.asks || isNamed(calling, named))) return await next(calling);
    const { approvals, effects } = turn ?? {};
    if (approvals === undefined || approve === undefined) return refused(call, UNASKED);
    const step = stepOf(calling);
    if (step === undefined) return refused(call, UNWRITTEN);
    const key = keyOf(step, call.id);
    // An attempt that was cut off has asked already.
    const stored = (await effects?.earlier())?.some((each) => each.call === key) === true;
    let outcome: WishOutcome = "asked";
    try {
      if (!stored)
        outcome = await approvals.ask({
          call: key,
          step: JSON.stringify(step.toDict()),
          result: keptWords(WAITS),
          tool: call.name,
          args: call.args,
          who: approve.who,
          minutes: approve.minutes,
        });
    } catch (error) {
      if (hasCode(error, "store.hold_lost")) throw error;
      return refused(call, UNWRITTEN);
    }
    return outcome === "asked"
      ? new ToolMessage({ content: WAITS, tool_call_id: call.id, name: call.name })
      : refused(call, WHY_NOT[outcome]);
  };
}

function isNamed({ call, tool }: Calling, named: ReadonlySet<string>): boolean {
  const { server } = metadataOf(tool);
  return named.has(call.name) || (typeof server === "string" && named.has(`${server}/*`));
}
