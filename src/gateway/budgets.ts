import type { Payer } from "../core/budget.ts";
import { type Bounded, boundedBy, hasBudgets } from "../core/bounds.ts";
import type { Place, Sender } from "../core/events.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { FactOwner } from "../core/memory.ts";
import type { Rules } from "../core/rules.ts";
import { standingOf } from "../intake/admit.ts";
import { grantedTo } from "../intake/granted.ts";
import { rulesByEachId } from "../intake/moves.ts";
import { aliasesOf } from "../store/aliases.ts";
import { anAddressOf } from "../store/chats.ts";
import { personOfSchedule } from "../store/schedules.ts";
import type { Queries } from "../store/tables.ts";
import type { ClaimedTurn } from "../store/turns.ts";

/** What bounds whoever is the reason for something. Where the operator bounds nothing, no question is asked of the store. */
export class Budgets {
  readonly #rules: () => Rules;

  constructor(rules: () => Rules) {
    this.#rules = rules;
  }

  /** Of a turn it is whoever has spoken first in it, or had the schedule made that it is of. */
  async ofTurn(trx: Queries, { channel, hold, agent, messages }: ClaimedTurn): Promise<Bounded | undefined> {
    const [first] = messages;
    if (!first || !hasBudgets(this.#rules())) return undefined;
    const { event } = first;
    const { place } = event;
    const from =
      event.type === "scheduled"
        ? await knownAs(trx, channel, await personOfSchedule(trx, event.schedule.number))
        : event.from;
    return await this.ofSender(trx, { channel, chat: hold.chat, agent, place, from });
  }

  async ofSender(
    trx: Queries,
    of: {
      readonly channel: ChannelId;
      readonly chat: ChatId;
      readonly agent: string;
      readonly place: Pick<Place, "chat" | "also" | "kind">;
      /** Its id is "" where nobody is. */
      readonly from: Sender;
    },
  ): Promise<Bounded | undefined> {
    const all = this.#rules();
    if (!hasBudgets(all)) return undefined;
    const { channel, chat, agent, place, from } = of;
    const rules = await rulesByEachId({ trx, rules: all, channel }, place);
    const isPerson = from.id !== "";
    const channelRules = rules.channels.get(channel);
    const owner =
      isPerson &&
      channelRules !== undefined &&
      standingOf({ place, from }, channelRules, await grantedTo(trx, channel, from)) === "owner";
    return boundedBy(
      { channel, chat, place: place.chat, agent, owner, ...(isPerson ? { person: from.id } : {}) },
      rules,
    );
  }

  /** Of what goes on without a turn, such as a task in the background: whoever has begun it. */
  async ofPayer(trx: Queries, payer: Payer): Promise<Bounded | undefined> {
    const all = this.#rules();
    if (!hasBudgets(all)) return undefined;
    const { channel, place } = payer;
    return boundedBy(payer, await rulesByEachId({ trx, rules: all, channel }, { chat: place }));
  }

  /** Of going through what was said for memory: the person whose it is, or the group. */
  async ofMemory(
    trx: Queries,
    { channel, scope, subject, agent }: FactOwner,
    chat: ChatId,
  ): Promise<Bounded | undefined> {
    if (!hasBudgets(this.#rules())) return undefined;
    const address = await anAddressOf(trx, channel, chat); // rules are found by each of them
    const place = { chat: address ?? "", kind: scope === "person" ? "private" : "group" } as const;
    const from = await knownAs(trx, channel, scope === "person" ? subject : "");
    return await this.ofSender(trx, { channel, chat, agent, place, from });
  }
}

/** Somebody of whom the store has the id alone: the operator may call them otherwise. */
async function knownAs(trx: Queries, channel: ChannelId, id: string): Promise<Sender> {
  return { id, name: "", also: id === "" ? [] : await aliasesOf(trx, channel, id) };
}
