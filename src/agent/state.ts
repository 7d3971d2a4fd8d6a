import { ReducedValue, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import type { BackgroundTask, TaskStatus } from "../core/background.ts";
import type { MediaBlock } from "../core/blocks.ts";
import type { WindowUse } from "../core/usage.ts";

/** Paths as the agent names them; they begin at the folder of its chat. */
export type ThreadData = { readonly uploads: string; readonly workspace: string; readonly outputs: string };

export type Todo = {
  readonly content: string;
  readonly status: "pending" | "in_progress" | "completed";
};

/** What was put into `uploads` with the message that is answered. */
export type UploadedFile = { readonly path: string; readonly mimeType: string; readonly bytes: number };

/** Files that the agent has looked at and that the model has not been shown yet, by path; references, never bytes. */
export type ViewedImages = Readonly<Record<string, readonly MediaBlock[]>>;

/** Deferred tools that were searched for; they hold for a catalogue of tools with this hash alone. */
export type Promoted = { readonly catalogue: string; readonly names: readonly string[] };

/** The summary that stands for what was taken out of the thread. */
export type Summary = {
  readonly text: string;
  /** Where all of it can be read: "/history/helper-1.md"; "" for work without a thread. */
  readonly path: string;
  /** How often the thread was summed up. */
  readonly times: number;
  /** Which message has asked for it by a command, and what it came to; `count` messages were left. */
  readonly asked?: {
    readonly id: string;
    readonly count: number;
    readonly before: WindowUse;
    readonly after: WindowUse;
  };
};

/** A word to the model about where it is, and the id of the message that it stands before from then on. */
export type LocalWord = { readonly before: string; readonly text: string };

/**
 * Everything that a thread of ours keeps, declared once: LangGraph takes the first declaration of a field and its reducer.
 * LangGraph's own are `messages`, `jumpTo` and `structuredResponse`. Every reducer is idempotent, for input and hooks are
 * applied again. Names that begin with "_" are private: they are neither results nor input.
 */
export const STATE = new StateSchema({
  sandbox: keeping<Readonly<{ id: string }> | undefined>(undefined, sameSandbox),
  threadData: keeping<ThreadData | undefined>(undefined, newer),
  title: keeping<string | undefined>(undefined, first),
  artifacts: keeping<readonly string[]>([], union),
  todos: keeping<readonly Todo[]>([], newer),
  uploadedFiles: keeping<readonly UploadedFile[]>([], newer),
  viewedImages: keeping<ViewedImages>({}, viewed),
  promoted: keeping<Promoted | undefined>(undefined, promotedBy),
  asyncTasks: keeping<Readonly<Record<string, BackgroundTask>>>({}, ledger),
  _summary: keeping<Summary | undefined>(undefined, newer),
  _local: keeping<readonly LocalWord[]>([], newer),
});

/** The fields of a thread as stages and tools read them. */
export type State = {
  readonly sandbox?: { readonly id: string };
  readonly threadData?: ThreadData;
  readonly title?: string;
  readonly artifacts?: readonly string[];
  readonly todos?: readonly Todo[];
  readonly uploadedFiles?: readonly UploadedFile[];
  readonly viewedImages?: ViewedImages;
  readonly promoted?: Promoted;
  readonly asyncTasks?: Readonly<Record<string, BackgroundTask>>;
  readonly _summary?: Summary;
  readonly _local?: readonly LocalWord[];
};

/** `next` of undefined keeps what is there, for every field. */
function keeping<Value>(
  initial: Value,
  reduce: (now: Value, next: NonNullable<Value>) => Value,
): ReducedValue<Value, Value | undefined> {
  return new ReducedValue(
    z.custom<Value>().default(() => initial as never),
    {
      // Optional, or the second turn of a thread is refused.
      inputSchema: z.custom<Value | undefined>().optional(),
      reducer: (now: Value, next: Value | undefined) =>
        next === undefined || next === null ? now : reduce(now, next),
    },
  );
}

function newer<Value>(_now: Value, next: NonNullable<Value>): Value {
  return next;
}

function first<Value>(now: Value, next: NonNullable<Value>): Value {
  return now ?? next;
}

/** @throws Error where two are named: a call could reach what belongs to another. */
function sameSandbox(
  now: { readonly id: string } | undefined,
  next: { readonly id: string },
): { readonly id: string } {
  if (now !== undefined && now.id !== next.id)
    throw new Error(`two sandboxes were named for one thread, "${now.id}" and "${next.id}"`);
  return now ?? next;
}

function union<Item>(now: readonly Item[], next: readonly Item[]): readonly Item[] {
  return [...new Set([...now, ...next])];
}

/** What was shown is cleared with `{}`. */
function viewed(now: ViewedImages, next: ViewedImages): ViewedImages {
  return Object.keys(next).length === 0 ? {} : { ...now, ...next };
}

function promotedBy(now: Promoted | undefined, next: Promoted): Promoted | undefined {
  if (next.names.length === 0) return now;
  return now?.catalogue === next.catalogue
    ? { ...now, names: union(now.names, next.names) }
    : { ...next, names: union([], next.names) };
}

const OVER: ReadonlySet<TaskStatus> = new Set(["success", "error", "cancelled"]);

function ledger(
  now: Readonly<Record<string, BackgroundTask>>,
  next: Readonly<Record<string, BackgroundTask>>,
): Readonly<Record<string, BackgroundTask>> {
  const kept = Object.entries(next).filter(([id, task]) => {
    const before = now[id];
    return before === undefined || !OVER.has(before.status) || OVER.has(task.status);
  });
  const all = Object.entries({ ...now, ...Object.fromEntries(kept) });
  return Object.fromEntries(
    all.toSorted(([one], [other]) => numberOf(one) - numberOf(other)).slice(-LEDGER_TASKS),
  );
}

/** Older ones the store knows. */
const LEDGER_TASKS = 50;

/** "t3" is 3. */
function numberOf(task: string): number {
  return Number(task.slice(1));
}
