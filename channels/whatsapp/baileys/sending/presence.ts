import type { Progress } from "../../../../src/core/channel.ts";
import type { Clock } from "../../../../src/core/clock.ts";
import type { Line } from "../line.ts";

/** Clients show that somebody types for a while longer than that. */
const AGAIN_MS = 8_000;
/** Nobody types for longer; an agent that works on says nothing meanwhile. */
const MOST_MS = 5 * 60_000;

type Typing = { readonly since: number; shownAt: number; isShown: boolean };

/** Shows that we are writing, as long as a turn goes on. */
export class Presence {
  readonly #line: () => Line | undefined;
  readonly #clock: Clock;
  readonly #typing = new Map<string, Typing>();

  constructor(line: () => Line | undefined, clock: Clock) {
    this.#line = line;
    this.#clock = clock;
  }

  /** Never throws; nothing is shown while there is no line. */
  async show(jid: string, progress: Progress): Promise<void> {
    const typing = this.#typing.get(jid);
    if (progress.kind === "over") {
      this.#typing.delete(jid);
      if (typing?.isShown) await this.#say("paused", jid);
      return;
    }
    const now = this.#clock.now();
    const current = typing ?? { since: now, shownAt: -Infinity, isShown: false };
    this.#typing.set(jid, current);
    if (now - current.since >= MOST_MS) {
      if (!current.isShown) return;
      current.isShown = false;
      await this.#say("paused", jid);
    } else if (now - current.shownAt >= AGAIN_MS) {
      current.shownAt = now;
      current.isShown = true;
      await this.#say("composing", jid);
    }
  }

  /** Nobody is left to see us type for ever. */
  async close(): Promise<void> {
    await Promise.all([...this.#typing.keys()].map((jid) => this.show(jid, { kind: "over" })));
  }

  async #say(what: "composing" | "paused", jid: string): Promise<void> {
    // A sign of life is worth nobody's trouble.
    await this.#line()
      ?.socket.sendPresenceUpdate(what, jid)
      .catch(() => {});
  }
}
