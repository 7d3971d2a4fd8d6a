import type { AIMessage } from "@langchain/core/messages";
import { remade } from "../remade.ts";
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
  return text === content ? message : remade(message, { content: text });
}
