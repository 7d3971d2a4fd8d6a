import { stat } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import type { AgentDefinition } from "../../core/agent.ts";
import { deadline } from "../../core/clock.ts";
import { asError } from "../../core/errors.ts";
import { unlessAborted } from "../../core/unless-aborted.ts";
import type { AroundTool, StageParts } from "./stage.ts";
import { refused } from "./tools.ts";

/** What an operator's guard is asked. */
export type GuardedCall = {
  readonly tool: string;
  /** A copy: what a guard changes in it changes nothing. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly agent: string;
  /** "group" also where nobody is spoken with, as in the background. */
  readonly chat: "private" | "group";
  /** Of a subagent, the one for which it works. */
  readonly thread: string;
};

type Verdict =
  | { readonly allow: true; readonly asks?: true }
  | { readonly allow: false; readonly why: string };

const PATIENCE_MS = 5_000;
const WHY_CHARACTERS = 500;

/**
 * Asks the operator's module about each call of a tool: its default export is a function of a GuardedCall that gives a
 * boolean, or `{ allow, why }`, or "ask" where a person is to decide, or a promise of one. Whatever is none of these is a no.
 */
export function guarded(
  { name: agent, guard }: Pick<AgentDefinition, "name" | "guard">,
  { clock, log }: Pick<StageParts, "clock" | "log">,
): AroundTool {
  if (guard === undefined) return async (calling, next) => await next(calling);
  return async (calling, next) => {
    const { call, turn, signal } = calling;
    const limit = deadline(clock, PATIENCE_MS, new Error("the guard took longer than 5 s"));
    let verdict: Verdict;
    try {
      verdict = await unlessAborted(ask(guard, call, turn, agent), limit.signal);
      if (!verdict.allow) log.info({ agent, tool: call.name }, "the guard has refused a call of a tool");
    } catch (err) {
      if (signal?.aborted) throw signal.reason;
      // What a guard throws may hold what it was asked about; that it did not load, or hung, does not.
      const told = err instanceof Unasked ? { err: err.cause } : {};
      log.error({ agent, tool: call.name, ...told }, "the guard gave no verdict: the call is refused");
      verdict = { allow: false, why: "" };
    } finally {
      limit.clear();
    }
    if (verdict.allow) return await next(verdict.asks ? { ...calling, asks: true } : calling);
    const why = verdict.why.trim().slice(0, WHY_CHARACTERS).toWellFormed();
    return refused(call, `Error: this call is not allowed here${why === "" ? "." : `: ${why}`}`);
  };
}

/** Nothing of the call is in what it was caused by. */
class Unasked extends Error {}

async function ask(
  path: string,
  call: { readonly name: string; readonly args: Readonly<Record<string, unknown>> },
  turn: Parameters<AroundTool>[0]["turn"],
  agent: string,
): Promise<Verdict> {
  let judge: unknown;
  try {
    // A file that was changed is loaded again, its own imports are not.
    const { mtimeMs } = await stat(path);
    const module = (await import(`${pathToFileURL(path).href}?changed=${mtimeMs}`)) as { default?: unknown }; // any module
    judge = module.default;
    if (typeof judge !== "function") throw new Error("the guard has no function as its default export");
  } catch (cause) {
    throw new Unasked("the guard could not be loaded", { cause: asError(cause) });
  }
  const asked: GuardedCall = {
    tool: call.name,
    args: structuredClone(call.args),
    agent,
    chat: turn?.local?.chat ?? turn?.behind?.chat ?? "group",
    thread: turn?.thread ?? turn?.behind?.thread ?? "",
  };
  return verdictOf(await (judge(asked) as unknown));
}

function verdictOf(given: unknown): Verdict {
  if (given === true) return { allow: true };
  if (given === "ask") return { allow: true, asks: true };
  if (given === false) return { allow: false, why: "" };
  if (typeof given !== "object" || given === null) throw new Error("the guard gave no verdict");
  const { allow, why } = given as { readonly allow?: unknown; readonly why?: unknown }; // looked at here
  if (allow === true) return { allow: true };
  if (allow === false) return { allow: false, why: typeof why === "string" ? why : "" };
  throw new Error("the guard gave no verdict");
}
