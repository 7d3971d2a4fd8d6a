import { isSilent } from "../core/schedules.ts";
import { say } from "../core/sentences.ts";
import { type Asked, ask } from "./asking.ts";
import { compactedWords } from "./compacted.ts";
import type { TurnEnd } from "./ending.ts";
import { languageIn } from "./local.ts";
import { withHeard } from "./meanwhile.ts";
import type { TurnParts } from "./parts.ts";
import { isScheduled } from "./scheduled.ts";

/** Does what a turn is for; gives how it is to end. */
export async function doTurn(parts: TurnParts, asked: Asked): Promise<TurnEnd> {
  return asked.turn.task === "compact" ? await compact(parts, asked) : await answer(parts, asked);
}

async function answer(parts: TurnParts, asked: Asked): Promise<TurnEnd> {
  const { turn, agent, channel, running } = asked;
  const answered =
    turn.task === "export"
      ? await parts.exporting(turn)
      : await ask(parts, asked, (question, signal) => parts.runner.run(question, signal));
  const heard = await running.meanwhile.heard(answered.steered);
  // Whatever is said beside that is said to nobody, unless somebody has written meanwhile.
  if (isScheduled(turn) && heard.length === 0 && isSilent(answered.markdown))
    return {
      state: "done",
      error: "",
      bodies: [],
      silent: true,
      corrected: answered.corrected,
      known: answered,
    };
  const whole = withHeard(
    turn,
    heard.flatMap(({ messages }) => messages),
  );
  const said = await parts.pieces.answer(channel, turn.hold.chat, agent, answered);
  const refused = answered.refused.map((name) => say("media.refused_by_model", languageIn(turn), { name }));
  return {
    ...said,
    state: "done",
    error: "",
    bodies: [...refused.flatMap((words) => parts.pieces.words(channel, words)), ...said.bodies],
    corrected: answered.corrected,
    heard,
    ...(answered.asks === undefined ? {} : { waits: { thread: turn.thread, interrupt: answered.asks } }),
    ...(answered.answered === undefined ? {} : { answered: answered.answered }),
    known: answered,
    touches: turn.task === undefined ? parts.memory.touched(whole, agent) : [],
  };
}

/** Sums the thread up, and tells what came of it. */
async function compact(parts: TurnParts, asked: Asked): Promise<TurnEnd> {
  const { turn } = asked;
  const compacted = await ask(parts, asked, (question, signal) => parts.runner.compact(question, signal));
  const window = compacted.done ? compacted.after : compacted.now;
  const words = compactedWords(compacted, languageIn(turn));
  return { state: "done", error: "", words, known: window.window === 0 ? {} : { window } };
}
