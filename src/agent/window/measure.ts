import type { BaseMessage } from "@langchain/core/messages";
import type { ClientTool, ServerTool } from "@langchain/core/tools";
import { convertToOpenAITool, isLangChainTool } from "@langchain/core/utils/function_calling";
import type { AgentDefinition, ModelChoice } from "../../core/agent.ts";
import type { WindowUse } from "../../core/usage.ts";
import type { Summary } from "../state.ts";
import type { Measure } from "./plan.ts";
import { summaryMessage } from "./summary.ts";
import { calibration, type Measured, measured, messagesTokens, messageTokens, textTokens } from "./tokens.ts";

export type Measuring = {
  readonly agent: Pick<AgentDefinition, "limits">;
  readonly choice: ModelChoice;
  /** What the model takes at once, in tokens. */
  readonly window: number;
};

/** How the messages of a thread are measured: by length, and by how far the provider's last count was from that. */
export function measureOf(
  messages: readonly BaseMessage[],
  { agent, choice, window }: Measuring,
): Measure & { readonly factor: number } {
  const factor = calibration(measured(messages, choice));
  const each = messagesTokens(messages, agent.limits.mediaTurns);
  const tokens = new Map(messages.map((message, at) => [message, each[at] ?? 0]));
  return {
    limits: agent.limits,
    window,
    factor,
    tokensOf: (message) => factor * (tokens.get(message) ?? messageTokens(message)),
  };
}

/** What the prompt and the tools take, as they stand in every request; not multiplied by anything. */
export function fixedTokens(system: BaseMessage, tools: readonly (ClientTool | ServerTool)[]): number {
  return tools.reduce((sum, tool) => sum + toolTokens(tool), messageTokens(system));
}

const toolSizes = new WeakMap<object, number>();

function toolTokens(tool: ClientTool | ServerTool): number {
  const known = toolSizes.get(tool);
  if (known !== undefined) return known;
  const told: unknown = isLangChainTool(tool) ? convertToOpenAITool(tool) : tool;
  const size = textTokens(JSON.stringify(told));
  toolSizes.set(tool, size);
  return size;
}

/** How full a thread is after a turn: as the provider has counted its last request and answer, else as we guess. */
export function windowUse(messages: readonly BaseMessage[], by: Measuring): WindowUse {
  const last = messages.at(-1);
  const known = last && measured([last], by.choice);
  const { window } = by;
  if (last === undefined || known === undefined) return guessedUse(messages, undefined, by);
  const count = messages.length;
  const { input, output } = known;
  return input > 0
    ? { messages: count, tokens: input + output, estimated: false, window }
    : { messages: count, tokens: known.tokens + messageTokens(last), estimated: true, window };
}

/** The same where nothing has been asked since the thread was changed: a guess by the prompt and the count of its last request. */
export function guessedUse(
  messages: readonly BaseMessage[],
  summary: Summary | undefined,
  { agent, choice, window }: Measuring,
  last: Measured | undefined = measured(messages, choice),
): WindowUse {
  const summed = summary === undefined ? 0 : messageTokens(summaryMessage(summary, true));
  const all = messagesTokens(messages, agent.limits.mediaTurns).reduce((sum, each) => sum + each, summed);
  const tokens = Math.round(calibration(last) * ((last?.fixed ?? 0) + all));
  return { messages: messages.length, tokens, estimated: true, window };
}
