import { type AIMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { isGraphBubbleUp } from "@langchain/langgraph";
import type { AgentMiddleware } from "langchain";
import { asError } from "../../core/errors.ts";
import { turnOf } from "../turn-config.ts";
import { refusesTools } from "./errors.ts";

type WrapModelCall = NonNullable<AgentMiddleware["wrapModelCall"]>;
type WrapToolCall = NonNullable<AgentMiddleware["wrapToolCall"]>;

/** A result stands in the thread and in every request after it. */
const RESULT_CHARACTERS = 20_000;

/**
 * Runs a tool so that its result is text, of bounded length, without the paths of this machine: pictures in results,
 * and lists of blocks, are refused by most providers. What a tool throws is a result too, since LangChain ends the run
 * with it as soon as anything wraps the tools.
 */
export const runTool: WrapToolCall = async (request, handler) => {
  const folder = turnOf(request.runtime.configurable)?.folder;
  const words = (content: string): string => {
    const shown = folder === undefined ? content : content.replaceAll(folder, "");
    return shown.length <= RESULT_CHARACTERS
      ? shown
      : `${shown.slice(0, RESULT_CHARACTERS).toWellFormed()}\n[… cut here; ask for less at once]`;
  };
  const { id = "", name } = request.toolCall;
  try {
    const result = await handler(request);
    if (!ToolMessage.isInstance(result)) return result;
    return new ToolMessage({
      ...(result.id === undefined ? {} : { id: result.id }),
      content: words(result.text),
      tool_call_id: result.tool_call_id,
      name: result.name ?? name,
      ...(result.status === undefined ? {} : { status: result.status }),
    });
  } catch (error) {
    if (isGraphBubbleUp(error) || request.runtime.signal?.aborted) throw error;
    const content = words(`Error: ${asError(error).message.slice(0, 500)}`);
    return new ToolMessage({ content, tool_call_id: id, name, status: "error" });
  }
};

/**
 * Asks with tools as long as the model takes any: many models and servers have none, and an agent without tools is
 * better than none. `prompt` is what is said to the agent then.
 */
export function withToolsIfTaken(
  prompt: string,
): (...asked: Parameters<WrapModelCall>) => Promise<AIMessage> {
  let taken = true;
  return async (request, handler) => {
    const bare = { ...request, tools: [], systemMessage: new SystemMessage(prompt) };
    if (request.tools.length === 0) return await handler(request);
    if (!taken) return await handler(bare);
    try {
      return await handler(request);
    } catch (error) {
      if (!refusesTools(error)) throw error;
      const answer = await handler(bare);
      taken = false;
      return answer;
    }
  };
}
