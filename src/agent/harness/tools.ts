import { SystemMessage, ToolMessage } from "@langchain/core/messages";
import { Command, isCommand, isGraphBubbleUp } from "@langchain/langgraph";
import type { ClientTool, ServerTool } from "@langchain/core/tools";
import { ToolInvocationError } from "langchain";
import type { Clock } from "../../core/clock.ts";
import { asError, hasCode } from "../../core/errors.ts";
import { inQuotes } from "../../core/words.ts";
import { modelKey } from "../model-key.ts";
import { isDeferred, nameOfTool } from "../tools/deferring.ts";
import { shownOf } from "../tools/shelf.ts";
import { plainText } from "../words.ts";
import { refusesTools } from "./errors.ts";
import { withoutMachinePaths } from "./machine-paths.ts";
import type { AroundModel, AroundTool, Called, Calling, StageParts } from "./stage.ts";

const ERROR_CHARACTERS = 500;
/** A tool that has said nothing for so long is given up, unless its `metadata.timeoutSeconds` says otherwise. */
const PATIENCE_SECONDS = 120;

/** A call that nothing was done for, or that failed; `why` is a sentence to the model. */
export function refused(call: Calling["call"], why: string): ToolMessage {
  return new ToolMessage({ content: why, tool_call_id: call.id, name: call.name, status: "error" });
}

/** What stands in the metadata of a tool of ours; a provider's own tools have none. */
export function metadataOf(tool: ClientTool | ServerTool | undefined): Readonly<Record<string, unknown>> {
  return (tool as { readonly metadata?: Record<string, unknown> } | undefined)?.metadata ?? {}; // both have some, or none
}

/** Tells a model that calls what there is not which tools there are: those that it has been shown. */
export function knownTools({ tools = [], shelf }: Pick<StageParts, "tools" | "shelf">): AroundTool {
  return async (calling, next) => {
    const { call, tool, state } = calling;
    if (tool !== undefined) return await next(calling);
    const found = shelf === undefined ? [] : shownOf(shelf.now(), state.promoted);
    const shown = [...tools.filter((each) => !isDeferred(each)), ...found].map(nameOfTool);
    const known = shown.length === 0 ? "You have no tools." : `Your tools are: ${shown.join(", ")}.`;
    return refused(call, `Error: there is no tool ${inQuotes(call.name.slice(0, 64))}. ${known}`);
  };
}

/**
 * Runs a tool so that its result is text without the paths of this machine, and comes in bounded time: pictures in
 * results, and lists of blocks, are refused by most providers. What a tool throws is a result too, since LangChain ends
 * the run with it as soon as anything wraps the tools.
 */
export function plainResults({ clock }: Pick<StageParts, "clock">): AroundTool {
  return async (calling, next) => {
    const { call, tool, turn, signal } = calling;
    try {
      return inWords(await inTime(next(calling), patience(tool), clock, signal), call, turn?.folder);
    } catch (error) {
      if (isGraphBubbleUp(error) || signal?.aborted || hasCode(error, "store.hold_lost")) throw error;
      return refused(call, `Error: ${sentence(error, call, turn?.folder)}`);
    }
  };
}

/** Messages of a tool as plain text, also those in a Command. */
function inWords(called: Called, call: Calling["call"], folder: string | undefined): Called {
  return eachResult(called, (result) => {
    const { id, tool_call_id, name = call.name, status } = result;
    const shown = folder === undefined ? result.text : result.text.replaceAll(folder, "");
    const content = plainText(shown);
    return new ToolMessage({
      ...(id === undefined ? {} : { id }),
      content,
      tool_call_id,
      name,
      ...(status === undefined ? {} : { status }),
    });
  });
}

/** The same with each message of a tool changed, whether it is all that there is or stands in a Command. */
export function eachResult(called: Called, change: (result: ToolMessage) => ToolMessage): Called {
  if (!isCommand(called)) return ToolMessage.isInstance(called) ? change(called) : called;
  const { update } = called;
  if (typeof update !== "object" || update === null || Array.isArray(update)) return called;
  const { messages } = update as { readonly messages?: unknown }; // looked at below
  if (!Array.isArray(messages)) return called;
  return new Command({
    ...(called.graph === undefined ? {} : { graph: called.graph }),
    goto: called.goto as string[], // as it was
    ...(called.resume === undefined ? {} : { resume: called.resume }),
    update: {
      ...update,
      messages: messages.map((each: unknown) => (ToolMessage.isInstance(each) ? change(each) : each)),
    },
  });
}

function patience(tool: Calling["tool"]): number {
  const { timeoutSeconds } = metadataOf(tool);
  return typeof timeoutSeconds === "number" && timeoutSeconds > 0 ? timeoutSeconds : PATIENCE_SECONDS;
}

/** What a tool does once nobody waits for it any more is heard, and left. */
function inTime<T>(
  work: Promise<T>,
  seconds: number,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", onAbort);
    };
    const onAbort = (): void => {
      end();
      reject(asError(signal?.reason));
    };
    const timer = clock.after(seconds * 1_000, () => {
      end();
      reject(new Error(`it took longer than ${seconds} s and was given up; what it has done is not known`));
    });
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(end);
  });
}

function sentence(thrown: unknown, call: Calling["call"], folder: string | undefined): string {
  const unfit = ToolInvocationError.isInstance(thrown);
  const { message } = unfit ? thrown.toolError : asError(thrown);
  const words = plainText(withoutMachinePaths(message, folder));
  const said = unfit
    ? `the arguments do not fit what ${inQuotes(call.name)} takes, so nothing was done: ${words}`
    : words;
  return (said.trim() === "" ? "it failed and said nothing" : said).slice(0, ERROR_CHARACTERS).toWellFormed();
}

/**
 * Asks with tools as long as the model takes any: many models and servers have none, and an agent without tools is
 * better than none. `prompt` is what is said to the agent then.
 */
export function withToolsIfTaken(prompt: string, { log }: Pick<StageParts, "log">): AroundModel {
  const none = new Set<string>();
  return async (asking, next) => {
    const { tools, choice } = asking;
    const key = modelKey(choice);
    const bare = { ...asking, tools: [], system: new SystemMessage(prompt.trim()) };
    if (tools.length === 0) return await next(asking);
    if (none.has(key)) return await next(bare);
    try {
      return await next(asking);
    } catch (error) {
      if (!refusesTools(error)) throw error;
      const said = await next(bare);
      // What was refused where it is not to call any may be that alone.
      if (!asking.toolless) {
        none.add(key);
        log.warn({ model: key }, "a model refuses tools, and is asked without any from now on");
      }
      return said;
    }
  };
}
