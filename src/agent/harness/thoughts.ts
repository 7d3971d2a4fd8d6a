import { AIMessage } from "@langchain/core/messages";
import { withoutThoughts } from "../thoughts.ts";
import type { AroundModel } from "./stage.ts";

/**
 * Leaves out of an answer what its model has thought in front of it: servers that do not know the form of a model hand its
 * thoughts over as text. They are nobody's to read, and models are not to be shown theirs of before.
 */
export const withoutThinking: AroundModel = async (asking, next) => {
  const said = await next(asking);
  return { ...said, answer: spokenIn(said.answer) };
};

/** The message without what stands there as text and was only thought; else as it is. */
export function spokenIn(message: AIMessage): AIMessage {
  const { content } = message;
  const text = typeof content === "string" ? withoutThoughts(content) : content;
  if (text === content) return message;
  const { id, name, tool_calls: calls = [], invalid_tool_calls: invalid = [] } = message;
  const { usage_metadata: usage, additional_kwargs, response_metadata } = message;
  return new AIMessage({
    ...(id === undefined ? {} : { id }),
    ...(name === undefined ? {} : { name }),
    content: text,
    tool_calls: calls,
    invalid_tool_calls: invalid,
    ...(usage === undefined ? {} : { usage_metadata: usage }),
    additional_kwargs,
    response_metadata,
  });
}
