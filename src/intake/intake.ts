import type { Clock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { InboundEvent } from "../core/events.ts";
import type { ChannelId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import type { Rules } from "../core/rules.ts";
import { chatOf } from "../store/chats.ts";
import type { Database } from "../store/database.ts";
import type { Queries } from "../store/tables.ts";
import type { About, Connections, Effects, Placed, Told, Words } from "./about.ts";
import { rememberWhoIsMeant } from "./aliases.ts";
import { answeredBySign, answeredInWords } from "./approving.ts";
import { takeChoice } from "./choices.ts";
import { takeDeletion } from "./deletions.ts";
import { takeDelivery } from "./deliveries.ts";
import { takeEdit } from "./edits.ts";
import { standingIn } from "./granted.ts";
import { takeMembership } from "./memberships.ts";
import { takeMessage } from "./messages.ts";
import { rulesByEachId, takeMove } from "./moves.ts";
import { keepsStill } from "./own.ts";
import { withQuota } from "./quota.ts";
import { takeReaction } from "./reactions.ts";

/**
 * Takes events in: one transaction for all that a platform handed over, in order. Commands do their work in it, so that
 * what was said before `/new` belongs to the old thread and what comes after it to the new one.
 */
export class Intake {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #words: Words;
  readonly #connections: Connections;
  readonly #effects: Effects;
  #rules: Rules;

  constructor(parts: {
    readonly database: Database;
    readonly clock: Clock;
    readonly log: Log;
    readonly rules: Rules;
    readonly words: Words;
    readonly connections: Connections;
    readonly effects: Effects;
  }) {
    this.#database = parts.database;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#rules = parts.rules;
    this.#words = parts.words;
    this.#connections = parts.connections;
    this.#effects = parts.effects;
  }

  use(rules: Rules): void {
    this.#rules = rules;
  }

  /**
   * Gives what whoever pressed a button is shown at once, by the event's id.
   * @throws GatewayError "store.unavailable" when nothing could be committed: do not acknowledge then.
   */
  async accept(channel: ChannelId, events: readonly InboundEvent[]): Promise<ReadonlyMap<string, string>> {
    const shown = new Map<string, string>();
    if (events.length === 0) return shown;
    const after: (() => void)[] = [];
    const work = async (trx: Queries): Promise<void> => {
      // A store that many write to may have it done anew.
      after.length = 0;
      shown.clear();
      for (const event of events) {
        const words = await this.#take(trx, channel, event, after);
        if (words !== undefined) shown.set(event.id, words);
      }
    };
    try {
      // There are many receipts, and one that a power cut takes back is missed by nobody.
      await (events.every(isReceipt)
        ? this.#database.light(work)
        : this.#database.db.transaction().execute(work));
    } catch (cause) {
      throw new GatewayError("store.unavailable", `${events.length} events could not be committed`, {
        cause,
      });
    }
    for (const effect of after) effect();
    return shown;
  }

  /** Gives what is shown at once to whoever caused the event. */
  async #take(
    trx: Queries,
    channel: ChannelId,
    event: InboundEvent,
    after: (() => void)[],
  ): Promise<string | undefined> {
    switch (event.type) {
      case "message": {
        const about = await this.#about(trx, channel, event, after);
        if (!(await answeredInWords(about))) await takeMessage(about);
        return undefined;
      }
      case "stop":
        await takeMessage(await this.#about(trx, channel, event, after));
        return undefined;
      case "choice":
        return await takeChoice(await this.#about(trx, channel, event, after));
      case "membership":
        await takeMembership(this.#told(trx, channel, event, after));
        return undefined;
      case "chatMoved":
        await takeMove(this.#told(trx, channel, event, after));
        return undefined;
      case "edited":
        await takeEdit(await this.#about(trx, channel, event, after));
        return undefined;
      case "deleted":
        await takeDeletion(this.#told(trx, channel, event, after));
        return undefined;
      case "reaction": {
        const about = await this.#about(trx, channel, event, after);
        if (!(await answeredBySign(about))) await takeReaction(about);
        return undefined;
      }
      case "delivery":
        await takeDelivery(this.#told(trx, channel, event, after));
        return undefined;
    }
  }

  #told<Event extends InboundEvent>(
    trx: Queries,
    channel: ChannelId,
    event: Event,
    after: (() => void)[],
  ): Told<Event> {
    return {
      trx,
      channel,
      event,
      now: this.#clock.now(),
      rules: this.#rules,
      effects: this.#effects,
      words: this.#words,
      connections: this.#connections,
      log: this.#log,
      after,
    };
  }

  async #about<Event extends Placed>(
    trx: Queries,
    channel: ChannelId,
    event: Event,
    after: (() => void)[],
  ): Promise<About<Event>> {
    const told = this.#told(trx, channel, event, after);
    const chat = await chatOf(trx, channel, event.place);
    await rememberWhoIsMeant(told);
    const rules = await rulesByEachId(told, event.place);
    const { sentAt } = event;
    const still = await keepsStill(trx, chat, { sentAt, now: told.now, rules: rules.channels.get(channel) });
    return await withQuota({ ...told, rules, chat, still, ...(await standingIn(trx, channel, event.from)) });
  }
}

function isReceipt(event: InboundEvent): boolean {
  return event.type === "delivery" && event.status !== "refused";
}
