import { idsOf } from "../core/identity.ts";
import { type HeldWhy, localWords, type Outcome, type Schedule, type When } from "../core/schedules.ts";
import { type Language, say, type SentenceKey } from "../core/sentences.ts";
import { cancelSchedule, schedulesIn } from "../store/schedules.ts";
import { type About, answer, isOwner, languageIn } from "./about.ts";

/** Lists what is done in a chat by itself, or ends one of it. */
export async function schedules(about: About, wish: string | undefined): Promise<void> {
  const { trx, chat } = about;
  const found = await schedulesIn(trx, chat);
  if (wish !== undefined) return await cancel(about, found, wish.trim());
  if (found.length === 0) return await answer(about, "schedules.none");
  const language = await languageIn(about);
  const lines = found.map((schedule) => lineOf(schedule, language)).join("\n");
  return await answer(about, "schedules.body", { lines });
}

async function cancel(about: About, found: readonly Schedule[], wish: string): Promise<void> {
  const { trx, chat, event } = about;
  const [, number = ""] = /^cancel\s+(\d{1,9})\.?$/i.exec(wish) ?? [];
  const schedule = found.find((each) => each.active && String(each.number) === number);
  if (!schedule) return await answer(about, "schedules.unknown");
  if (schedule.by === "operator") return await answer(about, "schedules.operators");
  if (!isOwner(about) && !idsOf(event.from).includes(schedule.person))
    return await answer(about, "schedules.not_yours");
  await cancelSchedule(trx, chat, { number: schedule.number });
  return await answer(about, "schedules.cancelled", { name: schedule.name });
}

function lineOf(schedule: Schedule, language: Language): string {
  const { number, name, active, nextAt, timeZone, when, outcome } = schedule;
  return say(active ? "schedules.active" : "schedules.over", language, {
    number,
    name,
    when: whenWords(when, language),
    next: localWords(nextAt, timeZone),
    outcome: outcomeWords(outcome, language),
  });
}

function whenWords(when: When, language: Language): string {
  switch (when.kind) {
    case "cron":
      return say("when.cron", language, { cron: when.cron });
    case "every":
      return say("when.every", language, { minutes: when.everyMs / 60_000 });
    case "at":
      return say("when.at", language);
  }
}

function outcomeWords(outcome: Outcome, language: Language): string {
  switch (outcome.kind) {
    case "held":
      return say(HELD[outcome.why], language);
    case "failed":
      return say("outcome.failed", language, { why: outcome.why });
    case "partly":
      return say("outcome.partly", language, { sent: outcome.sent, of: outcome.of });
    case "none":
    case "waiting":
    case "running":
    case "delivered":
    case "silent":
    case "unknown":
    case "stopped":
    case "forgotten":
      return say(`outcome.${outcome.kind}`, language);
  }
}

const HELD: Readonly<Record<HeldWhy, SentenceKey>> = {
  "quiet hours": "held.quiet",
  cap: "held.cap",
  "taken over": "held.paused",
  "nobody has written there yet": "held.not_met",
  past: "held.past",
};
