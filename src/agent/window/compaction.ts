import { randomUUID } from "node:crypto";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { AgentDefinition } from "../../core/agent.ts";
import { systemCode } from "../../core/errors.ts";
import { say } from "../../core/sentences.ts";
import { modelKey } from "../model-key.ts";
import { noteIn } from "../messages.ts";
import { isOverflow, reasonOf } from "../harness/errors.ts";
import {
  type AroundModel,
  type Asking,
  both,
  type Said,
  type StageParts,
  type Update,
} from "../harness/stage.ts";
import { perTurn } from "../harness/this-turn.ts";
import type { Summary } from "../state.ts";
import { withShortArguments } from "./arguments.ts";
import { appendHistory, type History } from "./history.ts";
import { fixedTokens, measureOf } from "./measure.ts";
import { windowOf } from "./models.ts";
import { clippedTail, inPlaces } from "./overflow.ts";
import { exceedsLimits, FULL, type Measure, splitForRoom, splitForSummary } from "./plan.ts";
import { gapMessage, summaryMessage } from "./summary.ts";
import { sumUp, upToLast } from "./sum-up.ts";
import { noteGuess } from "./tokens.ts";

/** A request as far as it is made smaller here. */
type Fitted = {
  /** Of the thread, with short arguments, and the notes among them. */
  readonly messages: readonly BaseMessage[];
  readonly summary: Summary | undefined;
  /** How many are left out of it that are in the thread still. */
  readonly gap: number;
  /** What the thread is to keep of that. */
  readonly update: Update;
};

/**
 * Keeps a thread within its model's window. When a request fills it to 0.85, or the limits would leave something out, all
 * but the newest part is summed up and leaves the thread for its history file. Where that fails the request is
 * made smaller for this time, and the next turn tries again. What the provider finds too long all the same is made
 * smaller once more; where even that is too long, the person is told so: a thread is never stuck.
 */
export function withWindow(definition: AgentDefinition, parts: StageParts): AroundModel {
  const triedOf = perTurn(() => ({ failed: false }));
  return async (asking, next) => {
    const { limits } = definition;
    const window = windowOf(limits, asking.choice, asking.model.profile);
    const messages = withShortArguments(asking.messages);
    const measure = measureOf(messages, { agent: definition, choice: asking.choice, window });
    const fixed = fixedTokens(asking.system, asking.tools);
    const { _summary: summary } = asking.state;
    const whole: Fitted = { messages, summary, gap: 0, update: {} };
    const sizeOf = (fitted: Fitted): number =>
      inRequest(fitted, parts.files).reduce(
        (sum, message) => sum + measure.tokensOf(message),
        measure.factor * fixed,
      );
    const room: Room = { definition, parts, asking, measure, tried: triedOf(asking), files: parts.files };

    const full = sizeOf(whole) > window * FULL || exceedsLimits(messages, limits);
    const first = full ? await smaller(whole, room, { fixed: measure.factor * fixed, force: false }) : whole;
    try {
      return await ask(first);
    } catch (thrown) {
      if (asking.signal?.aborted || !isOverflow(thrown)) throw thrown;
      parts.log.warn(
        { model: modelKey(asking.choice) },
        "a request was too long for its model, and is made shorter",
      );
    }
    const second = await smallest(first, room);
    if (second === first) return { answer: tooLong(asking), update: first.update };
    try {
      return await ask(second);
    } catch (thrown) {
      if (asking.signal?.aborted || !isOverflow(thrown)) throw thrown;
      return { answer: tooLong(asking), update: second.update };
    }

    async function ask(fitted: Fitted): Promise<Said> {
      const said = await next({ ...asking, messages: inRequest(fitted, parts.files) });
      const tokens = Math.round(sizeOf(fitted) / measure.factor);
      noteGuess(said.answer, { tokens, fixed, model: modelKey(asking.choice) });
      return { ...said, update: both(fitted.update, said.update) };
    }
  };
}

type Room = {
  readonly definition: AgentDefinition;
  readonly parts: StageParts;
  readonly asking: Asking;
  readonly measure: Measure;
  readonly tried: { failed: boolean };
  readonly files: boolean;
};

