import { asError, GatewayError, hasCode } from "../core/errors.ts";
import { type ChannelId, type ChatId, messageIdOf } from "../core/identity.ts";
import { say } from "../core/sentences.ts";
import { traceOf } from "../core/tracing.ts";
import type { Correction } from "../store/asides.ts";
import { type TurnEffects, turnEffects } from "../store/effects.ts";
import type { Queries } from "../store/tables.ts";
import { HOLD_MS } from "../store/renew.ts";
import { NOTHING_SPENT } from "../store/thread-facts.ts";
import { insist } from "../store/insist.ts";
import { isInterrupted } from "../store/interruptions.ts";
import { abandonTurn, interruptTurn } from "../store/turn-ends.ts";
import { type ClaimedTurn, claimTurn } from "../store/turns.ts";
import { type TurnBudget as Budget, countTurn } from "./budget.ts";
import { Corrections } from "./corrections.ts";
import { doTurn } from "./doing.ts";
import { endFailed, endTurn } from "./ending.ts";
import { languageIn } from "./local.ts";
import { Meanwhile } from "./meanwhile.ts";
import type { TurnParts } from "./parts.ts";
import { refsOf } from "./planned.ts";
import type { Running } from "./running.ts";
import { isScheduled } from "./scheduled.ts";
import { signedIn } from "./signed.ts";

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

  /**
   * Ends the running turn of a chat for a message that waits and is to be answered together with what the turn answers; not
   * where something else waits before that, or where too much would come together. Never rejects.
   */
  async interrupt(chat: ChatId): Promise<void> {
    const { database, log, mostTogether } = this.#parts;
    const running = this.#running.get(chat);
    if (!running || running.turn.task !== undefined || isScheduled(running.turn)) return;
    const { turn, controller } = running;
    try {
      if (!(await isInterrupted(database, turn, await mostTogether(turn.to)))) return;
      controller.abort(new GatewayError("turn.interrupted", "interrupted by what its person has said since"));
    } catch (err) {
      log.warn({ chat, err }, "a turn could not be interrupted; what was to do so is answered after it");
    }
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
    const { database, clock, owner, others, log, channel } = this.#parts;
    const now = clock.now();
    const isOpen = (id: ChannelId): boolean => channel(id) !== undefined;
    const budget: Budget = {};
    const count = async (trx: Queries, turn: ClaimedTurn): Promise<void> => {
      budget.bounded = await this.#parts.budgets.ofTurn(trx, turn);
      budget.spent = budget.bounded && (await countTurn(trx, turn, budget.bounded, now));
    };
    const until = now + HOLD_MS;
    const claim = await claimTurn(database, chat, { owner, others, now, until, isOpen, count });
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
          await endTurn(
            this.#parts,
            { turn: claim.turn, channel: channel(claim.turn.channel) },
            {
              state: "failed",
              error: "crashed",
              words: say("turn.dead", languageIn(claim.turn)),
              dead: true,
            },
          ),
        );
      case "turn":
        return this.#after(await this.#turn(claim.turn, budget));
    }
  }

  #after(moreWaits: boolean): number | undefined {
    return moreWaits ? this.#parts.clock.now() : undefined;
  }

  /** Whether more waits in the chat. */
  async #turn(turn: ClaimedTurn, { bounded, spent }: Budget): Promise<boolean> {
    const { database, log, channel: open, agent: find, cutOff } = this.#parts;
    // Every line of the log about it can be found by its message, whichever process has written it.
    const parts = { ...this.#parts, log: log.with({ trace: traceOf(turn.intent) }) };
    const channel = open(turn.channel);
    const agent = find(turn.agent);
    const controller = new AbortController();
    const corrections = new Corrections(turn);
    const { chat } = turn.hold;
    const interrupt = async (): Promise<void> => await this.interrupt(chat);
    const running: Running = {
      turn,
      controller,
      corrections,
      meanwhile: new Meanwhile(turn, this.#parts, {
        channel,
        corrections,
        interrupt,
        signal: controller.signal,
      }),
      effects: this.#effectsOf(turn),
      ...(bounded ? { bounded } : {}),
      spent: NOTHING_SPENT,
      told: [],
    };
    this.#running.set(chat, running);
    if (cutOff.aborted) controller.abort(cutOff.reason);
    const refs = refsOf(turn);
    // It never throws, and no turn waits for it.
    if (refs.length > 0) void channel?.taken?.(turn.to, refs);
    this.#parts.unsign(turn.to, signedIn(turn.messages));
    const ending = { turn, channel, running };
    try {
      if (!channel)
        throw new GatewayError("channel.unreachable", `the connection ${turn.channel} is not open`);
      if (!agent)
        throw new GatewayError("agent.invalid", `there is no agent ${turn.agent} in the configuration`);
      if (spent) throw new GatewayError("budget.spent", "there is no room for a turn", { spent });
      const end = await doTurn(parts, { turn, agent, channel, running });
      // The person has been told that it is stopped.
      if (hasCode(controller.signal.reason, "turn.stopped")) throw controller.signal.reason;
      return await endTurn(parts, ending, end);
    } catch (thrown) {
      const error = asError(thrown);
      if (hasCode(error, "store.hold_lost")) {
        parts.log.warn({ chat, turn: turn.id }, "another worker holds the chat; this turn is theirs");
        return false;
      }
      try {
        if (hasCode(error, "turn.interrupted")) return await this.#interrupted(running);
        if (!cutOff.aborted) return await endFailed(parts, ending, error, agent);
        await abandonTurn(database, turn, this.#parts.clock.now(), running.spent);
        // Another process may go on with it at once.
        return this.#parts.others;
      } catch (since) {
        if (!hasCode(since, "turn.stopped")) throw since;
        return await endFailed(parts, ending, since, agent);
      }
    } finally {
      this.#running.delete(chat);
    }
  }

  /** Whether more waits in the chat. @throws GatewayError "turn.stopped" when its people have stopped it since. */
  async #interrupted({ turn, spent }: Running): Promise<boolean> {
    const { database, clock, log, cutOff, mostTogether } = this.#parts;
    const most = await mostTogether(turn.to);
    await insist(async () => interruptTurn(database, turn, { most, spent, now: clock.now() }), {
      clock,
      log,
      closing: cutOff,
    });
    return true;
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
}
