import {
  AIMessage,
  type BaseMessage,
  mapStoredMessageToChatMessage,
  type StoredMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { isCommand } from "@langchain/langgraph";
import { hasCode } from "../../core/errors.ts";
import type { StoredEffect } from "../../core/effects.ts";
import { isApproved, stepOf } from "./approved.ts";
import { isObject } from "./calls.ts";
import { interrupted } from "./repair.ts";
import type { AroundTool, Called, Calling } from "./stage.ts";
import { metadataOf, refused } from "./tools.ts";

const UNKNOWN =
  "Error: this call was begun before, and was cut off before it was known whether it took effect. It was not made " +
  "again. Find out what has become of it, or ask the person, before you do anything of the kind again.";
const UNWRITTEN = "Error: the call could not be written down, so it was not made. Try again later.";

/**
 * Makes a call that changes something outside at most once in a turn, whatever happens to the process: that it is begun is
 * committed before it, what it gave before the next step.
 */
export const effectsOnce: AroundTool = async (calling, next) => {
  const { call, tool, turn } = calling;
  const log = turn?.effects;
  // Whoever has said yes has said it to one call, whatever its tool says of itself.
  const once = metadataOf(tool)["effects"] === true || isApproved(calling);
  if (log === undefined || !once) return await next(calling);
  const step = stepOf(calling);
  // Without its message a call could not be told apart from one of the same id.
  if (step === undefined) return refused(call, UNWRITTEN);
  const key = keyOf(step, call.id);
  const stored = (await log.earlier()).find((each) => each.call === key);
  if (stored !== undefined) return resultOf(stored, call).message;
  try {
    await log.begin(key, JSON.stringify(step.toDict()));
  } catch (error) {
    if (hasCode(error, "store.hold_lost")) throw error;
    return refused(call, UNWRITTEN);
  }
  const called = await next(calling);
  await log.done(key, JSON.stringify(kept(called, call)));
  return called;
};

/** What a run is begun with that goes on from what an earlier attempt at its turn has done outside. */
export type EarlierSteps = {
  /** Results of calls that stand in the thread without any. */
  readonly lacking: readonly ToolMessage[];
  /** Steps that do not stand in the thread, each the assistant's message and a result for each of its calls. */
  readonly steps: readonly BaseMessage[];
  /** What their tools have put into other fields of the thread; reducers take it again without harm. */
  readonly fields: Readonly<Record<string, unknown>>;
};

export function earlierSteps(there: readonly BaseMessage[], stored: readonly StoredEffect[]): EarlierSteps {
  const lacking: ToolMessage[] = [];
  const steps: BaseMessage[] = [];
  let fields: Readonly<Record<string, unknown>> = {};
  for (const written of new Set(stored.map(({ step }) => step))) {
    const step = mapStoredMessageToChatMessage(JSON.parse(written) as StoredMessage); // as effectsOnce writes it
    if (!AIMessage.isInstance(step)) continue;
    const at = there.findLastIndex(({ id }) => id !== undefined && id === step.id);
    const answered = at < 0 ? new Set<string>() : answeredAfter(there, at);
    if (at < 0) steps.push(step);
    for (const { id = "", name } of step.tool_calls ?? []) {
      if (answered.has(id)) continue;
      const effect = stored.find((each) => each.call === keyOf(step, id));
      const result = effect && resultOf(effect, { id, name });
      (at < 0 ? steps : lacking).push(result?.message ?? interrupted({ id, name }));
      fields = together(fields, result?.fields ?? {});
    }
  }
  return { lacking, steps, fields };
}

function answeredAfter(there: readonly BaseMessage[], at: number): ReadonlySet<string> {
  const end = there.findIndex((message, index) => index > at && !ToolMessage.isInstance(message));
  const results = there
    .slice(at + 1, end < 0 ? undefined : end)
    .filter((each) => ToolMessage.isInstance(each));
  return new Set(results.map((result) => result.tool_call_id));
}

/** How it is written down what a call that is not made gives for now. */
export function keptWords(content: string): string {
  return JSON.stringify({ content } satisfies Kept);
}

/** Servers of models may count their calls anew with each message. */
export function keyOf(step: AIMessage, call: string): string {
  return `${step.id ?? ""}/${call}`;
}

type Kept = {
  readonly content: string;
  readonly status?: "success" | "error";
  readonly fields?: Readonly<Record<string, unknown>>;
};

function kept(called: Called, { id }: Pick<Calling["call"], "id">): Kept {
  if (!isCommand(called)) return { content: called.text, ...statusOf(called) };
  const { messages = [], ...fields } = (called.update ?? {}) as {
    readonly messages?: readonly BaseMessage[];
  }; // as tools write it
  const result = messages.find((each) => ToolMessage.isInstance(each) && each.tool_call_id === id);
  return {
    content: result?.text ?? "",
    ...(ToolMessage.isInstance(result) ? statusOf(result) : {}),
    ...(Object.keys(fields).length === 0 ? {} : { fields }),
  };
}

function statusOf({ status }: ToolMessage): { readonly status?: "success" | "error" } {
  return status === undefined ? {} : { status };
}

function resultOf(
  { result }: StoredEffect,
  { id, name }: Pick<Calling["call"], "id" | "name">,
): { readonly message: ToolMessage; readonly fields: Readonly<Record<string, unknown>> } {
  if (result === undefined)
    return {
      message: new ToolMessage({ content: UNKNOWN, tool_call_id: id, name, status: "error" }),
      fields: {},
    };
  const { content, status, fields = {} } = JSON.parse(result) as Kept; // as effectsOnce writes it
  const message = new ToolMessage({
    content,
    tool_call_id: id,
    name,
    ...(status === undefined ? {} : { status }),
  });
  return { message, fields };
}

/** Two updates of one thread that its reducers would have taken one after the other. */
function together(
  one: Readonly<Record<string, unknown>>,
  other: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const merged = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const before = merged[name];
    if (Array.isArray(before) && Array.isArray(value))
      merged[name] = [...(before as unknown[]), ...(value as unknown[])];
    else if (isObject(before) && isObject(value)) merged[name] = { ...before, ...value };
    else merged[name] = value;
  }
  return merged;
}
