import type { AIMessage, ContentBlock } from "@langchain/core/messages";
import { remade, withoutRawCalls } from "../remade.ts";

export type Call = NonNullable<AIMessage["tool_calls"]>[number];

/** A call as every provider takes it; `was` is the id that its result may stand under. */
export type SoundCall = {
  readonly call: Call;
  readonly was: string | undefined;
  readonly unreadable: boolean;
};

/**
 * All calls of a message, those that LangChain could not read among them, with arguments that are an object, a name that
 * providers take, and an id that is not in `taken`; a second call with the same id in one message is no other call. `at`
 * names the message where it has no id itself.
 */
export function soundCalls(message: AIMessage, at: number, taken: Set<string>): readonly SoundCall[] {
  const calls: SoundCall[] = [];
  const here = new Set<string>();
  const made = [
    ...(message.tool_calls ?? []).map(({ id, name, args }) => ({ id, name, args: args as unknown })),
    ...(message.invalid_tool_calls ?? []).map(({ id, name }) => ({ id, name, args: undefined })),
  ];
  for (const [place, { id, name, args }] of made.entries()) {
    const was = id === undefined || id === "" ? undefined : id;
    if (was !== undefined && here.has(was)) continue;
    if (was !== undefined) here.add(was);
    const readable = isObject(args);
    const own = freeId(sound(was ?? "") || `call-${at}-${place}`, taken);
    taken.add(own);
    const call: Call = { id: own, name: sound(name ?? "") || "unnamed", args: readable ? args : {} };
    calls.push({ call, was, unreadable: !readable });
  }
  return calls;
}

export function isObject(args: unknown): args is Record<string, unknown> {
  return typeof args === "object" && args !== null && !Array.isArray(args);
}

/** Some servers count their ids anew for each answer, and Anthropic takes each once in a request. */
function freeId(id: string, taken: ReadonlySet<string>): string {
  if (!taken.has(id)) return id;
  for (let n = 2; ; n += 1) if (!taken.has(`${id}-${n}`)) return `${id}-${n}`;
}

/** Names of OpenAI's and Anthropic's are of these letters, ids of Anthropic's, and both of 64 at most. */
function sound(word: string): string {
  return word.replaceAll(/[^\w-]/g, "_").slice(0, 64);
}

/** The message with these calls and no others, in every form in which a converter would send them; else as it is. */
export function withCalls(message: AIMessage, calls: readonly SoundCall[]): AIMessage {
  const made = message.tool_calls ?? [];
  const whole =
    (message.invalid_tool_calls?.length ?? 0) === 0 &&
    calls.length === made.length &&
    calls.every(
      ({ call, was }, at) => call.id === was && call.name === made[at]?.name && call.args === made[at]?.args,
    );
  const content = calls.length === 0 ? message.content : withoutBlanks(message.content);
  if (whole && content === message.content) return message;
  if (whole) return remade(message, { content });
  // Anthropic's converter would send them from the content.
  return remade(message, {
    content: onlyCalls(content, calls),
    tool_calls: calls.map(({ call }) => call),
    invalid_tool_calls: [],
    ...withoutRawCalls(message),
  });
}

const CALL_BLOCKS = new Set([
  "tool_use",
  "tool_call",
  "function_call",
  "functionCall",
  "invalid_tool_call",
  "input_json_delta",
]);

/** Text that a model left blank before it called a tool. */
function withoutBlanks(content: AIMessage["content"]): AIMessage["content"] {
  if (typeof content === "string") return content.trim() === "" ? "" : content;
  const said = content.filter((block) => block.type !== "text" || String(block["text"]).trim() !== "");
  if (said.length === content.length) return content;
  return said.length === 0 ? "" : said;
}

/** The blocks of these calls, each once and as the call is now, and all that is no call. Converters add calls without a block. */
function onlyCalls(content: AIMessage["content"], calls: readonly SoundCall[]): AIMessage["content"] {
  if (typeof content === "string") return content;
  const left = new Map(calls.map(({ call, was }) => [was, call]));
  return content.flatMap((block): ContentBlock[] => {
    if (!CALL_BLOCKS.has(block.type)) return [block];
    const id = String(block["id"]);
    const call = left.get(id);
    left.delete(id);
    if (call === undefined) return [];
    const { id: own = "", name, args } = call;
    return [
      {
        ...block,
        id: own,
        name,
        ...("input" in block ? { input: args } : {}),
        ...("args" in block ? { args } : {}),
      },
    ];
  });
}