/** The messages of the request: what stands for earlier ones comes first. */
function inRequest({ messages, summary, gap }: Fitted, files: boolean): readonly BaseMessage[] {
  return [
    ...(summary === undefined ? [] : [summaryMessage(summary, files)]),
    ...(gap === 0 ? [] : [gapMessage(gap)]),
    ...messages,
  ];
}

/** Of a window: to sum up less than that is not worth a call of the model. */
const WORTH = 0.05;

async function smaller(
  whole: Fitted,
  room: Room,
  { fixed, force }: { readonly fixed: number; readonly force: boolean },
): Promise<Fitted> {
  const { measure, tried } = room;
  const { kept, dropped } = splitForSummary(whole.messages, measure);
  const gain = dropped.reduce((sum, message) => sum + measure.tokensOf(message), 0);
  const worth = force || gain > measure.window * WORTH || exceedsLimits(whole.messages, measure.limits);
  if (dropped.length === 0 || !worth) return whole;
  if (!tried.failed) {
    const summed = await summedUp(whole, { kept, dropped }, room);
    if (summed) return summed;
  }
  const fitting = force ? { kept, dropped } : splitForRoom(whole.messages, measure, fixed);
  return { ...whole, messages: fitting.kept, gap: whole.gap + fitting.dropped.length };
}

/** Undefined where the model or the disk has failed: the turn must not fail for it. */
async function summedUp(
  whole: Fitted,
  { kept, dropped }: { readonly kept: readonly BaseMessage[]; readonly dropped: readonly BaseMessage[] },
  { definition, parts, asking, measure, tried }: Room,
): Promise<Fitted | undefined> {
  const { choice, model, signal, turn } = asking;
  const counting = { agent: definition, choice, onUse: turn?.onUse, allowance: turn?.allowance };
  const history = historyOf(parts, asking);
  try {
    const { summary, gone } = await sumUp(
      {
        dropped: asSaid(dropped, asking),
        upTo: asSaid(upToLast(whole.messages, dropped), asking),
        earlier: whole.summary,
        ...(history === undefined ? {} : { history }),
      },
      { model, window: measure.window, signal, counting, again: parts },
    );
    const update = both(whole.update, { messages: gone, _summary: summary });
    return { messages: kept, summary, gap: 0, update };
  } catch (err) {
    if (signal?.aborted) throw err;
    tried.failed = true;
    parts.log.warn(
      { model: modelKey(choice), reason: reasonOf(err), code: systemCode(err) },
      "a thread could not be summed up; a part of it is left out of a request, and the next turn tries again",
    );
    return undefined;
  }
}

/** Where what leaves the thread is kept; nowhere for work without a thread. */
function historyOf({ blobs }: StageParts, { turn }: Asking): History | undefined {
  if (turn?.thread === undefined) return undefined;
  return { folder: turn.folder, thread: turn.thread, blobs };
}

/** Messages of the thread as they stand there, without the notes among them. */
function asSaid(messages: readonly BaseMessage[], { messages: said }: Asking): readonly BaseMessage[] {
  const byId = new Map(said.map((message) => [message.id, message]));
  return messages.filter((message) => !noteIn(message)).map((message) => byId.get(message.id) ?? message);
}

/** For a provider that finds the request too long: the last results cut, and all but the newest part summed up. */
async function smallest(fitted: Fitted, room: Room): Promise<Fitted> {
  const clipped = clippedTail(fitted.messages);
  if (clipped === undefined) return await smaller(fitted, room, { fixed: 0, force: true });
  const history = historyOf(room.parts, room.asking);
  // What is cut off stands nowhere else.
  if (history) await appendHistory(history, asSaid(fitted.messages, room.asking)).catch(() => "");
  const messages = inPlaces(fitted.messages, clipped);
  const cut = { ...fitted, messages, update: both(fitted.update, { messages: clipped }) };
  return await smaller(cut, room, { fixed: 0, force: true });
}

/** What is said where even the newest message alone is more than the model takes. */
function tooLong({ turn }: Asking): AIMessage {
  return new AIMessage({
    id: randomUUID(),
    content: say("turn.model_overflow", turn?.language),
    additional_kwargs: { perchNotice: "too_long" },
  });
}
