import type { AgentDefinition } from "../../core/agent.ts";
import type { Todo } from "../state.ts";
import { todoWords, WRITE_TODOS } from "../tools/todos.ts";
import { askForBetter, isFinal, noted } from "./again.ts";
import type { AroundModel, Asking, StageParts } from "./stage.ts";
import { callsIn, perTurn, sinceAsked } from "./this-turn.ts";

/** So often in a turn an answer is sent back. */
const SENT_BACK = 2;

/**
 * Keeps an agent to its list: it is reminded of one that it no longer sees, and an answer that leaves items open without a
 * word of them is sent back. What was sent back is not kept, and after the second time the answer is let through.
 */
export function keptToList({ name, todos }: AgentDefinition, { log }: Pick<StageParts, "log">): AroundModel {
  if (!todos) return (asking, next) => next(asking);
  const sentBackIn = perTurn(() => ({ times: 0 }));
  return async (asking, next) => {
    const open = openIn(asking.state.todos);
    const seen = open.length === 0 || written(asking.messages);
    let said = await next(seen ? asking : noted(asking, reminder(asking.state.todos ?? [])));
    // A list of an earlier turn is not what this answer is about.
    if (open.length === 0 || !written(sinceAsked(asking))) return said;
    const sentBack = sentBackIn(asking);
    while (sentBack.times < SENT_BACK && isFinal(said.answer) && leavesUnsaid(said.answer.text, open)) {
      sentBack.times += 1;
      log.debug(
        { agent: name, open: open.length },
        "an answer leaves items of the list open; it is sent back",
      );
      const better = await askForBetter(asking, next, said, { text: unfinished(open), agent: name, log });
      if (better === undefined) return said;
      said = better;
    }
    return said;
  };
}

function openIn(todos: readonly Todo[] = []): readonly Todo[] {
  return todos.filter(({ status }) => status !== "completed");
}

function written(messages: Asking["messages"]): boolean {
  return callsIn(messages).some((calls) => calls.some(({ name }) => name === WRITE_TODOS));
}

function reminder(todos: readonly Todo[]): string {
  return `your list of what is to be done is no longer in view. It is:\n${todoWords(todos)}\nIf it is no longer wanted, write an empty one.`;
}

function unfinished(open: readonly Todo[]): string {
  return (
    `you were about to answer, and these items of your list are open:\n${todoWords(open)}\nGo on with them, or bring ` +
    "the list up to date, or say in your answer what is left open and why. Your last words were not sent: write the whole answer anew."
  );
}

/** Whether an answer neither speaks of an open item nor asks something that it waits for. */
function leavesUnsaid(answer: string, open: readonly Todo[]): boolean {
  if (/\?\W*$/.test(answer.trimEnd())) return false;
  const spoken = new Set(words(answer));
  return !open.some(({ content }) => {
    const named = words(content);
    return named.length > 0 && named.filter((word) => spoken.has(word)).length * 2 > named.length;
  });
}

/** Those that say something: of four letters and more, or figures. */
function words(text: string): readonly string[] {
  return text.toLowerCase().match(/\p{L}{4,}|\p{N}+/gu) ?? [];
}
