import type { CorrectionWords } from "../core/agent.ts";
import type { Correction } from "../store/asides.ts";
import type { ClaimedTurn } from "../store/turns.ts";
import { correctionWords } from "./asides.ts";

/**
 * What was corrected while a turn runs. Each is handed to the agent once; whether it stands in the thread then, the answer
 * says. What does not is told of later: its row is none of the turn's.
 */
export class Corrections {
  readonly #turn: ClaimedTurn;
  /** By the row of the message, the last of each: whoever edits on and on has said one thing. */
  readonly #waiting = new Map<number, CorrectionWords>();

  constructor(turn: ClaimedTurn) {
    this.#turn = turn;
  }

  /** Keeps it for the agent's next step, where it is about a message of this turn. */
  add(correction: Correction): void {
    const message = this.#turn.messages.find(({ id }) => id === correction.about);
    if (!message) return;
    const text = correctionWords(correction, message.speaker);
    this.#waiting.delete(message.id);
    this.#waiting.set(message.id, { id: `${PREFIX}${correction.id}`, text });
  }

  take(): readonly CorrectionWords[] {
    const taken = [...this.#waiting.values()];
    this.#waiting.clear();
    return taken;
  }
}

/** The rows of corrections that an answer names. */
export function correctedRows(ids: readonly string[] = []): readonly number[] {
  return ids.map((id) => Number(id.slice(PREFIX.length)));
}

// The id in the thread, by which a turn that is run again knows what stands there already.
const PREFIX = "edit-";
