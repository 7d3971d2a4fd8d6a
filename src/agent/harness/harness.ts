import { Command } from "@langchain/langgraph";
import { createMiddleware, type AgentMiddleware } from "langchain";
import type { AgentDefinition, Blobs, Senses } from "../../core/agent.ts";
import { askWithMedia, type Asking } from "./ask.ts";
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
 * a checkpoint. Order: window, repair, media, tools, the call, what its errors mean.
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
      const kept = repair(newest(request.messages, limits));
      try {
        // The demo model reads the references themselves.
        if (choice.provider === "demo") return await handler({ ...request, messages: [...kept] });
        const { answer, marked } = await askWithMedia(kept, asking, async (messages) =>
          call({ ...request, messages: [...messages] }, handler),
        );
        // Beside the answer, which LangChain adds by itself.
        return marked.length === 0 ? answer : new Command({ update: { messages: [...marked] } });
      } catch (error) {
        if (request.runtime.signal?.aborted) throw error;
        throw modelFailure(error, choice);
      }
    },
    ...(files ? { wrapToolCall: runTool } : {}),
  });
}
