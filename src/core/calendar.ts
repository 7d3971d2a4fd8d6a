/** Part of the calendar of a time zone, epoch ms: `from` is its first instant, `until` that of the next one. */
export type Period = { readonly from: number; readonly until: number };

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * The hour, day or month of a time zone (IANA) that `at` (epoch ms) is in. A day has 23 or 25 hours where clocks are
 * changed, and begins with its first instant there is: where midnight is passed over, at one.
 */
export function periodAt(span: "hour" | "day" | "month", at: number, timeZone: string): Period {
  const local = at + offsetAt(at, timeZone);
  switch (span) {
    case "hour": {
      const into = local - Math.floor(local / HOUR_MS) * HOUR_MS;
      return { from: at - into, until: at - into + HOUR_MS };
    }
    case "day": {
      const midnight = Math.floor(local / DAY_MS) * DAY_MS;
      return { from: firstAt(midnight, timeZone), until: firstAt(midnight + DAY_MS, timeZone) };
    }
    case "month": {
      const date = new Date(local);
      const first = (months: number): number =>
        firstAt(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1), timeZone);
      return { from: first(0), until: first(1) };
    }
  }
}

/** The first instant at which the clocks of a zone show `local` or later; that is written as if it were in UTC. */
function firstAt(local: number, timeZone: string): number {
  // Clocks are changed once in two days at most.
  const offsets = [offsetAt(local - DAY_MS, timeZone), offsetAt(local + DAY_MS, timeZone)];
  const [first = local, second = first] = offsets.map((offset) => local - offset).toSorted((a, b) => a - b);
  return first + offsetAt(first, timeZone) >= local ? first : second;
}

/** How far the clocks of a zone are ahead of UTC, in ms. */
function offsetAt(at: number, timeZone: string): number {
  const seconds = Math.floor(at / 1_000) * 1_000;
  const parts = new Map(
    formatIn(timeZone)
      .formatToParts(seconds)
      .map(({ type, value }) => [type, +value]),
  );
  const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const shown = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  return shown - seconds;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Made once for each zone, which takes longer than all that is asked of it. */
function formatIn(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const made = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  formats.set(timeZone, made);
  return made;
}
