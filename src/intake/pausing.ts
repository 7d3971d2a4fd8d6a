import { say } from "../core/sentences.ts";
import { agoWords } from "../core/words.ts";
import { currentThread } from "../store/chats.ts";
import { countWaiting } from "../store/inbox.ts";
import { type KeptMessage, keptMessages, PAUSED, takeUp } from "../store/kept.ts";
import { laneOf } from "../store/lane.ts";
import { liftPause, pauseByCommand, pausedUntil, UNTIL_RESUMED } from "../store/pauses.ts";
import { type About, answer, isOwner, languageIn, rulesFor } from "./about.ts";
import { agentFor } from "./admit.ts";
import { charactersOf } from "./gather.ts";
import { isCalledBy } from "./named.ts";
import { gatherRules } from "./waiting-rules.ts";
import { unsign } from "./unsigning.ts";

const MINUTE_MS = 60_000;
const LONGEST_MINUTES = 7 * 24 * 60;

/**
 * `/pause`: the agent keeps still here, for a time or until `/resume`. What it answers just now is stopped, and that and what
 * is said meanwhile is kept.
 */
export async function pause(about: About, wish: string | undefined): Promise<void> {
  const { trx, chat, now, after, effects } = about;
  if (!mayPause(about)) return await answer(about, "command.owner_only");
  const minutes = wish === undefined ? Infinity : minutesIn(wish);
  if (minutes === undefined) return await answer(about, "pause.how", { days: LONGEST_MINUTES / (24 * 60) });
  const until = minutes === Infinity ? UNTIL_RESUMED : now + minutes * MINUTE_MS;
  await unsign(about);
  if (await pauseByCommand(trx, chat, { until, why: PAUSED, now })) after.push(() => effects.stop(chat));
  if (until === UNTIL_RESUMED) return await answer(about, "pause.done");
  return await answer(about, "pause.done_for", { time: agoWords(until - now) });
}

/** `/resume`: one answer to all that was said to the agent while it kept still, or a word that there was nothing. */
export async function resume(about: About): Promise<void> {
  const { trx, channel, chat, now, after, effects } = about;
  if (!mayPause(about)) return await answer(about, "command.owner_only");
  const paused = (await pausedUntil(trx, chat, now)) > 0;
  await liftPause(trx, chat);
  after.push(() => effects.resumed(chat));
  // It is told with what waits already, and no turn of its own comes behind that.
  if (!paused && (await laneOf(trx, chat, now)).intents.some(({ task }) => !task)) return;
  const [first, ...more] = await toAnswer(about);
  if (!first) {
    // What a crash has left of the turn that was cut off goes on by itself.
    if ((await countWaiting(trx, chat)) > 0) return;
    return await answer(about, paused ? "resume.nothing" : "resume.not_paused");
  }
  const agent = agentOf(about, more.at(-1) ?? first);
  const thread = await currentThread(trx, chat, agent);
  const fetched = await takeUp(trx, [first, ...more], { chat, channel, agent, thread, now });
  after.push(() => {
    for (const attachment of fetched) effects.fetch(attachment);
    effects.turn(chat, now, agent);
  });
}

/** Whoever has the agent keep still in a group does so for everybody there. */
export function mayPause(about: About): boolean {
  return about.event.place.kind === "private" || isOwner(about);
}

/** How long the agent keeps still here, for `/status`; "" where it does not. */
export async function pauseWords(about: About): Promise<string> {
  const { trx, chat, now } = about;
  const until = await pausedUntil(trx, chat, now);
  if (until === 0) return "";
  const language = await languageIn(about);
  if (until === UNTIL_RESUMED) return say("status.paused", language);
  return say("status.paused_for", language, { time: agoWords(until - now) });
}

/**
 * What is answered now: the newest of what was said to whoever answers the last of it, within the bounds of one intent. The
 * agent is told the rest of what was kept beside it.
 */
async function toAnswer(about: About): Promise<readonly KeptMessage[]> {
  const rules = rulesFor(about);
  const all = await keptMessages(about.trx, about.chat);
  const isMeant = ({ event }: KeptMessage): boolean =>
    event.addressed || isCalledBy(event, rules?.names ?? []);
  // Only one item of an album carries the words that speak to it.
  const albums = new Set(all.filter(isMeant).flatMap(({ event }) => event.albumId ?? []));
  const kept = all.filter((each) => isMeant(each) || albums.has(each.event.albumId ?? ""));
  const last = kept.at(-1);
  if (!last || !rules) return [];
  const agent = agentOf(about, last);
  const bounds = gatherRules(last.event.place, rules);
  const own = kept.filter((message) => agentOf(about, message) === agent).slice(-bounds.messages);
  let room = bounds.characters - charactersOf(last.event);
  const before = own.slice(0, -1);
  const from = before.findLastIndex(({ event }) => (room -= charactersOf(event)) < 0) + 1;
  return own.slice(from);
}

function agentOf(about: About, { event }: KeptMessage): string {
  const rules = rulesFor(about);
  return rules ? agentFor(event, rules).agent : "";
}

/** "30", "30 min", "2h", "1 day": whole minutes; undefined for what is none, or more than may be. */
export function minutesIn(wish: string): number | undefined {
  const [, digits = "", unit = ""] = /^(\d{1,6})\s*(\p{L}*)$/u.exec(wish.trim().toLowerCase()) ?? [];
  const times = UNITS.find(({ words }) => words.includes(unit))?.minutes;
  const minutes = Number(digits) * (times ?? 0);
  return minutes > 0 && minutes <= LONGEST_MINUTES ? minutes : undefined;
}

const UNITS: readonly { readonly minutes: number; readonly words: readonly string[] }[] = [
  { minutes: 1, words: ["", "m", "min", "mins", "minute", "minutes", "minuten"] },
  { minutes: 60, words: ["h", "hr", "hrs", "hour", "hours", "std", "stunde", "stunden"] },
  { minutes: 24 * 60, words: ["d", "day", "days", "tag", "tage"] },
];
