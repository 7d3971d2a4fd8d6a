import type { BaseChatModel } from "@langchain/core/language_models/chat_models";

/** What OpenAI and Gemini call the reason for which an answer ended. */
const FINISH = ["finish_reason", "finishReason"];

/**
 * The same model, whose streamed answers say why they ended. LangChain keeps that of answers that come whole, but of
 * streamed ones it stands beside the message and is lost: a cut answer would look like a finished one.
 */
export function withFinish<Model extends BaseChatModel>(model: Model): Model {
  // oxlint-disable-next-line no-underscore-dangle -- LangChain's own word for what a model must do
  const stream = model._streamResponseChunks.bind(model);
  return Object.assign(model, {
    async *_streamResponseChunks(...args: Parameters<typeof stream>) {
      const told = new Set<string>();
      for await (const chunk of stream(...args)) {
        const { message } = chunk;
        for (const name of FINISH) {
          const reason: unknown = chunk.generationInfo?.[name];
          // Texts of the same name are put one behind the other.
          if (typeof reason !== "string" || told.has(name) || message.response_metadata[name] !== undefined)
            continue;
          told.add(name);
          message.response_metadata = { ...message.response_metadata, [name]: reason };
        }
        yield chunk;
      }
    },
  });
}
