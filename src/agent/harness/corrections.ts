import { randomUUID } from "node:crypto";
import { AIMessage, type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { correctionMessage } from "../messages.ts";
import type { TurnConfig } from "../turn-config.ts";

/** What was corrected since the model was last asked, as it stands in the request and then in the thread. */
export function correctionsFor(turn: TurnConfig | undefined): readonly BaseMessage[] {
  return (turn?.corrections?.() ?? []).map(correctionMessage);
}

/**
 * Puts corrections before the answer that was given with them. LangChain adds the answer itself, at the end, so that is
 * taken out and comes again behind them: a tool's result must follow its call, and the next turn reads what was said last.
 */
export function beforeAnswer(corrections: readonly BaseMessage[], answer: AIMessage): readonly BaseMessage[] {
  if (corrections.length === 0) return [];
  answer.id ??= randomUUID();
  return [new RemoveMessage({ id: answer.id }), ...corrections, again(answer)];
}

/** Under another id: a message that is put in again under its own takes its old place. */
function again(answer: AIMessage): AIMessage {
  const { name, content, tool_calls: calls, invalid_tool_calls: invalid, usage_metadata: usage } = answer;
  return new AIMessage({
    id: randomUUID(),
    ...(name === undefined ? {} : { name }),
    content,
    ...(calls === undefined ? {} : { tool_calls: calls }),
    ...(invalid === undefined ? {} : { invalid_tool_calls: invalid }),
    ...(usage === undefined ? {} : { usage_metadata: usage }),
    additional_kwargs: answer.additional_kwargs,
    response_metadata: answer.response_metadata,
  });
}
