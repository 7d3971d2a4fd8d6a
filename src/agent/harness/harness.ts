import { Command } from "@langchain/langgraph";
import { createMiddleware, type AgentMiddleware } from "langchain";
import type { AgentDefinition, Blobs, Senses } from "../../core/agent.ts";
import { turnOf } from "../turn-config.ts";
import { askWithMedia, type Asking } from "./ask.ts";
import { beforeAnswer, correctionsFor } from "./corrections.ts";
import { modelFailure } from "./errors.ts";
import { repair } from "./repair.ts";
import { shapesOf } from "./shapes.ts";
import { runTool, withToolsIfTaken } from "./tools.ts";
import { newest } from "./window.ts";

export type HarnessParts = {
  readonly blobs: Blobs;
  readonly senses: Senses;
  /** Whether the agent has tools for the files of its chat. */
  readonly files: boolean;
};

/**
 * All stages as one middleware that wraps the model call: every hook of its own would be a graph node, and a node costs
 * a checkpoint. Order: corrections, window, repair, media, tools, the call, what its errors mean.
 */
export function harness(
  { prompt, limits, model: choice }: AgentDefinition,
  { blobs, senses, files }: HarnessParts,
): AgentMiddleware {
  const asking: Asking = {
    blobs,
    limits,
    paths: files,
    shapes: shapesOf(choice.provider, senses),
    key: `${choice.provider}:${choice.name}`,
    unseen: new Set(),
  };
  const call = withToolsIfTaken(prompt.trim());
  return createMiddleware({
    name: "Harness",
    async wrapModelCall(request, handler) {
      const corrections = correctionsFor(turnOf(request.runtime.configurable));
      const kept = repair(newest([...request.messages, ...corrections], limits));
      try {
        const { answer, marked } =
          choice.provider === "demo"
            ? // It reads the references themselves.
              { answer: await handler({ ...request, messages: [...kept] }), marked: [] }
            : await askWithMedia(kept, asking, async (messages) =>
                call({ ...request, messages: [...messages] }, handler),
              );
        const update = [...marked, ...beforeAnswer(corrections, answer)];
        // Beside the answer, which LangChain adds by itself.
        return update.length === 0 ? answer : new Command({ update: { messages: update } });
      } catch (error) {
        if (request.runtime.signal?.aborted) throw error;
        throw modelFailure(error, choice);
      }
    },
    ...(files ? { wrapToolCall: runTool } : {}),
  });
}
