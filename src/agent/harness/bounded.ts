import type { AgentDefinition } from "../../core/agent.ts";
import { fixedTokens } from "../window/measure.ts";
import { messageTokens } from "../window/tokens.ts";
import { allowed } from "./allowance.ts";
import type { AroundModel, Asking } from "./stage.ts";

/**
 * Asks whether a request is still within what may be used, before each one: it stands inside of all that asks again. Requests
 * beside the turn's own are bounded by `askAside`.
 */
export function bounded(agent: Pick<AgentDefinition, "name" | "price">): AroundModel {
  return async (asking, next) => {
    const counting = { agent, choice: asking.choice, allowance: asking.turn?.allowance };
    return await allowed(
      counting,
      () => tokensOf(asking),
      () => next(asking),
      ({ answer }) => answer,
    );
  };
}

function tokensOf({ system, tools, messages }: Asking): number {
  return messages.reduce((sum, message) => sum + messageTokens(message), fixedTokens(system, tools));
}
