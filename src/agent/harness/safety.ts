import { randomUUID } from "node:crypto";
import { AIMessage } from "@langchain/core/messages";
import type { AgentDefinition } from "../../core/agent.ts";
import { say, type SentenceKey } from "../../core/sentences.ts";
import { offerIn } from "../choices.ts";
import { answerWith, askAgain, type Notice } from "./again.ts";
import type { AroundModel, Asking, Said, StageParts } from "./stage.ts";
import { refusalIn, stopOf, stopThrown, type Stop } from "./stops.ts";
import { sinceAsked } from "./this-turn.ts";

type Fault = Stop | "blank" | "unreadable";

/**
 * What a model says becomes fit to be kept and shown: calls of a refused or cut answer never run, text that was cut says
 * so, and what is blank is asked for once more and then explained. Nothing blank leaves here: a provider refuses it later.
 */
export function withSafety({ name }: AgentDefinition, { log }: Pick<StageParts, "log">): AroundModel {
  return async (asking, next) => {
    const first = await heard(asking, next);
    const fault = faultOf(first.answer);
    if (fault === undefined) return first;
    log.warn({ agent: name, fault }, "an answer of the model cannot be used as it is");
    const note = noteFor(fault, first.answer);
    const beside = fault === "blank" ? (offerIn(sinceAsked(asking))?.beside.trim() ?? "") : "";
    // Who asks with buttons has often said everything beside the call.
    if (beside !== "") return { ...first, answer: answerWith(first.answer, beside, "blank") };
    if (note === undefined) return explained(first, fault, asking);
    const second = await askAgain(asking, (again) => heard(again, next), first, note);
    const still = faultOf(second.answer);
    return still === undefined ? second : explained(second, still, asking);
  };
}

/** A client that throws for want of content has been answered all the same. */
async function heard(asking: Asking, next: (asking: Asking) => Promise<Said>): Promise<Said> {
  try {
    return await next(asking);
  } catch (error) {
    const stop = asking.signal?.aborted ? undefined : stopThrown(error);
    if (stop === undefined) throw error;
    const finish = { refused: "content_filter", cut: "length", blank: "stop" }[stop];
    const answer = new AIMessage({
      id: randomUUID(),
      content: "",
      response_metadata: { finish_reason: finish },
    });
    return { answer, update: {} };
  }
}

function faultOf(answer: AIMessage): Fault | undefined {
  const stop = stopOf(answer);
  if (stop !== undefined) return stop;
  if ((answer.tool_calls?.length ?? 0) > 0) return undefined;
  if ((answer.invalid_tool_calls?.length ?? 0) > 0) return "unreadable";
  return answer.text.trim() === "" ? "blank" : undefined;
}

/** What the model is told where another try may help. */
function noteFor(fault: Fault, answer: AIMessage): string | undefined {
  const called = (answer.tool_calls?.length ?? 0) + (answer.invalid_tool_calls?.length ?? 0) > 0;
  switch (fault) {
    case "refused":
    // The model was told of these as often as it helps; see `withReadableCalls`.
    case "unreadable":
      return undefined;
    case "cut":
      if (called)
        return "your last message was cut off at the longest that you may say, so none of its calls was run. Take smaller steps, with shorter arguments.";
      return answer.text.trim() === ""
        ? "your last message was cut off before you had said anything. Think less, and answer more shortly."
        : undefined;
    case "blank":
      return "your last message was empty. Answer the person now.";
  }
}

const SENTENCES: Readonly<Record<Fault, readonly [notice: Notice, alone: SentenceKey, after?: SentenceKey]>> =
  {
    refused: ["refused", "answer.refused", "answer.refused_here"],
    cut: ["cut", "answer.cut", "answer.cut_here"],
    blank: ["blank", "answer.blank"],
    unreadable: ["blank", "answer.blank"],
  };

function explained(said: Said, fault: Fault, { turn }: Asking): Said {
  const [notice, alone, after] = SENTENCES[fault];
  const text = said.answer.text.trim();
  const refusal = fault === "refused" ? refusalIn(said.answer.additional_kwargs) : "";
  const explanation = say(text === "" || after === undefined ? alone : after, turn?.language);
  const words = text === "" ? (refusal === "" ? explanation : refusal) : text;
  const whole = text === "" || after === undefined ? words : `${fenced(words)}\n\n_${explanation}_`;
  return { ...said, answer: answerWith(said.answer, whole, notice) };
}

/** A block of code that was cut is closed, or what follows would stand in it. */
function fenced(text: string): string {
  let open: string | undefined;
  for (const line of text.split("\n")) {
    const fence = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence === undefined) continue;
    if (open === undefined) open = fence;
    else if (fence.startsWith(open) && line.trim() === fence) open = undefined;
  }
  return open === undefined ? text : `${text}\n${open}`;
}
