import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { cameMeanwhile } from "../messages.ts";
import { remade } from "../remade.ts";

/** Calls of the last so many turns are shown whole. */
const WHOLE_TURNS = 2;
/** Longer ones are cut. */
const ARGUMENT_CHARACTERS = 2_000;
const HEAD_CHARACTERS = 200;

/**
 * The messages with the long texts among the arguments of old calls cut: what was written into a file does not have to
 * be read again in every request. Ids and metadata stay; messages without such arguments are given as they are.
 */
export function withShortArguments(messages: readonly BaseMessage[]): readonly BaseMessage[] {
  const from = beginOfTurns(messages, WHOLE_TURNS);
  return messages.map((message, at) =>
    at < from && AIMessage.isInstance(message) && isLong(message) ? shortened(message) : message,
  );
}

function beginOfTurns(messages: readonly BaseMessage[], turns: number): number {
  const asked = messages.flatMap((message, at) =>
    HumanMessage.isInstance(message) && !cameMeanwhile(message) ? [at] : [],
  );
  return asked.at(-turns) ?? 0;
}

function isLong(message: AIMessage): boolean {
  return (message.tool_calls ?? []).some(({ args }) => short(args) !== args);
}

function shortened(message: AIMessage): AIMessage {
  const { content, tool_calls: calls = [], response_metadata: metadata } = message;
  const output: unknown = metadata["output"];
  return remade(message, {
    content: typeof content === "string" ? content : content.map(shortPart),
    tool_calls: calls.map((call) => ({ ...call, args: short(call.args) as typeof call.args })), // the same kind
    // Responses are sent again as they came.
    response_metadata: Array.isArray(output) ? { ...metadata, output: output.map(shortPart) } : metadata,
  });
}

/** Where the call stands a second time, as a part of what was said. */
function shortPart<Part>(part: Part): Part {
  const { type, input, args, arguments: json } = part as Readonly<Record<string, unknown>>; // looked at
  switch (type) {
    case "tool_use":
      return { ...part, input: short(input) };
    case "tool_call":
      return { ...part, args: short(args) };
    case "function_call":
      return typeof json === "string" ? { ...part, arguments: shortJson(json) } : part;
    default:
      return part;
  }
}

function shortJson(json: string): string {
  try {
    return JSON.stringify(short(JSON.parse(json)));
  } catch {
    return json; // as the model wrote it; repair looks at that
  }
}

/** The same value, not a copy, where nothing in it is too long. */
function short(value: unknown): unknown {
  if (typeof value === "string") return cut(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(short);
    return items.some((item, at) => item !== value[at]) ? items : value;
  }
  const entries = Object.entries(value).map(([key, item]) => [key, short(item), item] as const);
  return entries.some(([, cutItem, item]) => cutItem !== item)
    ? Object.fromEntries(entries.map(([key, cutItem]) => [key, cutItem]))
    : value;
}

function cut(text: string): string {
  if (text.length <= ARGUMENT_CHARACTERS) return text;
  const head = text.slice(0, HEAD_CHARACTERS).toWellFormed();
  return `${head}[… ${text.length - HEAD_CHARACTERS} more characters were written here]`;
}
