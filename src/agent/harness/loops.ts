import { AIMessage } from "@langchain/core/messages";
import type { AgentDefinition } from "../../core/agent.ts";
import { say } from "../../core/sentences.ts";
import { ROUNDS } from "../steps.ts";
import { answerWith, noted } from "./again.ts";
import { type AroundModel, type Asking, both, type Said, type StageParts } from "./stage.ts";
import { roundsInTurn } from "./this-turn.ts";

type Call = { readonly name: string; readonly args: Readonly<Record<string, unknown>> };
type Round = readonly Call[];

/** Rounds that are looked back upon: what is done again after that many others is no circle. */
const WINDOW = 20;
/** The same calls with the same arguments, so often. */
const REPEATED = { remind: 3, stop: 5 };
/** Any calls of one tool in a turn. */
const OF_ONE_TOOL = { remind: 30, stop: 50 };

/**
 * Ends circles: the model is told when it repeats itself, and when it does so for the fifth time its calls are not run
 * and it is asked for its last word. So a turn always ends with an answer, also where it takes more steps than it may.
 */
export function withoutLoops({ name }: AgentDefinition, { log }: Pick<StageParts, "log">): AroundModel {
  const roundsIn = roundsInTurn();
  return async (asking, next) => {
    const rounds = roundsIn(asking);
    if (rounds.length >= ROUNDS) {
      log.warn(
        { agent: name, rounds: rounds.length },
        "a turn has taken all its steps; the model is asked for its last word",
      );
      return await lastWord(asking, next, "you have taken as many steps as you may in one turn");
    }
    const reminder = reminderOf(rounds);
    const said = await next(reminder === undefined ? asking : noted(asking, reminder));
    const circle = circleIn([...rounds, said.answer.tool_calls ?? []]);
    if (circle === undefined) return said;
    log.warn(
      { agent: name, rounds: rounds.length },
      "a turn goes in circles; the model is asked for its last word",
    );
    const last = await lastWord(asking, next, circle);
    return { ...last, update: both(said.update, last.update) };
  };
}

async function lastWord(asking: Asking, next: (asking: Asking) => Promise<Said>, why: string): Promise<Said> {
  const note = `${why}, so no further call is run. Answer the person now with what you have, and say what is missing.`;
  const said = await next({ ...noted(asking, note), toolless: true });
  if ((said.answer.tool_calls?.length ?? 0) === 0) return said;
  return { ...said, answer: spoken(said.answer, asking) };
}

/** What a model says that calls on all the same. */
function spoken(answer: AIMessage, { turn }: Asking): AIMessage {
  const text = answer.text.trim();
  return answerWith(answer, text === "" ? say("answer.stopped", turn?.language) : text, "stopped");
}

function reminderOf(rounds: readonly Round[]): string | undefined {
  const newest = rounds.at(-1);
  if (newest === undefined) return undefined;
  if (timesOf(newest, rounds) >= REPEATED.remind)
    return "you have made the very same calls several times in this turn. Their results will not change: try something else, or answer with what you have.";
  const often = oftenIn(newest, rounds, OF_ONE_TOOL.remind);
  return often === undefined
    ? undefined
    : `you have called ${often} very often in this turn. Come to an end soon, and answer with what you have.`;
}

/** Why the newest calls are not to be run. */
function circleIn(rounds: readonly Round[]): string | undefined {
  const newest = rounds.at(-1) ?? [];
  if (newest.length === 0) return undefined;
  if (timesOf(newest, rounds) >= REPEATED.stop) return "you have made the very same calls again and again";
  const often = oftenIn(newest, rounds, OF_ONE_TOOL.stop);
  return often === undefined ? undefined : `you have called ${often} too often in this turn`;
}

function timesOf(round: Round, rounds: readonly Round[]): number {
  const key = keyOf(round);
  return rounds.slice(-WINDOW).filter((each) => keyOf(each) === key).length;
}

function oftenIn(newest: Round, rounds: readonly Round[], times: number): string | undefined {
  const all = rounds.flat();
  return newest.find(({ name }) => all.filter((call) => call.name === name).length >= times)?.name;
}

/** The same for the same calls, in whatever order they stand. */
export function keyOf(round: Round): string {
  return JSON.stringify(round.map(keyOfCall).toSorted());
}

// What a call is about. Models vary the words beside it, and say the same thing with them.
const SALIENT = ["path", "file_path", "url", "query", "command", "cmd", "pattern", "glob"];
// Another page of the same is not the same.
const PAGES = ["offset", "page", "cursor", "from", "start", "after"];
// To write other things to the same place is not the same either.
const WRITES = new Set(["write_file", "edit_file"]);
const LINES = 200;

function keyOfCall({ name, args }: Call): string {
  const about = SALIENT.filter((key) => args[key] !== undefined);
  const keys = about.length === 0 || WRITES.has(name) ? Object.keys(args).toSorted() : [...about, ...PAGES];
  const values = keys.map((key) => {
    const value = args[key];
    // A few lines further down is the same part of a file.
    return name === "read_file" && key === "offset" ? Math.floor(Number(value) / LINES) : value;
  });
  return JSON.stringify([name, keys, values]);
}
