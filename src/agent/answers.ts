import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { AgentAnswer } from "../core/agent.ts";
import { offerIn } from "./choices.ts";
import { withPresented } from "./files/presented.ts";
import { isCorrection, isQuestion, isSteered, perchContent } from "./messages.ts";
import { nameOf } from "./words.ts";

/** What a person is sent, read out of a thread. */
export type Spoken = Pick<AgentAnswer, "markdown" | "choices"> & Told;

/** What came while it was made and stands before it. */
type Told = Pick<AgentAnswer, "corrected" | "steered">;

/**
 * What was finally said after this message and before the next one of a person; undefined if nothing was. Graphs write
 * human messages too, to hand their agents work or results: those are no person's.
 */
export function answerTo(id: string, messages: readonly BaseMessage[]): Spoken | undefined {
  const turn = after(id, messages);
  const said = turn.findLast((message) => AIMessage.isInstance(message));
  if (said === undefined || (said.tool_calls?.length ?? 0) > 0) return undefined;
  const offer = offerIn(turn);
  const text = [said.text, offer?.beside ?? ""].find((words) => words.trim() !== "");
  const markdown = withPresented(text ?? "", turn);
  if (markdown === "") return undefined;
  return { markdown, ...toldAfter(id, messages), ...(offer ? { choices: offer.choices } : {}) };
}

/** What came while the message of this id was answered, and stands behind it. */
export function toldAfter(id: string, messages: readonly BaseMessage[]): Told {
  const turn = after(id, messages);
  const [corrected, steered] = [isCorrection, isSteered].map((came) =>
    turn.filter(came).map((message) => message.id ?? ""),
  ) as [string[], string[]]; // as many as there are
  return {
    ...(corrected.length === 0 ? {} : { corrected }),
    ...(steered.length === 0 ? {} : { steered }),
  };
}

/** What stands behind a message and before the next one that a person has asked with; nothing where it is not there. */
function after(id: string, messages: readonly BaseMessage[]): readonly BaseMessage[] {
  const asked = messages.findLastIndex((message) => message.id === id);
  // What stands before the first question belongs to one that was summed up.
  if (asked < 0) return [];
  const next = messages.findIndex((message, at) => at > asked && isQuestion(message));
  return messages.slice(asked + 1, next < 0 ? undefined : next);
}

/** What was said last since the last message of a person, and did not stand before. */
export function answerSince(
  before: readonly BaseMessage[],
  messages: readonly BaseMessage[],
): Spoken | undefined {
  const last = lastOfPerson(messages);
  const said = messages.findLast((message) => AIMessage.isInstance(message));
  if (last?.id === undefined || before.some(({ id }) => id === said?.id)) return undefined;
  return answerTo(last.id, messages);
}

export function lastOfPerson(messages: readonly BaseMessage[]): BaseMessage | undefined {
  return messages.findLast(isQuestion);
}

/** Names of the media of a message that a model refused; the harness has written them down beside it. */
export function refusedOf(message: BaseMessage | undefined): readonly string[] {
  const { content = [], refused = {} } = (message && perchContent(message)) ?? {};
  const blobs = new Set(Object.values(refused).flat());
  const names = content.flatMap((block) => {
    if (block.type === "text") return [];
    const own = [block.blob, ...(block.stills ?? []).map(({ blob }) => blob)];
    return own.some((blob) => blobs.has(blob)) ? [nameOf(block)] : [];
  });
  return [...new Set(names)];
}
