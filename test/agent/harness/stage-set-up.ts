import { SystemMessage, type BaseMessage } from "@langchain/core/messages";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatOpenAI } from "@langchain/openai";
import type { ModelChoice } from "../../../src/core/agent.ts";
import type { AroundModel, Asking, Said } from "../../../src/agent/harness/stage.ts";
import { startOpenAi } from "../../support/models/openai.ts";
import type { ModelServer } from "../../support/models/server.ts";

export type Staged = {
  readonly server: ModelServer;
  readonly choice: ModelChoice;
  readonly model: BaseChatModel;
  /** Asks the model through one stage. */
  readonly ask: (stage: AroundModel, fields?: Partial<Asking>) => Promise<Said>;
};

/** A real client and its server behind a stage, without an agent around it. */
export async function staged(): Promise<Staged> {
  const server = await startOpenAi({ otherwise: "seen" });
  const choice = { provider: "openai", name: "local", baseUrl: server.url, apiKey: "k" };
  const model = new ChatOpenAI({
    model: "local",
    apiKey: "k",
    maxRetries: 0,
    configuration: { baseURL: server.url },
  });
  return {
    server,
    choice,
    model,
    ask: (stage, fields = {}) => stage(asking(choice, model, fields), invoked),
  };
}

async function invoked({ model, messages, signal }: Asking): Promise<Said> {
  return { answer: await model.invoke([...messages], signal ? { signal } : {}), update: {} };
}

function asking(choice: ModelChoice, model: BaseChatModel, fields: Partial<Asking>): Asking {
  return {
    messages: ["hello" as unknown as BaseMessage], // LangChain takes a string for a person's message
    state: {},
    system: new SystemMessage(""),
    tools: [],
    model,
    choice,
    turn: undefined,
    signal: undefined,
    ...fields,
  };
}

/** What a promise is rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    return error as Error; // clients throw nothing else
  }
  throw new Error("nothing was thrown");
}
