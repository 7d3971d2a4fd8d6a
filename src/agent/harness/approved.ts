import { AIMessage } from "@langchain/core/messages";
import type { AroundModel, Calling } from "./stage.ts";

/**
 * Whether it is the call that somebody has said yes to: by the message that it stands in, which is the harness's own. A
 * model may name its calls as it likes.
 */
export function isApproved(calling: Pick<Calling, "call" | "turn" | "state">): boolean {
  const { approved } = calling.turn ?? {};
  return approved !== undefined && stepOf(calling)?.id === nameOf(approved.id);
}

/** The message that a call stands in: the last, for servers of models may count their calls anew with each message. */
export function stepOf({ call, state }: Pick<Calling, "call" | "state">): AIMessage | undefined {
  const step = state.messages.findLast(
    (message) => AIMessage.isInstance(message) && message.tool_calls?.some(({ id }) => id === call.id),
  );
  return AIMessage.isInstance(step) ? step : undefined;
}

/**
 * Has the call made that somebody has said yes to, before the model is asked: as if the model had just called it, so that
 * it goes through all that other calls go through, and its result stands where results stand.
 */
export const approvedFirst: AroundModel = async (asking, next) => {
  const approved = asking.turn?.approved;
  if (approved === undefined) return await next(asking);
  const id = nameOf(approved.id);
  const { messages = asking.messages } = asking.state;
  if (messages.some((message) => message.id === id)) return await next(asking);
  const call = { type: "tool_call" as const, id, name: approved.tool, args: { ...approved.args } };
  return { answer: new AIMessage({ id, content: "", tool_calls: [call] }), update: {} };
};

/** Of the message and of the call; the same in each attempt, so that it is known as made. */
function nameOf(approval: string): string {
  return `approved-${approval}`;
}
