import type { BaseChatModel } from "@langchain/core/language_models/chat_models";

type Client = {
  generateContentStream(
    ...asked: readonly unknown[]
  ): Promise<{ readonly stream: unknown; readonly response: Promise<unknown> }>;
};

/**
 * The same model, whose client's second way to an answer is looked at: LangChain reads the stream alone, and where that
 * breaks off the other is rejected with nobody there, which ends a process.
 */
export function withResponseLookedAt<Model extends BaseChatModel>(model: Model): Model {
  const { client } = model as unknown as { readonly client: Client }; // private in LangChain's words
  const stream = client.generateContentStream.bind(client);
  client.generateContentStream = async (...asked) => {
    const answer = await stream(...asked);
    answer.response.catch(() => {}); // the stream fails with the same
    return answer;
  };
  return model;
}
