import { SystemMessage, ToolMessage } from "@langchain/core/messages";
import { isGraphBubbleUp } from "@langchain/langgraph";
import { asError } from "../../core/errors.ts";
import { refusesTools } from "./errors.ts";
import type { AroundModel, AroundTool } from "./stage.ts";

/** A result stands in the thread and in every request after it. */
const RESULT_CHARACTERS = 20_000;

/**
 * Runs a tool so that its result is text, of bounded length, without the paths of this machine: pictures in results,
 * and lists of blocks, are refused by most providers. What a tool throws is a result too, since LangChain ends the run
 * with it as soon as anything wraps the tools.
 */
export const plainResults: AroundTool = async (calling, next) => {
  const { call, turn, signal } = calling;
  const words = (content: string): string => {
    const shown = turn === undefined ? content : content.replaceAll(turn.folder, "");
    return shown.length <= RESULT_CHARACTERS
      ? shown
      : `${shown.slice(0, RESULT_CHARACTERS).toWellFormed()}\n[… cut here; ask for less at once]`;
  };
  try {
    const result = await next(calling);
    if (!ToolMessage.isInstance(result)) return result;
    return new ToolMessage({
      ...(result.id === undefined ? {} : { id: result.id }),
      content: words(result.text),
      tool_call_id: result.tool_call_id,
      name: result.name ?? call.name,
      ...(result.status === undefined ? {} : { status: result.status }),
    });
  } catch (error) {
    if (isGraphBubbleUp(error) || signal?.aborted) throw error;
    const content = words(`Error: ${asError(error).message.slice(0, 500)}`);
    return new ToolMessage({ content, tool_call_id: call.id, name: call.name, status: "error" });
  }
};

/**
 * Asks with tools as long as the model takes any: many models and servers have none, and an agent without tools is
 * better than none. `prompt` is what is said to the agent then.
 */
export function withToolsIfTaken(prompt: string): AroundModel {
  const none = new Set<string>();
  return async (asking, next) => {
    const { tools, choice } = asking;
    const key = `${choice.provider}:${choice.name}`;
    const bare = { ...asking, tools: [], system: new SystemMessage(prompt.trim()) };
    if (tools.length === 0) return await next(asking);
    if (none.has(key)) return await next(bare);
    try {
      return await next(asking);
    } catch (error) {
      if (!refusesTools(error)) throw error;
      const said = await next(bare);
      none.add(key);
      return said;
    }
  };
}
