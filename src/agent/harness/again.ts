import { type AIMessage, HumanMessage } from "@langchain/core/messages";
import { asError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { remade, withoutRawCalls } from "../remade.ts";
import { type Asking, both, type Said } from "./stage.ts";

/** A word of ours to the model. It stands in one request, on the human side, and never in the thread. */
export function noted(asking: Asking, text: string): Asking {
  const note = new HumanMessage(`[A note from the system that runs you, not from a person: ${text}]`);
  return { ...asking, messages: [...asking.messages, note] };
}

/** Asks again with a note in the place of an answer that is not to be kept; what was noticed beside it is. */
export async function askAgain(
  asking: Asking,
  next: (asking: Asking) => Promise<Said>,
  discarded: Said,
  text: string,
): Promise<Said> {
  const said = await next(noted(asking, text));
  return { ...said, update: both(discarded.update, said.update) };
}

/** The same for an answer that will do: undefined where the model fails, so that what is there can be kept. */
export async function askForBetter(
  asking: Asking,
  next: (asking: Asking) => Promise<Said>,
  said: Said,
  { text, agent, log }: { readonly text: string; readonly agent: string; readonly log: Log },
): Promise<Said | undefined> {
  try {
    return await askAgain(asking, next, said, text);
  } catch (error) {
    if (asking.signal?.aborted) throw error;
    log.warn({ agent, err: asError(error) }, "the model failed when it was asked again; its answer is kept");
    return undefined;
  }
}

/** Why the words of an answer are not, or not only, the model's. */
export type Notice = "refused" | "cut" | "blank" | "stopped";

/**
 * An answer of the model with this text in the place of all that it said. Every form of its calls is gone, and so
 * are thoughts, for a provider refuses them where they were cut off.
 */
export function answerWith(answer: AIMessage, text: string, notice: Notice): AIMessage {
  const { response_metadata } = withoutRawCalls(answer);
  return remade(answer, {
    content: text,
    tool_calls: [],
    invalid_tool_calls: [],
    additional_kwargs: { perchNotice: notice },
    response_metadata,
  });
}

/** Whether this is what the model wants to say, rather than a step on the way or a word of ours. */
export function isFinal(answer: AIMessage): boolean {
  return (answer.tool_calls?.length ?? 0) === 0 && answer.additional_kwargs["perchNotice"] === undefined;
}
