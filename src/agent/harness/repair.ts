import { AIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import type { AroundModel } from "./stage.ts";

const INTERRUPTED = "This call was interrupted before it had a result.";

/** See `repair`. */
export const withRepair: AroundModel = async (asking, next) =>
  await next({ ...asking, messages: repair(asking.messages) });

/**
 * Makes a thread that was cut somewhere fit for a provider: every tool call is followed by one result, in place;
 * results without a call, second results, calls that could not be read or repeat another's id, and blank text beside calls
 * are left out, and so is an answer in which nothing is said or remains: a provider that refuses one of these would
 * refuse the thread from then on.
 */
export function repair(messages: readonly BaseMessage[]): readonly BaseMessage[] {
  const repaired: BaseMessage[] = [];
  for (let at = 0; at < messages.length; at += 1) {
    const message = messages[at] as BaseMessage; // within the array
    // Results are taken together with their calls; whatever is met here has none.
    if (ToolMessage.isInstance(message)) continue;
    if (!AIMessage.isInstance(message)) {
      repaired.push(message);
      continue;
    }
    const spoken = sendable(message);
    if (isBlank(spoken)) continue;
    repaired.push(spoken);
    const results = resultsAfter(messages, at);
    for (const call of spoken.tool_calls ?? []) {
      repaired.push(results.find((result) => result.tool_call_id === call.id) ?? interrupted(call));
    }
  }
  return repaired;
}

/** The results that the last tool calls of a thread still lack. */
export function missingResults(messages: readonly BaseMessage[]): readonly ToolMessage[] {
  const at = messages.findLastIndex((message) => !ToolMessage.isInstance(message));
  const last = messages[at];
  if (!AIMessage.isInstance(last)) return [];
  const answered = new Set(resultsAfter(messages, at).map((result) => result.tool_call_id));
  return (last.tool_calls ?? [])
    .filter((call) => call.id !== undefined && !answered.has(call.id))
    .map((call) => interrupted(call));
}

function resultsAfter(messages: readonly BaseMessage[], at: number): readonly ToolMessage[] {
  const results: ToolMessage[] = [];
  for (const message of messages.slice(at + 1)) {
    if (!ToolMessage.isInstance(message)) break;
    results.push(message);
  }
  return results;
}

function interrupted(call: { readonly id?: string; readonly name: string }): ToolMessage {
  return new ToolMessage({
    content: INTERRUPTED,
    tool_call_id: call.id ?? "",
    name: call.name,
    status: "error",
  });
}

function isBlank(message: AIMessage): boolean {
  return (message.tool_calls?.length ?? 0) === 0 && message.text.trim() === "";
}

const CALL_BLOCKS = new Set([
  "tool_use",
  "tool_call",
  "function_call",
  "invalid_tool_call",
  "input_json_delta",
]);

function sendable(message: AIMessage): AIMessage {
  const made = message.tool_calls ?? [];
  const calls = made.filter(
    (call, at) => Boolean(call.id) && Boolean(call.name) && made.findIndex(({ id }) => id === call.id) === at,
  );
  const readable = (message.invalid_tool_calls?.length ?? 0) === 0 && calls.length === made.length;
  const content = calls.length === 0 ? message.content : withoutBlanks(message.content);
  if (readable && content === message.content) return message;
  // The raw forms would be sent again: by OpenAI's converter from additional_kwargs, by Anthropic's from the content.
  const { tool_calls: _calls, function_call: _call, ...kept } = message.additional_kwargs;
  return new AIMessage({
    ...(message.id === undefined ? {} : { id: message.id }),
    ...(message.name === undefined ? {} : { name: message.name }),
    content: readable ? content : onlyCalls(content, calls),
    tool_calls: calls,
    additional_kwargs: readable ? message.additional_kwargs : kept,
    response_metadata: message.response_metadata,
  });
}

/** Text that a model left blank before it called a tool. */
function withoutBlanks(content: AIMessage["content"]): AIMessage["content"] {
  if (typeof content === "string") return content.trim() === "" ? "" : content;
  const said = content.filter((block) => block.type !== "text" || String(block["text"]).trim() !== "");
  if (said.length === content.length) return content;
  return said.length === 0 ? "" : said;
}

/** The blocks of these calls, each once, and all that is no call. */
function onlyCalls(
  content: AIMessage["content"],
  calls: readonly { readonly id?: string }[],
): AIMessage["content"] {
  if (typeof content === "string") return content;
  const left = new Set(calls.map((call) => call.id));
  return content.filter((block) => !CALL_BLOCKS.has(block.type) || left.delete(String(block["id"])));
}
