import type { BinaryNode } from "@whiskeysockets/baileys";
import type { Clock } from "../../../../src/core/clock.ts";
import { asError } from "../../../../src/core/errors.ts";
import type { Hearing, Line } from "../line.ts";

/** What became of a message that was written. */
export type Answer =
  | { readonly kind: "accepted" }
  | { readonly kind: "refused"; readonly code: number }
  /** WhatsApp has said other things since then, but nothing of it. */
  | { readonly kind: "silent" }
  /** The connection ended, or nothing at all came over it. */
  | { readonly kind: "lost" };

export type Expected = {
  /** From now on the time runs; what was said before counts. Rejects with the signal's reason. */
  answer(signal: AbortSignal): Promise<Answer>;
  /** Nobody waits for it any more. */
  drop(): void;
};

const ANSWER_MS = 20_000;
/** A connection on which nothing is heard for so many times that long is dead. */
const MOST_WAITS = 5;

/**
 * WhatsApp's answers to what we write. Baileys resolves a send once the bytes are written and says nothing of a good
 * answer, so the raw one is heard here; it alone means that a message was taken.
 */
export class Acks {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Waiting>();
  #frames = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly hear: Hearing = ({ socket, generation }) => {
    const onAck = ({ attrs }: BinaryNode): void => {
      const code = attrs["error"];
      this.#waiting
        .get(attrs["id"] ?? "")
        ?.answered(code === undefined ? { kind: "accepted" } : { kind: "refused", code: Number(code) });
    };
    const onFrame = (): void => {
      this.#frames += 1;
    };
    socket.ws.on("CB:ack,class:message", onAck);
    socket.ws.on("frame", onFrame);
    return () => {
      socket.ws.off("CB:ack,class:message", onAck);
      socket.ws.off("frame", onFrame);
      for (const waiting of this.#waiting.values())
        if (waiting.generation === generation) waiting.answered({ kind: "lost" });
    };
  };

  /** To be called before the message is written: the answer may come before the write has ended. */
  expect(id: string, { generation }: Line): Expected {
    const waiting = new Waiting(generation);
    this.#waiting.set(id, waiting);
    const drop = (): void => {
      if (this.#waiting.get(id) === waiting) this.#waiting.delete(id);
    };
    return { drop, answer: (signal) => this.#within(waiting, signal).finally(drop) };
  }

  /** The time that runs is that of a living connection: a dead one says nothing about a message. */
  #within(waiting: Waiting, signal: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const heard = this.#frames;
      let waits = 0;
      const late = (): void => {
        waits += 1;
        if (this.#frames !== heard) waiting.answered({ kind: "silent" });
        else if (waits === MOST_WAITS) waiting.answered({ kind: "lost" });
        else timer = this.#clock.after(ANSWER_MS, late);
      };
      let timer = this.#clock.after(ANSWER_MS, late);
      const abort = (): void => {
        timer.cancel();
        reject(asError(signal.reason));
      };
      signal.addEventListener("abort", abort, { once: true });
      if (signal.aborted) abort();
      waiting.answer.then(resolve, reject).finally(() => {
        timer.cancel();
        signal.removeEventListener("abort", abort);
      });
    });
  }
}

class Waiting {
  readonly generation: number;
  readonly answer: Promise<Answer>;
  #resolve: ((answer: Answer) => void) | undefined;

  constructor(generation: number) {
    this.generation = generation;
    this.answer = new Promise((resolve) => (this.#resolve = resolve));
  }

  /** The first counts. */
  answered(answer: Answer): void {
    this.#resolve?.(answer);
  }
}
