import type { Clock } from "../core/clock.ts";
import {
  localWords,
  type ScheduleDesk,
  type ScheduleLimits,
  type ScheduleWish,
  type When,
} from "../core/schedules.ts";
import { isTimeZone } from "../core/time-zones.ts";
import { oneLine } from "../core/words.ts";
import type { Database } from "../store/database.ts";
import { cancelSchedule, insertSchedule, type ScheduleOrigin, schedulesIn } from "../store/schedules.ts";

const NAME_CHARACTERS = 60;
const PROMPT_CHARACTERS = 2_000;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const MOST_DAYS = 366;

/** The desk of an agent in one chat: what it may make there is bounded, however it is asked to. */
export function deskFor(
  origin: ScheduleOrigin,
  by: {
    readonly database: Database;
    readonly clock: Clock;
    readonly limits: ScheduleLimits;
    /** The turn is one of a schedule: nobody has asked for another. */
    readonly scheduled: boolean;
    /** Of the chat. */
    readonly timeZone: () => Promise<string>;
    readonly wake: (id: number, at: number) => void;
  },
): ScheduleDesk {
  const { database, clock, limits, wake } = by;
  return {
    async create(wish) {
      // Or one that is soon over could make the next one, as often as it likes.
      if (by.scheduled) return refusal("a scheduled turn makes no schedules: nobody has asked for one");
      const name = oneLine(wish.name).toLowerCase();
      if (name === "" || name.length > NAME_CHARACTERS)
        return refusal(`a name has 1 to ${NAME_CHARACTERS} characters, and this has ${name.length}`);
      const prompt = wish.prompt.trim();
      if (prompt === "" || prompt.length > PROMPT_CHARACTERS)
        return refusal(`a prompt has 1 to ${PROMPT_CHARACTERS} characters, and this has ${prompt.length}`);
      const timeZone = wish.timeZone ?? (await by.timeZone());
      if (!isTimeZone(timeZone))
        return refusal(
          `there is no time zone ${JSON.stringify(timeZone)}; give a name such as Europe/Berlin`,
        );
      const now = clock.now();
      const read = await readWish(wish, { timeZone, limits, now });
      if ("wrong" in read) return refusal(read.wrong);
      const { when, dueAt } = read;
      const made = await insertSchedule(
        database,
        origin,
        { name, when, timeZone, prompt, dueAt },
        { most: limits.most, now },
      );
      if ("schedule" in made) {
        wake(made.schedule.number, dueAt);
        return made.schedule;
      }
      return refusal(
        made.refused === "taken"
          ? `there is a schedule ${JSON.stringify(name)} already; cancel it first, or give another name`
          : `there are ${limits.most} schedules in this chat, and no more may be; cancel one first`,
      );
    },
    list: () => schedulesIn(database.db, origin.chat),
    cancel: (name) =>
      database.db
        .transaction()
        .execute((trx) => cancelSchedule(trx, origin.chat, { name: oneLine(name).toLowerCase() })),
  };
}

async function readWish(
  wish: ScheduleWish,
  {
    timeZone,
    limits,
    now,
  }: { readonly timeZone: string; readonly limits: ScheduleLimits; readonly now: number },
): Promise<{ readonly when: When; readonly dueAt: number } | { readonly wrong: string }> {
  const { nextRun, readWhen, shortestGap } = await import("./when.ts");
  const { cron, everyMinutes, at, inMinutes } = wish;
  if ([cron, everyMinutes, at, inMinutes].filter((each) => each !== undefined).length !== 1)
    return { wrong: "say when, once: one of cron, everyMinutes, at and inMinutes" };
  const when: When | { readonly wrong: string } =
    inMinutes === undefined
      ? readWhen({ cron, everyMinutes, at }, timeZone)
      : { kind: "at", at: now + inMinutes * MINUTE_MS };
  if ("wrong" in when) return when;
  const dueAt = nextRun(when, timeZone, now);
  if (dueAt === undefined)
    return { wrong: `that time is over: it is ${localWords(now, timeZone)} now; give a later one` };
  if (dueAt > now + MOST_DAYS * DAY_MS)
    return { wrong: `it is to be due in ${MOST_DAYS} days at the latest; give an earlier time` };
  const gap = shortestGap(when, timeZone, now) / MINUTE_MS;
  if (gap < limits.minMinutes)
    return {
      wrong: `it would be due ${gap < 1 ? "more than once a minute" : `every ${Math.floor(gap)} min`}, and ${limits.minMinutes} min must be between two times; give a wider interval`,
    };
  return { when, dueAt };
}

function refusal(refused: string): { readonly refused: string } {
  return { refused };
}
