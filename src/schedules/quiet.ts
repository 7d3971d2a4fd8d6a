import { localParts, type QuietHours } from "../core/schedules.ts";
import { nextRun } from "./when.ts";

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

/** The end (epoch ms) of the quiet hours that hold now; undefined where none do. */
export function quietUntil(quiet: QuietHours | undefined, timeZone: string, now: number): number | undefined {
  if (quiet === undefined) return undefined;
  const { fromMinute, toMinute } = quiet;
  const minute = minuteOf(now, timeZone);
  const isQuiet =
    fromMinute < toMinute
      ? minute >= fromMinute && minute < toMinute
      : minute >= fromMinute || minute < toMinute;
  if (!isQuiet) return undefined;
  return nextAtMinute(toMinute, timeZone, now);
}

/** "2026-12-24", the day that it is in a time zone. */
export function dayOf(now: number, timeZone: string): string {
  const { year, month, day } = localParts(now, timeZone);
  return `${year}-${month}-${day}`;
}

/** The next time that a clock on the wall there shows it; where it is left out, right after. */
function nextAtMinute(minute: number, timeZone: string, now: number): number {
  const minutes = (minute - minuteOf(now, timeZone) + DAY_MINUTES) % DAY_MINUTES || DAY_MINUTES;
  const near = now - (now % MINUTE_MS) + minutes * MINUTE_MS;
  // Wrong where the clocks are changed in between, and right in the hour that comes twice.
  if (minuteOf(near, timeZone) === minute) return near;
  const cron = `${minute % 60} ${Math.floor(minute / 60)} * * *`;
  return nextRun({ kind: "cron", cron }, timeZone, now) ?? near; // every day has one
}

function minuteOf(now: number, timeZone: string): number {
  const { hour, minute } = localParts(now, timeZone);
  return Number(hour) * 60 + Number(minute);
}
