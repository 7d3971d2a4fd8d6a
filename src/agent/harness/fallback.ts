import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AgentDefinition, ModelChoice } from "../../core/agent.ts";
import { GatewayError } from "../../core/errors.ts";
import { modelKey } from "../model-key.ts";
import { loadModel } from "../models.ts";
import { isOverflow, modelFailure, reasonOf } from "./errors.ts";
import type { AroundModel, Asking, StageParts } from "./stage.ts";
import { stopThrown } from "./stops.ts";

/**
 * Asks the next model where one does not answer. If none does, it is told what the first one failed of; but a question
 * that is too long for one of them may go through once it is shorter, and what shortens it stands further out.
 */
export function withFallbacks(
  { fallbacks = [] }: Pick<AgentDefinition, "fallbacks">,
  { blobs, log }: Pick<StageParts, "blobs" | "log">,
): AroundModel {
  const loaded = new Map<ModelChoice, Promise<BaseChatModel>>();
  const load = (choice: ModelChoice): Promise<BaseChatModel> => {
    const before = loaded.get(choice);
    if (before) return before;
    const loading = loadModel(choice, blobs);
    loaded.set(choice, loading);
    // A package may be installed by the next time.
    loading.catch(() => loaded.delete(choice));
    return loading;
  };
  return async (asking, next) => {
    if (fallbacks.length === 0) return await next(asking);
    let failed: unknown;
    try {
      return await next(asking);
    } catch (thrown) {
      if (asking.signal?.aborted || !anotherMay(thrown)) throw thrown;
      failed = modelFailure(thrown, asking.choice);
    }
    let tooLong: unknown;
    for (const choice of fallbacks) {
      const model = modelKey(choice);
      log.warn({ model, reason: reasonOf(failed) }, "a model did not answer, and another is asked");
      try {
        return await next(toBeAsked(asking, choice, await load(choice)));
      } catch (thrown) {
        if (asking.signal?.aborted || !isOfModels(thrown)) throw thrown;
        if (isOverflow(thrown)) tooLong ??= thrown;
        log.error(
          { model, reason: reasonOf(thrown) },
          "a model that was asked in another's place did not answer",
        );
      }
    }
    throw tooLong ?? failed;
  };
}

function toBeAsked(asking: Asking, choice: ModelChoice, model: BaseChatModel): Asking {
  // The demo model has no use for tools, and cannot be given any.
  return { ...asking, choice, model, tools: choice.provider === "demo" ? [] : asking.tools };
}

/** What one provider will not answer is not carried to the next, and what is too long is made shorter first. */
function anotherMay(thrown: unknown): boolean {
  const reason = reasonOf(thrown);
  // Some clients throw at an answer that says nothing, which is an answer.
  const answered = stopThrown(thrown) !== undefined;
  return isOfModels(thrown) && !answered && reason !== "refused" && reason !== "overflow";
}

/** What else we throw ourselves is not about the model. */
function isOfModels(thrown: unknown): boolean {
  return !(thrown instanceof GatewayError) || thrown.code.startsWith("model.");
}
