import {
  AIMessage,
  HumanMessage,
  SystemMessage,
  type BaseMessage,
  type ContentBlock as ModelBlock,
} from "@langchain/core/messages";
import { newestQuestion, noteIn } from "../messages.ts";
import { remade } from "../remade.ts";
import type { AroundModel } from "./stage.ts";

const HERE = { cache_control: { type: "ephemeral" } } as const;

/**
 * Says where Anthropic may begin from its cache: behind system prompt and tools, behind what stood before the newest
 * question, and in a loop of tools behind the newest calls. LangChain's own middleware puts one at the very end, behind what
 * is remembered, where it holds for no turn but this one. Other providers find what they know by themselves.
 */
export const withPromptCache: AroundModel = async (asking, next) => {
  const { choice, messages, system } = asking;
  if (choice.provider !== "anthropic") return await next(asking);
  const question = newestQuestion(messages);
  const places = new Set([
    question < 0 ? -1 : lastLasting(messages, question),
    messages.findLastIndex((each, at) => at > question && AIMessage.isInstance(each)),
  ]);
  return await next({
    ...asking,
    system:
      system.text.trim() === "" ? system : new SystemMessage({ content: marked(system) ?? system.content }),
    messages: messages.map((message, at) => (places.has(at) ? withMark(message) : message)),
  });
};

/** The last message before the question that is there with the next turn too, and can carry a mark. */
function lastLasting(messages: readonly BaseMessage[], question: number): number {
  return messages.findLastIndex(
    (message, at) =>
      at < question &&
      noteIn(message)?.lasting !== false &&
      (AIMessage.isInstance(message) || HumanMessage.isInstance(message)) &&
      marked(message) !== undefined,
  );
}

function withMark(message: BaseMessage): BaseMessage {
  const content = marked(message);
  if (content === undefined) return message;
  if (AIMessage.isInstance(message)) return remade(message, { content });
  const { id, name, additional_kwargs, response_metadata } = message;
  return new HumanMessage({
    ...(id === undefined ? {} : { id }),
    ...(name === undefined ? {} : { name }),
    additional_kwargs,
    response_metadata,
    content,
  });
}

/** What Anthropic takes a mark on. */
const MARKABLE = new Set(["text", "image", "file", "tool_use"]);

/** The content with a mark at its end; undefined where nothing in it takes one. */
function marked(message: BaseMessage): ModelBlock[] | undefined {
  const blocks = blocksOf(message);
  const at = blocks.findLastIndex(
    (block) => MARKABLE.has(block.type) && (block.type !== "text" || String(block["text"]).trim() !== ""),
  );
  return at < 0 ? undefined : blocks.map((block, each) => (each === at ? { ...block, ...HERE } : block));
}

function blocksOf(message: BaseMessage): readonly ModelBlock[] {
  const { content } = message;
  const said =
    typeof content === "string" ? (content === "" ? [] : [{ type: "text", text: content }]) : content;
  const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
  const there = new Set(said.map((block) => String(block["id"])));
  const missing = calls.filter(({ id }) => !there.has(String(id)));
  return [
    ...said,
    ...missing.map(({ id = "", name, args }) => ({ type: "tool_use", id, name, input: args })),
  ];
}
