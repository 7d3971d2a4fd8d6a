import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { ModelChoice } from "../../core/agent.ts";
import type { AroundModel } from "./stage.ts";

/**
 * What a model of another provider has said is told in plain words: LangChain sends a provider's own blocks as they are,
 * or throws at them. It comes about by a fallback, and by a thread that is older than the choice of its model.
 */
export const withoutForeign: AroundModel = async (asking, next) =>
  await next({ ...asking, messages: inPlainWords(asking.messages, asking.choice) });

export function inPlainWords(messages: readonly BaseMessage[], choice: ModelChoice): readonly BaseMessage[] {
  return messages.map((message) =>
    AIMessage.isInstance(message) && isForeign(message, choice) ? plain(message) : message,
  );
}

/** Of a model that is spoken to in another way. Who has said nothing of it is taken for one of ours. */
function isForeign({ content, response_metadata: metadata }: AIMessage, choice: ModelChoice): boolean {
  const by: unknown = metadata["model_provider"];
  if (typeof by === "string" && by !== choice.provider) return true;
  // OpenAI itself answers some models in blocks, which compatible servers do not know.
  return choice.provider === "openai" && choice.baseUrl !== undefined && Array.isArray(content);
}

function plain(message: AIMessage): AIMessage {
  return new AIMessage({
    ...(message.id === undefined ? {} : { id: message.id }),
    content: message.text,
    tool_calls: message.tool_calls ?? [],
  });
}
