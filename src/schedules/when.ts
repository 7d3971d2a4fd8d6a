import { Cron, CronDate } from "croner";
import { asError } from "../core/errors.ts";
import type { When } from "../core/schedules.ts";

/** What a time was written as; just one of them. */
export type WrittenWhen = {
  readonly cron?: string | undefined;
  readonly everyMinutes?: number | undefined;
  /** "2026-12-24T18:00", in the time zone; or with an offset of its own, "2026-12-24T18:00:00+01:00". */
  readonly at?: string | undefined;
};

const MINUTE_MS = 60_000;
/** What is longer says nothing that fields with ranges and steps could not, and is shown in a chat. */
const CRON_CHARACTERS = 200;
/** More than this many times that were missed are not counted. */
const MOST_MISSED = 1_000;

/** Reads a time. What is wrong is one sentence: "what is wrong; What to do". */
export function readWhen(written: WrittenWhen, timeZone: string): When | { readonly wrong: string } {
  const { cron, everyMinutes, at } = written;
  if ([cron, everyMinutes, at].filter((each) => each !== undefined).length !== 1)
    return { wrong: "must say when, once; Write one of cron, everyMinutes and at" };
  if (cron !== undefined) return readCron(cron, timeZone);
  if (everyMinutes !== undefined) return { kind: "every", everyMs: everyMinutes * MINUTE_MS };
  return readAt(at ?? "", timeZone);
}

function readCron(written: string, timeZone: string): When | { readonly wrong: string } {
  if (written.length > CRON_CHARACTERS)
    return {
      wrong: `a cron line has at most ${CRON_CHARACTERS} characters, and this has ${written.length}; Write ranges and steps`,
    };
  const fields = written.trim().split(/\s+/).filter(Boolean);
  if (fields.length !== 5 && fields.length !== 6)
    return {
      wrong: `a cron line has 5 fields, or 6 with seconds before them, and this has ${fields.length}; Write such as "0 8 * * 1-5"`,
    };
  const cron = fields.join(" ");
  try {
    // A pattern with a day that never is, such as 30 February, is one of croner's that gives no run.
    if (runsOf(cron, timeZone).nextRun(new Date(0)) !== null) return { kind: "cron", cron };
    return { wrong: "there is no such day; Write one that comes" };
  } catch (error) {
    const why = asError(error).message.replace(/^CronPattern: /, "");
    return { wrong: `cron cannot be read (${why.replace(/[;.]+$/, "")}); Write such as "0 8 * * 1-5"` };
  }
}

const DATE = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d))?(Z|[+-]\d\d:\d\d)?$/;

function readAt(written: string, timeZone: string): When | { readonly wrong: string } {
  const [, year, month, day, hour, minute, second = "00", offset = ""] = DATE.exec(written.trim()) ?? [];
  if (year === undefined) return { wrong: 'at is a date and a time; Write such as "2026-12-24T18:00"' };
  const plain = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  const same = new Date(Date.parse(`${plain}Z`) || 0).toISOString().slice(0, plain.length);
  if (same !== plain)
    return { wrong: `there is no ${written.trim()} in the calendar; Write a day and a time that there are` };
  // Of a time that is there twice it is the first; one that is left out is as much later as is left out.
  return { kind: "at", at: new CronDate(`${plain}${offset}`, timeZone).getDate().getTime() };
}

/** The first time after `after` (epoch ms) that it is due; undefined where there is none. */
export function nextRun(when: When, timeZone: string, after: number, since = after): number | undefined {
  switch (when.kind) {
    case "cron":
      return runsOf(when.cron, timeZone).nextRun(new Date(after))?.getTime();
    case "every":
      // In step with the time that it was last due.
      return since + (Math.floor(Math.max(after - since, 0) / when.everyMs) + 1) * when.everyMs;
    case "at":
      return when.at > after ? when.at : undefined;
  }
}

/** How often it was due after `due` and not later than `now`; no more than 1,000 are counted. */
export function missedRuns(when: When, timeZone: string, due: number, now: number): number {
  let missed = 0;
  let last = due;
  while (missed < MOST_MISSED) {
    const next = nextRun(when, timeZone, last, due);
    if (next === undefined || next > now) break;
    last = next;
    missed += 1;
  }
  return missed;
}

/**
 * The shortest time between two of the next runs, in ms; Infinity where there is no second one. A hundred are more than a
 * day of any pattern whose runs are a quarter of an hour apart.
 */
export function shortestGap(when: When, timeZone: string, after: number): number {
  if (when.kind === "at") return Infinity;
  if (when.kind === "every") return when.everyMs;
  const runs = runsOf(when.cron, timeZone).nextRuns(100, new Date(after));
  const gaps = runs.slice(1).map((run, i) => run.getTime() - (runs[i]?.getTime() ?? 0));
  return Math.min(...gaps, Infinity);
}

/** In what is left out of a day it is due right after; in what comes twice, once. */
function runsOf(cron: string, timeZone: string): Cron {
  return new Cron(cron, {
    timezone: timeZone,
    mode: "5-or-6-parts",
    paused: true,
    fixedTimeRule: "no-wildcard",
  });
}
