import { AIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { soundCalls, withCalls } from "./calls.ts";
import type { AroundModel } from "./stage.ts";

const INTERRUPTED = "This call was interrupted before it had a result.";
const UNREADABLE =
  "The arguments of this call could not be read, so it was not made; make it again with valid ones.";

/** See `repair`. */
export const withRepair: AroundModel = async (asking, next) =>
  await next({ ...asking, messages: repair(asking.messages) });

/**
 * Makes a thread that was cut somewhere fit for a provider, wherever that was: every tool call has a name, arguments and
 * an id that no other has, and is followed by one result, in place. A call that could not be read has a result that says
 * so. Left out are results without a call, second results, blank text beside calls, and an answer in which nothing is
 * said or remains: a provider that refuses one of these would refuse the thread from then on.
 */
export function repair(messages: readonly BaseMessage[]): readonly BaseMessage[] {
  const repaired: BaseMessage[] = [];
  const taken = new Set<string>();
  for (let at = 0; at < messages.length; at += 1) {
    const message = messages[at] as BaseMessage; // within the array
    // Results are taken together with their calls; whatever is met here has none.
    if (ToolMessage.isInstance(message)) continue;
    if (!AIMessage.isInstance(message)) {
      repaired.push(message);
      continue;
    }
    const calls = soundCalls(message, at, taken);
    const spoken = withCalls(message, calls);
    if (calls.length === 0 && spoken.text.trim() === "") continue;
    repaired.push(spoken);
    const results = [...resultsAfter(messages, at)];
    for (const { call, was, unreadable: unread } of calls) {
      const found = results.findIndex((result) => result.tool_call_id === (was ?? ""));
      const [result] = found < 0 ? [] : results.splice(found, 1);
      repaired.push(result ? asResultOf(call, result) : failed(call, unread ? UNREADABLE : INTERRUPTED));
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
    .map(interrupted);
}

/** What stands for a result that a call never had. */
export function interrupted(call: { readonly id?: string; readonly name: string }): ToolMessage {
  return failed(call, INTERRUPTED);
}

/** What a model is told of a call of its that nobody could read. */
export function unreadable(call: { readonly id?: string; readonly name: string }): ToolMessage {
  return failed(call, UNREADABLE);
}

/**
 * Those before the next message that is neither a result nor, as a run that was cut off and gone on with may leave it, a
 * word of a person between a call and its result.
 */
function resultsAfter(messages: readonly BaseMessage[], at: number): readonly ToolMessage[] {
  const rest = messages.slice(at + 1);
  const next = rest.findIndex((message) => AIMessage.isInstance(message));
  return (next < 0 ? rest : rest.slice(0, next)).filter((message) => ToolMessage.isInstance(message));
}

function asResultOf(call: { readonly id?: string; readonly name: string }, result: ToolMessage): ToolMessage {
  // Without a name it is found by the call's.
  const named = result.name === undefined || result.name === call.name;
  if (named && result.tool_call_id === call.id) return result;
  return new ToolMessage({
    ...(result.id === undefined ? {} : { id: result.id }),
    ...(result.status === undefined ? {} : { status: result.status }),
    content: result.content,
    tool_call_id: call.id ?? "",
    name: call.name,
  });
}

function failed(call: { readonly id?: string; readonly name: string }, content: string): ToolMessage {
  return new ToolMessage({ content, tool_call_id: call.id ?? "", name: call.name, status: "error" });
}
