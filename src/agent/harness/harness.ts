import { createMiddleware, type AgentMiddleware } from "langchain";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AgentDefinition, Blobs } from "../../core/agent.ts";
import { modelFailure, refusedAsInvalid } from "./errors.ts";
import { showMedia } from "./media.ts";
import { repair } from "./repair.ts";
import { BLIND, shownAs, sightOf, type Sight } from "./sight.ts";
import { newest } from "./window.ts";
import { perchContent } from "../messages.ts";

/**
 * All stages as one middleware that wraps the model call: every hook of its own would be a graph node, and a node costs
 * a checkpoint. Order: window, repair, media, the call, what its errors mean.
 */
export function harness(definition: AgentDefinition, blobs: Blobs): AgentMiddleware {
  const { limits, model: choice } = definition;
  return createMiddleware({
    name: "Harness",
    async wrapModelCall(request, handler) {
      const kept = repair(newest(request.messages, limits));
      const ask = async (sight: Sight) =>
        handler({ ...request, messages: [...(await showMedia(kept, limits, sight, blobs))] });
      try {
        // The demo model reads the references themselves.
        if (choice.provider === "demo") return await handler({ ...request, messages: [...kept] });
        const { profile } = request.model as BaseChatModel; // built from an instance, never from a name
        const sight = sightOf(choice.provider, profile);
        try {
          return await ask(sight);
        } catch (error) {
          // Many servers and models take no media though nothing says so: then words are better than no answer.
          const seen = kept.some((message) =>
            perchContent(message)?.content.some((block) => block.type !== "text" && shownAs(block, sight)),
          );
          if (!seen || !refusedAsInvalid(error)) throw error;
          return await ask(BLIND);
        }
      } catch (error) {
        if (request.runtime.signal?.aborted) throw error;
        throw modelFailure(error, choice);
      }
    },
  });
}
