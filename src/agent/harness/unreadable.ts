import { ToolMessage } from "@langchain/core/messages";
import { soundCalls, withCalls } from "./calls.ts";
import { unreadable } from "./repair.ts";
import { type AroundModel, both, type Update } from "./stage.ts";
import { stopOf } from "./stops.ts";

/** A model that cannot write its arguments twice will not the third time. */
const ROUNDS = 2;

/**
 * Tells the model of calls that nobody could read, and lets it go on: without a call that can be read LangGraph takes an
 * answer for the end of the turn. Beside calls that can be read they are told of with their results, by `repair`.
 */
export const withReadableCalls: AroundModel = async (asking, next) => {
  let now = asking;
  let update: Update = {};
  for (let round = 0; ; round += 1) {
    const said = await next(now);
    const { answer } = said;
    const lost = (answer.invalid_tool_calls?.length ?? 0) > 0 && (answer.tool_calls?.length ?? 0) === 0;
    // Of an answer that was cut short, what is around this knows more.
    if (!lost || round === ROUNDS || stopOf(answer) !== undefined)
      return { answer, update: both(update, said.update) };
    const ids = now.messages.flatMap((message) =>
      ToolMessage.isInstance(message) ? [message.tool_call_id] : [],
    );
    const calls = soundCalls(answer, now.messages.length, new Set(ids));
    const told = [withCalls(answer, calls), ...calls.map(({ call }) => unreadable(call))];
    update = both(both(update, said.update), { messages: told });
    now = { ...now, messages: [...now.messages, ...told] };
  }
};
