import type { AIMessage } from "@langchain/core/messages";
import { remade, withoutRawCalls } from "../remade.ts";
import { isObject, withCalls } from "./calls.ts";

/** LangChain takes calls of these names for structured answers, and ends a run at them. */
export const RESERVED = /^extract-/;

/**
 * The message with its calls as they may be run: under names that LangChain does not keep for itself, and those whose
 * arguments are no object, or are JSON that breaks off, as ones that could not be read. LangChain takes `null` for
 * arguments, and of a stream completes what is missing: half a command would be run.
 */
export function withMadeCalls(message: AIMessage): AIMessage {
  return withKnownNames(withWholeArguments(message));
}

function withKnownNames(message: AIMessage): AIMessage {
  const calls = message.tool_calls ?? [];
  if (!calls.some(({ name }) => RESERVED.test(name))) return message;
  const made = calls.map((call) => ({
    call: { ...call, name: call.name.replace(RESERVED, "extract_") },
    was: call.id,
    unreadable: false,
  }));
  return withCalls(message, made);
}

type Written = { readonly id?: string; readonly args?: string };

function withWholeArguments(message: AIMessage): AIMessage {
  const { tool_calls: calls = [], invalid_tool_calls: invalid = [] } = message;
  const written = (message as { readonly tool_call_chunks?: readonly Written[] }).tool_call_chunks ?? []; // of a stream's
  const lost = calls.filter(
    ({ id, args }) => !isObject(args) || written.some((each) => each.id === id && breaksOff(each.args)),
  );
  if (lost.length === 0) return message;
  return remade(message, {
    tool_calls: calls.filter((call) => !lost.includes(call)),
    invalid_tool_calls: [
      ...invalid,
      ...lost.map((call) => ({
        ...(call.id === undefined ? {} : { id: call.id }),
        name: call.name,
        error: "no whole JSON object",
        type: "invalid_tool_call" as const,
      })),
    ],
    ...withoutRawCalls(message),
  });
}

/** Nothing at all stands for no arguments. */
function breaksOff(json = ""): boolean {
  if (json.trim() === "") return false;
  try {
    JSON.parse(json);
    return false;
  } catch {
    return true;
  }
}
