import type { ContentBlock } from "../core/blocks.ts";
import type { StoredEffect } from "../core/effects.ts";
import { say, type Language } from "../core/sentences.ts";
import { isObject } from "./harness/calls.ts";

/** What a graph, or a tool of it, waits to be told: it has called `interrupt(value)`. */
export type Interrupt = { readonly id: string; readonly value: unknown };

/** What a thread waits for, the oldest first; `snapshot` is what its graph gives of its state. */
export function pendingIn({ tasks }: { readonly tasks?: unknown }): readonly Interrupt[] {
  if (!Array.isArray(tasks)) return [];
  // One that was answered stays with its task until all beside it have ended; the task has a result by then.
  return (tasks as readonly { readonly interrupts?: unknown; readonly result?: unknown }[]).flatMap(
    ({ interrupts, result }) => (result === undefined ? interruptsOf(interrupts) : []),
  );
}

// As LangGraph names it.
const INTERRUPT = "__interrupt__";

/** What a run has ended with. */
export function raisedIn(values: unknown): readonly Interrupt[] {
  return interruptsOf((values as { readonly [INTERRUPT]?: unknown } | null | undefined)?.[INTERRUPT]);
}

function interruptsOf(list: unknown): readonly Interrupt[] {
  if (!Array.isArray(list)) return [];
  return (list as readonly Partial<Interrupt>[]).flatMap(({ id, value }) =>
    typeof id === "string" ? [{ id, value }] : [],
  );
}

/** How it is written down that a turn has begun to answer one: its words stand in no thread. Its step is their number. */
export function answering(id: string): string {
  return `${ANSWERING}${id}`;
}

/** The interrupt that an earlier attempt at a turn has begun to answer, and what it has done outside beside that. */
export function answeredBefore(stored: readonly StoredEffect[]): {
  readonly answered: string | undefined;
  /** Of how many messages the turn was made then. */
  readonly messages: number;
  readonly acted: readonly StoredEffect[];
} {
  const first = stored.find(({ call }) => call.startsWith(ANSWERING));
  return {
    answered: first?.call.slice(ANSWERING.length),
    messages: Number(first?.step) || 1,
    acted: stored.filter(({ call }) => !call.startsWith(ANSWERING)),
  };
}

const ANSWERING = "interrupt:";

/** As an answer holds it: the question, and what may be pressed below it. */
export type Question = {
  readonly markdown: string;
  readonly choices?: readonly string[];
  /** What it is the question of. */
  readonly asks?: string;
};

const MOST_CHOICES = 12;
const CHOICE_CHARACTERS = 200;

/** What a person is asked: a text, or `{question | message, choices?}`; for anything else a sentence of ours. */
export function questionOf(
  { id, value }: Interrupt,
  language: Language | undefined,
): Required<Pick<Question, "asks">> & Question {
  const asks = id;
  if (typeof value === "string" && value.trim() !== "") return { markdown: value, asks };
  const { question, message, choices } = (isObject(value) ? value : {}) as {
    readonly question?: unknown;
    readonly message?: unknown;
    readonly choices?: unknown;
  }; // looked at here
  const said = [question, message].find((each) => typeof each === "string" && each.trim() !== "");
  const offered = Array.isArray(choices)
    ? choices.filter((each): each is string => typeof each === "string" && each.trim() !== "")
    : [];
  const labels = [...new Set(offered.map((each) => each.trim().slice(0, CHOICE_CHARACTERS).toWellFormed()))];
  return {
    markdown: typeof said === "string" ? said : say("agent.asks", language ?? "en"),
    ...(labels.length === 0 ? {} : { choices: labels.slice(0, MOST_CHOICES) }),
    asks,
  };
}

/** What was chosen, where the choices stand numbered in a chat without buttons; else the words themselves. */
export function chosenOf(asked: Interrupt, words: string): string {
  const { choices = [] } = questionOf(asked, undefined);
  const number = /^\s*(\d{1,2})[.)]?\s*$/.exec(words)?.[1];
  return choices.includes(words) ? words : (choices[Number(number) - 1] ?? words);
}

/**
 * What a person has said, bare of the frames around it; undefined where there is more to their message than words, which
 * an answer could not hold.
 */
export function answerIn(content: readonly ContentBlock[]): string | undefined {
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  if (texts.length < content.length) return undefined;
  // Each line of a frame begins with a sign that no line of a person's begins with.
  const said = texts.filter((text) => text.split("\n").some((line) => !/^\s*[[>]/.test(line)));
  const words = (said.length === 0 ? texts.slice(-1) : said).join("\n").trim();
  return words === "" ? undefined : words;
}
