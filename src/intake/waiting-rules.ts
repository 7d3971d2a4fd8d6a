import type { Place } from "../core/events.ts";
import type { ChannelRules, GatherRules } from "../core/rules.ts";
import { type About, rulesFor } from "./about.ts";
import { chatRules } from "./admit.ts";

/** How what is said in a chat is gathered, and waits while a turn runs. */
export type WaitingRules = Pick<ChannelRules, "gather" | "during" | "queueLimit" | "waitingSign">;

/** As the operator wrote it for the chat, and what is not said there as for its connection. */
export function waitingRules(place: Place, rules: ChannelRules): WaitingRules {
  const here = chatRules(place, rules);
  return {
    gather: gatherRules(place, rules),
    during: here?.during ?? rules.during,
    queueLimit: here?.queueLimit ?? rules.queueLimit,
    waitingSign: here?.waitingSign ?? rules.waitingSign,
  };
}

/** Where an event is from; undefined in a connection that has no rules. */
export function gatherIn(about: About): GatherRules | undefined {
  const rules = rulesFor(about);
  return rules && gatherRules(about.event.place, rules);
}

export function gatherRules(place: Pick<Place, "chat">, rules: ChannelRules): GatherRules {
  return { ...rules.gather, ...chatRules(place, rules)?.gather };
}
