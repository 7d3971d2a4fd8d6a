import type { Steered } from "../core/agent.ts";
import type { ChannelFront } from "../core/channel.ts";
import { hasCode } from "../core/errors.ts";
import { intentOf, messageIdOf } from "../core/identity.ts";
import type { WaitingMessage } from "../store/inbox.ts";
import { claimSteered, duringsIn, type SteeredIntent, steeredBefore } from "../store/meanwhile.ts";
import type { ClaimedTurn } from "../store/turns.ts";
import { contentOf } from "./content.ts";
import type { Corrections } from "./corrections.ts";
import type { TurnParts } from "./parts.ts";
import { refsOf } from "./planned.ts";
import { signedIn } from "./signed.ts";

type Around = {
  readonly channel: ChannelFront | undefined;
  readonly corrections: Corrections;
  readonly signal: AbortSignal;
  /** Ends the turn, where what waits is to interrupt it. */
  readonly interrupt: () => Promise<void>;
};

/**
 * What is said while a turn runs and shown to its agent. It is the turn's from then on; whether its answer was given with
 * it, the answer says. What was not waits for a turn of its own.
 */
export class Meanwhile {
  readonly #turn: ClaimedTurn;
  readonly #parts: Pick<TurnParts, "database" | "clock" | "log" | "unsign">;
  readonly #by: Around;
  readonly #taken: SteeredIntent[] = [];

  constructor(
    turn: ClaimedTurn,
    parts: Pick<TurnParts, "database" | "clock" | "log" | "unsign">,
    by: Around,
  ) {
    this.#turn = turn;
    this.#parts = parts;
    this.#by = by;
  }

  /** All that was shown so far. */
  get messages(): readonly WaitingMessage[] {
    return this.#taken.flatMap(({ messages }) => messages);
  }

  /** For the agent's next step. @throws GatewayError "store.hold_lost". */
  async take(): Promise<readonly Steered[]> {
    const taken = await this.#claim();
    if (taken.length === 0) return [];
    this.#taken.push(...taken);
    const messages = taken.flatMap((intent) => intent.messages);
    this.#by.corrections.knows(messages);
    const { to } = this.#turn;
    const refs = refsOf({ messages, asides: [] });
    // It never throws, and no turn waits for it.
    if (refs.length > 0) void this.#by.channel?.taken?.(to, refs);
    this.#parts.unsign(to, signedIn(messages));
    return taken.map((intent) => ({
      id: messageIdOf(intent.intent),
      content: contentOf(intent.messages),
      sentAt: intent.messages[0]?.event.sentAt ?? "",
    }));
  }

  async #claim(): Promise<readonly SteeredIntent[]> {
    const { database, clock, log } = this.#parts;
    try {
      const waits = await duringsIn(database, this.#turn.hold.chat);
      // Where the turn had only just begun, or another process has taken it in.
      if (waits.includes("interrupt")) await this.#by.interrupt();
      if (this.#by.signal.aborted || !waits.includes("steer")) return [];
      return await claimSteered(database, this.#turn, clock.now());
    } catch (err) {
      if (hasCode(err, "store.hold_lost")) throw err;
      const { chat } = this.#turn.hold;
      log.warn({ chat, err }, "what was said meanwhile could not be read; it is asked for again");
      return [];
    }
  }

  /** What an answer was given with, by the ids that it names; also where an earlier attempt at the turn was shown it. */
  async heard(ids: readonly string[] = []): Promise<readonly SteeredIntent[]> {
    const named = new Set(ids.map(intentOf));
    const known = this.#taken.filter(({ intent }) => named.has(intent));
    for (const { intent } of known) named.delete(intent);
    if (named.size === 0) return known;
    const { database } = this.#parts;
    return [...(await steeredBefore(database, this.#turn.hold.chat, [...named])), ...known];
  }
}

/** The turn with what was steered into it, as its end is to know it: whoever said that is answered, too. */
export function withHeard(turn: ClaimedTurn, heard: readonly WaitingMessage[]): ClaimedTurn {
  return heard.length === 0 ? turn : { ...turn, messages: [...turn.messages, ...heard] };
}
