import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { messageTokens } from "../window/tokens.ts";
import { allowed } from "./allowance.ts";
import { persistently } from "./retry.ts";
import type { StageParts } from "./stage.ts";
import { spokenIn } from "./thoughts.ts";
import { type Counting, useOf } from "./use.ts";

/** Tags a call of a model whose words are not for people: no stream to them passes it. */
export const ASIDE = "perch:aside";

/**
 * Asks a model for ourselves: a summary, a grade, what is to be remembered. It is counted once, as `counting` says.
 * With `again` it is asked again where that may help. Rejects as the model does.
 */
export async function askAside(
  model: BaseChatModel,
  messages: readonly BaseMessage[],
  signal?: AbortSignal,
  counting?: Counting,
  again?: Pick<StageParts, "clock" | "log">,
): Promise<AIMessage> {
  const invoke = async (): Promise<AIMessage> =>
    await model.invoke([...messages], { tags: [ASIDE], ...(signal === undefined ? {} : { signal }) });
  const guess = (): number => messages.reduce((sum, message) => sum + messageTokens(message), 0);
  const ask = async (): Promise<AIMessage> =>
    counting === undefined ? await invoke() : await allowed(counting, guess, invoke, (said) => said);
  const said =
    again && counting
      ? await persistently(ask, { clock: again.clock, log: again.log, choice: counting.choice, signal })
      : await ask();
  if (counting !== undefined) counting.onUse?.(useOf(said, counting));
  return spokenIn(said);
}
