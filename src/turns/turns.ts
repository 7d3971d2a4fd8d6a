import type { AgentAnswer, AgentDefinition, AgentRunner } from "../core/agent.ts";
import type { Channel, Live, PieceBody } from "../core/channel.ts";
import type { Clock } from "../core/clock.ts";
import { asError, type ErrorCode, GatewayError, hasCode } from "../core/errors.ts";
import type { ChannelId, ChatAddress, ChatId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import { say } from "../core/sentences.ts";
import type { Database } from "../store/database.ts";
import type { TurnState } from "../store/fact-tables.ts";
import type { Correction } from "../store/asides.ts";
import { insist } from "../store/insist.ts";
import { abandonTurn, type ClaimedTurn, claimTurn, commitTurn, renewHold } from "../store/turns.ts";
import { contentOf, unusableIn } from "./content.ts";
import { correctedRows, Corrections } from "./corrections.ts";
import { type Draft, Life } from "./life.ts";
import { inPlace, piecesOf, refsOf } from "./planned.ts";

/** A hold ends by itself after this, unless it is renewed. */
const HOLD_MS = 60_000;
const RENEW_MS = 20_000;

/** How `reply` makes pieces for a chat of a channel; it is handed in, for rooms on one floor do not know each other. */
export type Pieces = {
  answer(
    channel: Channel,
    chat: ChatId,
    agent: AgentDefinition,
    answer: Pick<AgentAnswer, "markdown" | "choices">,
  ): Promise<{ readonly bodies: readonly PieceBody[]; readonly labels?: readonly string[] }>;
  words(channel: Channel, text: string): readonly PieceBody[];
  /** What is shown of an answer that is still being written. */
  draft(markdown: string): Draft;
};

export type TurnParts = {
  readonly database: Database;
  readonly runner: AgentRunner;
  readonly clock: Clock;
  readonly log: Log;
  /** Names this process in holds. */
  readonly owner: string;
  readonly channel: (id: ChannelId) => Channel | undefined;
  readonly agent: (name: string) => AgentDefinition | undefined;
  readonly pieces: Pieces;
  /** How an answer is shown there while it is written; absent where the channel decides. */
  readonly live: (to: ChatAddress) => Promise<Live | "off" | undefined>;
  /** The folder of a chat, absolute. */
  readonly folder: (chat: ChatId) => string;
  /** Aborts when the grace of a shutdown is over. */
  readonly cutOff: AbortSignal;
};

/** Runs turns: hold the chat, ask the agent, commit what is consumed and what is to be sent as one. */
export class Turns {
  readonly #parts: TurnParts;
  /** What ends each turn: its person, its deadline, a lost hold, or the end of the grace. */
  readonly #running = new Map<ChatId, Running>();

  constructor(parts: TurnParts) {
    this.#parts = parts;
    // Once for all turns: a signal that others are made of remembers each of them for ever.
    parts.cutOff.addEventListener("abort", () => {
      for (const { controller } of this.#running.values()) controller.abort(parts.cutOff.reason);
    });
  }

  get running(): number {
    return this.#running.size;
  }

  /** Ends the running turn of a chat at once; whether there was one. */
  stop(chat: ChatId): boolean {
    const running = this.#running.get(chat);
    running?.controller.abort(new GatewayError("turn.stopped", "stopped by the person"));
    return running !== undefined;
  }

  /** Tells the running turn of a chat, before its next step, what has become of a message that it answers. */
  correct(chat: ChatId, correction: Correction): void {
    this.#running.get(chat)?.corrections.add(correction);
  }

  /** Runs the oldest waiting intent of a chat; gives the time (epoch ms) to come again, if there is one. */
  async run(chat: ChatId): Promise<number | undefined> {
    const { database, clock, owner, log, channel } = this.#parts;
    const now = clock.now();
    const isOpen = (id: ChannelId): boolean => channel(id) !== undefined;
    const claim = await claimTurn(database, chat, { owner, now, until: now + HOLD_MS, isOpen });
    switch (claim.kind) {
      case "idle":
        return undefined;
      case "wait":
        return claim.at;
      case "dead":
        log.error(
          { chat, turn: claim.turn.id },
          "a message has ended the process too often and is set aside",
        );
        return this.#after(
          await this.#end(claim.turn, channel(claim.turn.channel), {
            state: "failed",
            error: "crashed",
            words: say("turn.dead"),
            dead: true,
          }),
        );
      case "turn":
        return this.#after(await this.#turn(claim.turn));
    }
  }

  #after(moreWaits: boolean): number | undefined {
    return moreWaits ? this.#parts.clock.now() : undefined;
  }

  /** Whether more waits in the chat. */
  async #turn(turn: ClaimedTurn): Promise<boolean> {
    const { database, log, channel: open, agent: find, cutOff } = this.#parts;
    const channel = open(turn.channel);
    const agent = find(turn.agent);
    const running: Running = { controller: new AbortController(), corrections: new Corrections(turn) };
    const { controller } = running;
    this.#running.set(turn.hold.chat, running);
    if (cutOff.aborted) controller.abort(cutOff.reason);
    const refs = refsOf(turn);
    // It never throws, and no turn waits for it.
    if (refs.length > 0) void channel?.taken?.(turn.to, refs);
    try {
      if (!channel)
        throw new GatewayError("channel.unreachable", `the connection ${turn.channel} is not open`);
      if (!agent)
        throw new GatewayError("agent.invalid", `there is no agent ${turn.agent} in the configuration`);
      const answer = await this.#ask(turn, agent, channel, running);
      const said = await this.#parts.pieces.answer(channel, turn.hold.chat, agent, answer);
      const refused = answer.refused.map((name) => say("media.refused_by_model", "en", { name }));
      const bodies = [
        ...refused.flatMap((words) => this.#parts.pieces.words(channel, words)),
        ...said.bodies,
      ];
      // The person has been told that it is stopped.
      if (hasCode(controller.signal.reason, "turn.stopped")) throw controller.signal.reason;
      return await this.#end(turn, channel, {
        ...said,
        state: "done",
        error: "",
        bodies,
        corrected: answer.corrected,
      });
    } catch (thrown) {
      const error = asError(thrown);
      if (hasCode(error, "store.hold_lost")) {
        log.warn(
          { chat: turn.hold.chat, turn: turn.id },
          "another worker holds the chat; this turn is theirs",
        );
        return false;
      }
      if (!cutOff.aborted) return await this.#failed(turn, channel, error, agent);
      await abandonTurn(database, turn, this.#parts.clock.now());
      return false;
    } finally {
      this.#running.delete(turn.hold.chat);
    }
  }

  /** Asks the agent under the turn's deadline, keeping the hold and showing life meanwhile. */
  async #ask(
    turn: ClaimedTurn,
    agent: AgentDefinition,
    channel: Channel,
    { controller, corrections }: Running,
  ): Promise<AgentAnswer> {
    const { clock, runner, pieces } = this.#parts;
    const { turnSeconds } = agent.limits;
    const live = await this.#parts.live(turn.to);
    const tooLong = clock.after(turnSeconds * 1_000, () =>
      controller.abort(new GatewayError("turn.timed_out", `the turn took longer than ${turnSeconds} s`)),
    );
    const renewal = this.#keepHold(turn, controller);
    const shown = live === "off" ? undefined : live;
    const life = new Life({ channel, to: turn.to, live: shown, clock }, (text) => pieces.draft(text));
    try {
      const answer = runner.run(
        {
          hold: turn.hold,
          thread: turn.thread,
          agent,
          messageId: `intent-${turn.intent}`,
          content: contentOf(turn.messages, turn.asides),
          sentAt: turn.messages[0]?.event.sentAt ?? "",
          folder: this.#parts.folder(turn.hold.chat),
          corrections: () => corrections.take(),
          ...(channel.limits.drafts && live !== "off" ? { onText: (text) => life.draft(text) } : {}),
        },
        controller.signal,
      );
      // Behind the question, which is what the person waits for.
      life.begin();
      return await unlessAborted(answer, controller.signal);
    } finally {
      life.end();
      renewal.cancel();
      tooLong.cancel();
    }
  }

  #keepHold(turn: ClaimedTurn, controller: AbortController): { cancel(): void } {
    const { clock, database, log } = this.#parts;
    let timer = clock.after(RENEW_MS, renew);
    function renew(): void {
      renewHold(database, turn.hold, clock.now() + HOLD_MS).then(
        () => undefined,
        (err: unknown) => {
          if (hasCode(err, "store.hold_lost")) controller.abort(err);
          else log.warn({ chat: turn.hold.chat, err }, "a hold could not be renewed, again soon");
        },
      );
      timer = clock.after(RENEW_MS, renew);
    }
    return { cancel: () => timer.cancel() };
  }

  async #failed(
    turn: ClaimedTurn,
    channel: Channel | undefined,
    error: Error,
    agent: AgentDefinition | undefined,
  ): Promise<boolean> {
    const { chat } = turn.hold;
    const code: ErrorCode | "unexpected" = error instanceof GatewayError ? error.code : "unexpected";
    switch (code) {
      case "turn.stopped":
        // Whoever stopped it has been answered already.
        return await this.#end(turn, channel, { state: "stopped", error: code });
      case "turn.timed_out": {
        const minutes = Math.max(1, Math.round((agent?.limits.turnSeconds ?? 0) / 60));
        return await this.#end(turn, channel, {
          state: "failed",
          error: code,
          words: say("turn.timed_out", "en", { minutes }),
        });
      }
      case "model.failed":
      case "model.missing_package":
      case "model.unknown":
        this.#parts.log.error({ chat, turn: turn.id, err: error }, "the model did not answer");
        return await this.#end(turn, channel, {
          state: "failed",
          error: code,
          words: say("turn.model_failed"),
        });
      default:
        this.#parts.log.error({ chat, turn: turn.id, err: error }, "a turn failed");
        return await this.#end(turn, channel, { state: "failed", error: code, words: say("turn.failed") });
    }
  }

  /**
   * Gives whether more waits in the chat. `channel` is the one that the turn began with: its connection may have been
   * closed or reopened meanwhile.
   */
  async #end(turn: ClaimedTurn, channel: Channel | undefined, end: TurnEnd): Promise<boolean> {
    const { database, clock, log, pieces: make, cutOff } = this.#parts;
    const unusable = unusableIn(turn.messages);
    const bodies = channel
      ? [
          ...(unusable === "" ? [] : make.words(channel, unusable)),
          ...(end.bodies ?? (end.words === undefined ? [] : make.words(channel, end.words))),
        ]
      : [];
    const pieces = piecesOf(turn, bodies, end.labels);
    const corrected = correctedRows(end.corrected);
    return await insist(
      async () =>
        commitTurn(database, turn, {
          state: end.state,
          messages: end.dead ? "dead" : "consumed",
          error: end.error,
          pieces: end.state === "done" ? await inPlace(database, turn, pieces) : pieces,
          corrected,
          now: clock.now(),
        }),
      { clock, log, closing: cutOff },
    );
  }
}

type TurnEnd = {
  readonly state: Exclude<TurnState, "running" | "abandoned">;
  readonly error: string;
  readonly bodies?: readonly PieceBody[];
  /** What can be pressed below the last text. */
  readonly labels?: readonly string[];
  readonly words?: string;
  /** As `AgentAnswer.corrected`. */
  readonly corrected?: readonly string[] | undefined;
  readonly dead?: true;
};

/** A turn that is being run, and what may reach it from outside. */
type Running = { readonly controller: AbortController; readonly corrections: Corrections };

/**
 * An agent that does not heed its signal is left behind: what it writes later is refused, because its hold is over.
 */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = (): void => reject(asError(signal.reason));
    if (signal.aborted) give();
    signal.addEventListener("abort", give, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", give));
  });
}
