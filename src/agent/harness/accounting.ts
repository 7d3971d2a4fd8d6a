import type { AgentDefinition } from "../../core/agent.ts";
import type { AroundModel } from "./stage.ts";
import { useOf } from "./use.ts";

/**
 * Tells the turn of each answer of the model once, whatever becomes of it further out. It stands inside of what asks
 * again: an answer that is sent back was paid for too. Calls beside the turn's own are counted by `askAside`.
 */
export function accounted(agent: Pick<AgentDefinition, "name" | "price">): AroundModel {
  return async (asking, next) => {
    const said = await next(asking);
    asking.turn?.onUse?.(useOf(said.answer, { agent, choice: asking.choice }));
    return said;
  };
}
