import type { ChannelFront } from "../core/channel.ts";
import type { Place } from "../core/events.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { ChannelRules, Rules } from "../core/rules.ts";
import { agentFor } from "../intake/admit.ts";
import { Schedules } from "../schedules/schedules.ts";
import type { GatewayParts } from "./parts.ts";

const NOBODY = { id: "", name: "" };

/** What is done at a time though nobody writes. */
export function scheduling(
  { database, clock, log }: GatewayParts,
  by: {
    readonly channel: (id: ChannelId) => ChannelFront | undefined;
    readonly rules: () => Rules;
    readonly rulesIn: (id: ChannelId, place: Pick<Place, "chat">) => Promise<ChannelRules | undefined>;
    readonly wake: (id: number, at: number) => void;
    readonly turn: (chat: ChatId) => void;
  },
): Schedules {
  return new Schedules({
    database,
    clock,
    log,
    isOpen: (id) => by.channel(id) !== undefined,
    rulesIn: by.rulesIn,
    agentIn: (rules, place) => agentFor({ place, from: NOBODY }, rules).agent,
    isAgent: (name) => by.rules().agents.has(name),
    timeZone: () => by.rules().timeZone,
    wake: by.wake,
    turn: by.turn,
  });
}
