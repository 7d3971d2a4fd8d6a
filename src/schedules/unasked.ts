import { periodAt } from "../core/calendar.ts";
import type { ChannelRules } from "../core/rules.ts";
import type { QuietHours } from "../core/schedules.ts";
import { dayOf, quietUntil } from "./quiet.ts";

/** What holds in a chat for messages that nobody has asked for. */
export type UnaskedRules = {
  readonly quiet?: QuietHours;
  /** At most so many on one day. */
  readonly perDay: number;
  /** IANA, in which quiet hours and days are reckoned. */
  readonly timeZone: string;
};

/** The narrowest rule counts: chat, then channel; `timeZone` is what holds where neither says one. */
export function unaskedIn(
  rules: Pick<ChannelRules, "chats" | "quietHours" | "unaskedPerDay" | "timeZone">,
  chat: string,
  timeZone: string,
): UnaskedRules {
  // "constructor" is a property of every object.
  const own = Object.hasOwn(rules.chats, chat) ? rules.chats[chat] : undefined;
  const quiet = own?.quietHours === "none" ? undefined : (own?.quietHours ?? rules.quietHours);
  return {
    ...(quiet === undefined ? {} : { quiet }),
    perDay: own?.unaskedPerDay ?? rules.unaskedPerDay,
    timeZone: own?.timeZone ?? rules.timeZone ?? timeZone,
  };
}

/** What a message that nobody has asked for meets now. Times are epoch ms. */
export type UnaskedNow = {
  /** The end of the quiet hours; undefined where none hold. */
  readonly quietUntil: number | undefined;
  /** As it is counted: "2026-12-24". */
  readonly day: string;
  /** When one is sent that this day has no room for: the next day, and behind its quiet hours. */
  readonly laterAt: number;
};

export function unaskedNow({ quiet, timeZone }: UnaskedRules, now: number): UnaskedNow {
  const tomorrow = periodAt("day", now, timeZone).until;
  return {
    quietUntil: quietUntil(quiet, timeZone, now),
    day: dayOf(now, timeZone),
    laterAt: quietUntil(quiet, timeZone, tomorrow) ?? tomorrow,
  };
}
