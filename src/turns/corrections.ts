import type { CorrectionWords } from "../core/agent.ts";
import type { Correction } from "../store/asides.ts";
import type { WaitingMessage } from "../store/inbox.ts";
import type { ClaimedTurn } from "../store/turns.ts";
import { correctionWords } from "./asides.ts";

/**
 * What was corrected while a turn runs, or since an earlier attempt at it. Each is handed to the agent once; whether it stands in the thread then, the answer
 * says. What does not is told of later: its row is none of the turn's.
 */
export class Corrections {
  /** By their rows, the messages that the agent of the turn knows. */
  readonly #known = new Map<number, WaitingMessage>();
  /** By the row of the message, the last of each: whoever edits on and on has said one thing. */
  readonly #waiting = new Map<number, Correction>();

  constructor({ messages, corrections = [] }: Pick<ClaimedTurn, "messages" | "corrections">) {
    this.knows(messages);
    for (const correction of corrections) this.add(correction);
  }

  /** The agent is shown these as well. */
  knows(messages: readonly WaitingMessage[]): void {
    for (const message of messages) this.#known.set(message.id, message);
  }

  /** Keeps it for the agent's next step, where it is about a message that the agent knows, or is shown by then. */
  add(correction: Correction): void {
    this.#waiting.delete(correction.about);
    this.#waiting.set(correction.about, correction);
  }

  take(): readonly CorrectionWords[] {
    return [...this.#waiting].flatMap(([about, correction]) => {
      const message = this.#known.get(about);
      if (!message) return [];
      this.#waiting.delete(about);
      const text = correctionWords(correction, message.speaker);
      return [{ id: `${PREFIX}${correction.id}`, text }];
    });
  }
}

/** The rows of corrections that an answer names. */
export function correctedRows(ids: readonly string[] = []): readonly number[] {
  return ids.map((id) => Number(id.slice(PREFIX.length)));
}

// The id in the thread, by which a turn that is run again knows what stands there already.
const PREFIX = "edit-";
