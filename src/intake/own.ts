import type { MessageEvent } from "../core/events.ts";
import type { ChatId } from "../core/identity.ts";
import type { ChannelRules } from "../core/rules.ts";
import { BY_HAND, MOST_KEPT, trimAsides } from "../store/asides.ts";
import { hadTurn } from "../store/fates.ts";
import { TAKEN_OVER } from "../store/kept.ts";
import { type Pause, pauseByHand, pauseOf } from "../store/pauses.ts";
import type { Queries } from "../store/tables.ts";
import { type About, rulesFor } from "./about.ts";
import { contextFor, type Decision, standingOf, whenFor } from "./admit.ts";
import { grantedTo } from "./granted.ts";
import { ageOf } from "./lateness.ts";
import { unsign } from "./unsigning.ts";

/**
 * What the account's own person writes by hand is for others: where the agent answers somebody, it is told of it with its
 * next turn.
 */
export async function ownDecision(about: About<MessageEvent>): Promise<Decision> {
  const rules = rulesFor(about);
  if (rules && (await answersSomebody(about, rules))) return { kind: "aside", why: BY_HAND, keep: MOST_KEPT };
  const why = "written by hand where the agent answers nobody";
  return { kind: "refused", why, stranger: false };
}

async function answersSomebody(about: About<MessageEvent>, rules: ChannelRules): Promise<boolean> {
  const { trx, channel, chat, event } = about;
  const { place } = event;
  if (place.kind === "group") {
    if (whenFor(event, rules) === "none") return false;
    return contextFor(event, rules) > 0 || (await hadTurn(trx, channel, chat));
  }
  // A private chat is called as the other person in it.
  const other = { id: place.chat, name: "", ...(place.also ? { also: place.also } : {}) };
  const standing = standingOf({ place, from: other }, rules, await grantedTo(trx, channel, other));
  return standing !== "denied" && standing !== "stranger";
}

/** The agent keeps still where the account's own person has written, and answers nothing there that waits. */
export async function takeOver(about: About<MessageEvent>): Promise<void> {
  const { trx, chat, event, now } = about;
  const pauseMs = rulesFor(about)?.pauseMs ?? 0;
  if (pauseMs === 0) return;
  const until = now - ageOf(event.sentAt, now) + pauseMs;
  await unsign(about);
  await pauseByHand(trx, chat, { until, why: TAKEN_OVER, now });
  await trimAsides(trx, chat, { type: "message", among: "kept", keep: MOST_KEPT, why: TAKEN_OVER, now });
}

/**
 * By whom the agent is kept still about what was said then, if at all: the account's own person has written there, or does so
 * now, or a command holds there.
 */
export async function keepsStill(
  trx: Queries,
  chat: ChatId,
  { sentAt, now, rules }: { sentAt: string; now: number; rules: ChannelRules | undefined },
): Promise<Pause["by"] | undefined> {
  const pause = await pauseOf(trx, chat, now);
  if (pause?.by !== "hand") return pause?.by;
  const holds = rules !== undefined && rules.pauseMs > 0 && now - ageOf(sentAt, now) < pause.until;
  return holds ? pause.by : undefined;
}
