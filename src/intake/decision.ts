import type { MessageEvent, StopEvent } from "../core/events.ts";
import type { ChannelRules } from "../core/rules.ts";
import { agoWords } from "../core/words.ts";
import { MOST_KEPT, NOT_ADDRESSED } from "../store/asides.ts";
import { hasAlbum } from "../store/inbox.ts";
import { PAUSED, TAKEN_OVER } from "../store/kept.ts";
import type { Pause } from "../store/pauses.ts";
import { type About, rulesFor } from "./about.ts";
import { admit, contextFor, type Decision, isDenied, standingOf } from "./admit.ts";
import { ageOf, latenessOf } from "./lateness.ts";
import { isCalledBy, isSpoken } from "./named.ts";
import { ownDecision } from "./own.ts";
import { mayPause } from "./pausing.ts";

export async function decisionOn(about: About<MessageEvent | StopEvent>): Promise<Decision> {
  const { event } = about;
  if (event.type === "message" && event.own) return await ownDecision({ ...about, event });
  return inItsTime(about, await whoseItIs(about));
}

/**
 * In a group, what does not speak to us may still be for us: it calls us by name, only one item of an album carries the
 * words that do, and in what is spoken they are heard later. And the agent may be told of the rest.
 */
async function whoseItIs(about: About<MessageEvent | StopEvent>): Promise<Decision> {
  const { trx, channel, chat, event, granted, now } = about;
  const rules = rulesFor(about);
  const verdict = admit(event, rules, granted);
  if (verdict.kind !== "refused" || event.type !== "message" || event.addressed) return verdict;
  const ifAddressed = admit({ ...event, addressed: true }, rules, granted);
  if (ifAddressed.kind === "turn") {
    if (isCalledBy(event, rules?.names ?? [])) return { ...ifAddressed, by: "name" };
    if (event.albumId !== undefined) {
      const of = { channel, sender: event.from.id, album: event.albumId, now };
      const follows = await hasAlbum(trx, chat, of);
      if (follows) return { ...ifAddressed, by: "album" };
    } else {
      const hears = about.rules.agents.get(ifAddressed.agent)?.transcriber !== undefined;
      if (hears && (rules?.names ?? []).length > 0 && isSpoken(event))
        return { ...ifAddressed, kind: "listen" };
    }
  }
  return overheard(event, rules) ?? verdict;
}

function overheard(event: MessageEvent, rules: ChannelRules | undefined): Decision | undefined {
  const keep = rules && isDenied(event.from, rules) ? 0 : contextFor(event, rules);
  return keep > 0 ? { kind: "aside", why: NOT_ADDRESSED, keep } : undefined;
}

/**
 * The same where the agent keeps still in the chat, or where it comes late because we were away: then it is kept, and what it
 * asks of Perch itself is not done. Of whoever may have the agent speak again it is.
 */
export function inItsTime(about: About<MessageEvent | StopEvent>, decision: Decision): Decision {
  const { event, granted, still, now } = about;
  const rules = rulesFor(about);
  if (!rules) return decision;
  const lateness = latenessOf(event, rules, now);
  const ago = `sent ${agoWords(ageOf(event.sentAt, now))} ago, while we were away`;
  switch (decision.kind) {
    case "aside":
    case "claim":
      return decision;
    case "refused":
      // Nobody is told today why they got no answer then, nor anything where we keep still.
      return lateness === "in time" && !still ? decision : { ...decision, stranger: false };
    case "stop":
      return lateness === "in time" ? decision : refused(`a stop, ${ago}`);
    case "command":
      if (lateness !== "in time") return refused(`a command, ${ago}`);
      if (still === undefined || standingOf(event, rules, granted) === "owner") return decision;
      return still === "command" && mayPause(about) ? decision : refused(stillWhy(still));
    case "listen":
      if (lateness === "in time" && !still) return decision;
      return (event.type === "message" ? overheard(event, rules) : undefined) ?? refused(NOT_ADDRESSED);
    case "turn":
      if (still) return { kind: "aside", why: stillWhy(still), keep: MOST_KEPT };
      if (lateness === "old") return { kind: "aside", why: `kept: ${ago}`, keep: MOST_KEPT };
      return lateness === "late" ? { ...decision, digest: true } : decision;
  }
}

function stillWhy(by: Pause["by"]): string {
  return by === "hand" ? TAKEN_OVER : PAUSED;
}

function refused(why: string): Decision {
  return { kind: "refused", why, stranger: false };
}
