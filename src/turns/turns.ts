import type { AgentAnswer, AgentDefinition, AgentTurn } from "../core/agent.ts";
import type { Channel, PieceBody } from "../core/channel.ts";
import { asError, type ErrorCode, GatewayError, hasCode } from "../core/errors.ts";
import { type ChannelId, type ChatId, messageIdOf } from "../core/identity.ts";
import { say } from "../core/sentences.ts";
import { unlessAborted } from "../core/unless-aborted.ts";
import type { TaskOrigin } from "../store/background.ts";
import type { TurnState } from "../store/fact-tables.ts";
import type { Correction } from "../store/asides.ts";
import { type TurnEffects, turnEffects } from "../store/effects.ts";
import { insist } from "../store/insist.ts";
import type { Touch } from "../store/memory.ts";
import { NOTHING_SPENT, type Spent, spentWith } from "../store/thread-facts.ts";
import { abandonTurn, type ClaimedTurn, claimTurn, commitTurn } from "../store/turns.ts";
import { compactedWords } from "./compacted.ts";
import { contentOf, unusableIn } from "./content.ts";
import { correctedRows, Corrections } from "./corrections.ts";
import { failureWords } from "./failures.ts";
import { HOLD_MS, keepHold } from "./hold.ts";
import { Life } from "./life.ts";
import { languageHeard, languageIn, localFacts } from "./local.ts";
import { inPlace, piecesOf, refsOf } from "./planned.ts";
import type { TurnParts } from "./parts.ts";

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

  /** All of the chat was forgotten: its running turn holds it no longer. */
  letGo(chat: ChatId): void {
    const lost = new GatewayError("store.hold_lost", `all of chat ${chat} was forgotten`);
    this.#running.get(chat)?.controller.abort(lost);
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
            words: say("turn.dead", languageIn(claim.turn)),
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
    const running: Running = {
      controller: new AbortController(),
      corrections: new Corrections(turn),
      effects: this.#effectsOf(turn),
      spent: NOTHING_SPENT,
    };
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
      if (turn.task === "compact") return await this.#compact(turn, agent, channel, running);
      const answer =
        turn.task === "export"
          ? await this.#parts.exporting(turn)
          : await this.#ask(turn, agent, channel, running, (asked, signal) =>
              this.#parts.runner.run(asked, signal),
            );
      const said = await this.#parts.pieces.answer(channel, turn.hold.chat, agent, answer);
      const refused = answer.refused.map((name) => say("media.refused_by_model", languageIn(turn), { name }));
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
        known: answer,
        touches: turn.task === undefined ? this.#parts.memory.touched(turn, agent) : [],
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
      await abandonTurn(database, turn, this.#parts.clock.now(), running.spent);
      return false;
    } finally {
      this.#running.delete(turn.hold.chat);
    }
  }

  /** Sums the thread up, and tells what came of it. */
  async #compact(
    turn: ClaimedTurn,
    agent: AgentDefinition,
    channel: Channel,
    running: Running,
  ): Promise<boolean> {
    const compacted = await this.#ask(turn, agent, channel, running, (asked, signal) =>
      this.#parts.runner.compact(asked, signal),
    );
    if (hasCode(running.controller.signal.reason, "turn.stopped")) throw running.controller.signal.reason;
    const window = compacted.done ? compacted.after : compacted.now;
    const words = compactedWords(compacted, languageIn(turn));
    const known = window.window === 0 ? {} : { window };
    return await this.#end(turn, channel, { state: "done", error: "", words, known });
  }

  /** Has the agent do it under the turn's deadline, keeping the hold and showing life meanwhile. */
  async #ask<Done>(
    turn: ClaimedTurn,
    agent: AgentDefinition,
    channel: Channel,
    running: Running,
    work: (asked: AgentTurn, signal: AbortSignal) => Promise<Done>,
  ): Promise<Done> {
    const { controller, corrections, effects } = running;
    const { clock, pieces, kind, timeZone } = this.#parts;
    const { turnSeconds } = agent.limits;
    const now = clock.now();
    const local = localFacts(turn, { kind: kind(turn.channel), timeZone: timeZone(), now });
    const live = await this.#parts.live(turn.to);
    const recalled = await this.#parts.memory.recall(turn, agent);
    const tooLong = clock.after(turnSeconds * 1_000, () =>
      controller.abort(new GatewayError("turn.timed_out", `the turn took longer than ${turnSeconds} s`)),
    );
    const renewal = keepHold(turn, controller, this.#parts);
    const shown = live === "off" ? undefined : live;
    const life = new Life({ channel, to: turn.to, live: shown, clock }, (text) => pieces.draft(text));
    try {
      const answer = work(
        {
          hold: turn.hold,
          thread: turn.thread,
          agent,
          messageId: messageIdOf(turn.intent),
          effects,
          content: contentOf(turn.messages, turn.asides),
          sentAt: turn.messages[0]?.event.sentAt ?? "",
          folder: this.#parts.folder(turn.hold.chat),
          look: this.#parts.look(turn.hold.chat, agent),
          ...(agent.background ? { tasks: this.#parts.tasks(originOf(turn)) } : {}),
          corrections: () => corrections.take(),
          onUse: (use) => {
            running.spent = spentWith(running.spent, use);
          },
          language: languageIn(turn),
          endsAt: now + turnSeconds * 1_000,
          ...(local ? { local } : {}),
          ...(recalled === "" ? {} : { recalled }),
          ...(channel.limits.drafts && live !== "off" ? { onText: (text) => life.draft(text) } : {}),
        },
        controller.signal,
      );
      // Behind the question, which is what the person waits for.
      life.begin();
      // What an agent writes later that does not heed its signal is refused, because its hold is over.
      return await unlessAborted(answer, controller.signal);
    } finally {
      life.end();
      renewal.cancel();
      tooLong.cancel();
    }
  }

  #effectsOf(turn: ClaimedTurn): TurnEffects {
    const { database, clock, log, cutOff } = this.#parts;
    const { hold, thread, intent, again } = turn;
    return turnEffects(
      database,
      { hold, thread, message: messageIdOf(intent), again },
      { clock, log, closing: cutOff },
    );
  }

  async #failed(
    turn: ClaimedTurn,
    channel: Channel | undefined,
    error: Error,
    agent: AgentDefinition | undefined,
  ): Promise<boolean> {
    const { chat } = turn.hold;
    const code: ErrorCode | "unexpected" = error instanceof GatewayError ? error.code : "unexpected";
    const reason = error instanceof GatewayError ? error.reason : undefined;
    switch (code) {
      case "turn.stopped":
        // Whoever stopped it has been answered already.
        return await this.#end(turn, channel, { state: "stopped", error: code });
      case "turn.timed_out":
        break;
      case "model.failed":
      case "model.missing_package":
      case "model.unknown":
        this.#parts.log.error({ chat, turn: turn.id, reason, err: error }, "the model did not answer");
        break;
      default:
        this.#parts.log.error({ chat, turn: turn.id, err: error }, "a turn failed");
    }
    const words = failureWords({ code, reason }, agent, languageIn(turn));
    return await this.#end(turn, channel, { state: "failed", error: code, words });
  }

  /**
   * Gives whether more waits in the chat. `channel` is the one that the turn began with: its connection may have been
   * closed or reopened meanwhile.
   */
  async #end(turn: ClaimedTurn, channel: Channel | undefined, end: TurnEnd): Promise<boolean> {
    const { database, clock, log, pieces: make, cutOff } = this.#parts;
    const unusable = unusableIn(turn.messages, languageIn(turn));
    const bodies = channel
      ? [
          ...(unusable === "" ? [] : make.words(channel, unusable)),
          ...(end.bodies ?? (end.words === undefined ? [] : make.words(channel, end.words))),
        ]
      : [];
    const pieces = piecesOf(turn, bodies, end.labels);
    const corrected = correctedRows(end.corrected);
    const running = this.#running.get(turn.hold.chat);
    const acted = running?.effects.any === true;
    const touches = end.touches ?? [];
    const more = await insist(
      async () =>
        commitTurn(database, turn, {
          state: end.state,
          messages: end.dead ? "dead" : "consumed",
          error: end.error,
          pieces: end.state === "done" ? await inPlace(database, turn, pieces) : pieces,
          corrected,
          ...(acted ? { effectsOf: messageIdOf(turn.intent) } : {}),
          touches,
          language: languageHeard(turn),
          ...(running ? { news: { ...newsIn(end.known), spent: running.spent } } : {}),
          now: clock.now(),
        }),
      { clock, log, closing: cutOff },
    );
    this.#parts.memory.committed(touches);
    return more;
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
  readonly touches?: readonly Touch[];
  /** What is known of the thread since. */
  readonly known?: Pick<AgentAnswer, "title" | "window">;
  readonly dead?: true;
};

/** A turn that is being run, and what may reach it from outside. */
type Running = {
  readonly controller: AbortController;
  readonly corrections: Corrections;
  readonly effects: TurnEffects;
  /** What the models took so far. */
  spent: Spent;
};

function newsIn({ title, window }: Pick<AgentAnswer, "title" | "window"> = {}): Pick<
  AgentAnswer,
  "title" | "window"
> {
  return { ...(title === undefined ? {} : { title }), ...(window === undefined ? {} : { window }) };
}

function originOf(turn: ClaimedTurn): TaskOrigin {
  const { hold, to, agent, thread } = turn;
  return { chat: hold.chat, to, agent, thread, language: languageIn(turn) };
}
