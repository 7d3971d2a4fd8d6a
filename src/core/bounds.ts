import type { Bound, BoundNow, Budget, Measure, Payer } from "./budget.ts";
import { periodAt } from "./calendar.ts";
import type { ChannelRules, ChatRules, Rules } from "./rules.ts";

const SPANS = { turns: "hour", tokens: "day", cost: "month", media: "day" } as const;

/** Whether the operator bounds anything at all. */
export function hasBudgets({ budgets, channels, agents }: Rules): boolean {
  if (isBudget(budgets?.total)) return true;
  if ([...agents.values()].some(({ budget }) => isBudget(budget))) return true;
  return [...channels.values()].some(
    (of) =>
      isBudget(of.budgets?.person) ||
      isBudget(of.budgets?.chat) ||
      Object.values(of.chats).some(({ budget }) => isBudget(budget)),
  );
}

function isBudget(budget: Budget | undefined): boolean {
  return budget !== undefined && Object.values(budget).some((limit) => limit !== undefined);
}

/** All bounds that hold for somebody, the narrowest first. `rules` are those that hold in their chat. */
export function boundsFor(payer: Payer, rules: Rules): readonly Bound[] {
  const { channel, chat, place, person, owner, agent } = payer;
  const of = rules.channels.get(channel);
  const free = owner ? { free: true as const } : {};
  return [
    ...(person === undefined
      ? []
      : boundsOf({ scope: "person", channel, subject: person, ...free }, of?.budgets?.person)),
    ...boundsOf({ scope: "chat", channel, subject: String(chat), ...free }, chatBudget(of, place)),
    ...agentBounds(agent, rules),
    ...boundsOf({ scope: "total", channel: "", subject: "" }, rules.budgets?.total),
  ];
}

/** Those of an agent; of one that works for another, both count. */
export function agentBounds(agent: string, { agents }: Pick<Rules, "agents">): readonly Bound[] {
  return boundsOf({ scope: "agent", channel: "", subject: agent }, agents.get(agent)?.budget);
}

/** What the operator writes for a chat counts, each thing by itself, before what holds for all chats. */
function chatBudget(of: ChannelRules | undefined, place: string): Budget {
  const here: ChatRules | undefined = of && Object.hasOwn(of.chats, place) ? of.chats[place] : undefined;
  return { ...of?.budgets?.chat, ...here?.budget };
}

function boundsOf(
  whose: Omit<Bound, "measure" | "limit">,
  { turnsPerHour, tokensPerDay, costPerMonth, mediaMinutesPerDay }: Budget = {},
): readonly Bound[] {
  const limits: readonly (readonly [Measure, number | undefined])[] = [
    ["turns", turnsPerHour],
    ["tokens", tokensPerDay],
    ["cost", costPerMonth === undefined ? undefined : Math.round(costPerMonth * 1_000_000)],
    ["media", mediaMinutesPerDay === undefined ? undefined : Math.round(mediaMinutesPerDay * 60)],
  ];
  return limits.flatMap(([measure, limit]) => (limit === undefined ? [] : [{ ...whose, measure, limit }]));
}

/** The bounds in the hour, day and month that `now` (epoch ms) is in. */
export function boundsAt(
  bounds: readonly Bound[],
  now: number,
  timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone,
): readonly BoundNow[] {
  return bounds.map((bound) => ({ ...bound, ...periodAt(SPANS[bound.measure], now, timeZone) }));
}

/** Who is the reason for something, and what bounds that. */
export type Bounded = {
  readonly payer: Payer;
  /** IANA; this machine's without it. */
  readonly timeZone: string | undefined;
  readonly warnPercent: number;
  /** What holds at a time (epoch ms); `worker` is another agent that works for the payer's. */
  at(now: number, worker?: string): readonly BoundNow[];
};

/** Undefined where nothing bounds them: then nothing is counted either. `rules` are those that hold in their chat. */
export function boundedBy(payer: Payer, rules: Rules): Bounded | undefined {
  const own = boundsFor(payer, rules);
  const others = [...rules.agents.values()].some(
    ({ name, budget }) => name !== payer.agent && isBudget(budget),
  );
  if (own.length === 0 && !others) return undefined;
  const { timeZone, budgets } = rules;
  return {
    payer,
    timeZone,
    warnPercent: budgets?.warnPercent ?? 100,
    at(now, worker = payer.agent) {
      const more = worker === payer.agent ? [] : agentBounds(worker, rules);
      return boundsAt([...own, ...more], now, timeZone);
    },
  };
}
