import { describe, expect, it } from "vitest";
import type { When } from "../../src/core/schedules.ts";
import { missedRuns, nextRun, readWhen, shortestGap, type WrittenWhen } from "../../src/schedules/when.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const at = (iso: string): number => Date.parse(iso);

function read(written: WrittenWhen, timeZone: string): When {
  const when = readWhen(written, timeZone);
  if ("wrong" in when) throw new Error(when.wrong);
  return when;
}

/** The next runs after a time, as UTC has them. */
function runs(cron: string, timeZone: string, after: string, count: number): readonly string[] {
  const when = read({ cron }, timeZone);
  const found: string[] = [];
  for (let last = at(after); found.length < count;) {
    last = nextRun(when, timeZone, last) ?? Number.NaN;
    found.push(new Date(last).toISOString().replace(":00.000Z", "Z"));
  }
  return found;
}

describe("a cron line", () => {
  it.each([
    ["30 7 * * *", "UTC", "2026-01-01T00:00:00Z", ["2026-01-01T07:30Z", "2026-01-02T07:30Z"]],
    ["0 8 * * 1-5", "Europe/Berlin", "2026-01-02T10:00:00Z", ["2026-01-05T07:00Z", "2026-01-06T07:00Z"]],
    ["0 8 * * MON", "UTC", "2026-01-01T00:00:00Z", ["2026-01-05T08:00Z", "2026-01-12T08:00Z"]],
    ["0 0 31 * *", "UTC", "2026-01-31T00:00:00Z", ["2026-03-31T00:00Z", "2026-05-31T00:00Z"]],
    ["0 12 29 2 *", "UTC", "2026-01-01T00:00:00Z", ["2028-02-29T12:00Z", "2032-02-29T12:00Z"]],
    ["0 0 L * *", "UTC", "2026-01-31T00:00:00Z", ["2026-02-28T00:00Z", "2026-03-31T00:00Z"]],
    ["*/20 23 * * *", "America/New_York", "2026-01-01T04:30:00Z", ["2026-01-01T04:40Z", "2026-01-02T04:00Z"]],
  ])("%s in %s is due when a clock there shows it", (cron, zone, after, expected) => {
    expect(runs(cron, zone, after, 2)).toEqual(expected);
  });

  it("with six fields begins with seconds", () => {
    expect(runs("30 0 8 * * *", "UTC", "2026-01-01T00:00:00Z", 2)).toEqual([
      "2026-01-01T08:00:30.000Z",
      "2026-01-02T08:00:30.000Z",
    ]);
  });

  it.each([
    // Clocks go from 02:00 to 03:00.
    ["30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", ["2026-03-29T01:00Z", "2026-03-30T00:30Z"]],
    ["30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", ["2026-03-08T07:00Z", "2026-03-09T06:30Z"]],
    ["30 2,14 * * *", "Europe/Berlin", "2026-03-28T14:00:00Z", ["2026-03-29T01:00Z", "2026-03-29T12:30Z"]],
  ])("%s in %s is due right after the hour that is left out", (cron, zone, after, expected) => {
    expect(runs(cron, zone, after, 2)).toEqual(expected);
  });

  it.each([
    // Clocks go from 03:00 back to 02:00.
    ["30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", ["2026-10-25T00:30Z", "2026-10-26T01:30Z"]],
    ["30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", ["2026-11-01T05:30Z", "2026-11-02T06:30Z"]],
  ])("%s in %s is due once in the hour that comes twice", (cron, zone, after, expected) => {
    expect(runs(cron, zone, after, 2)).toEqual(expected);
  });

  it("that is due all the time goes on through the hour that comes twice", () => {
    const six = runs("*/30 * * * *", "Europe/Berlin", "2026-10-24T23:59:00Z", 6);
    const half = six.map((run) => Date.parse(run) - at("2026-10-25T00:00:00Z"));
    expect(half).toEqual([0, 1, 2, 3, 4, 5].map((n) => n * 30 * MINUTE_MS));
  });

  it.each([
    ["", /has 0; Write such as/],
    ["* * * *", /5 fields, or 6 with seconds before them, and this has 4; Write such as "0 8 \* \* 1-5"/],
    ["* * * * * * *", /this has 7; Write/],
    ["@daily", /this has 1; Write/],
    ["61 * * * *", /cron cannot be read \(Invalid value for minute: 61\); Write such as/],
    ["* * * * 8", /Invalid value for dayOfWeek: 8/],
    ["*/0 * * * *", /illegal stepping: 0/],
    ["0 0 30 2 *", /there is no such day; Write one that comes/],
    ["2026-01-01T00:00:00", /this has 1; Write/],
    ["a b c d e", /cron cannot be read/],
  ])("%j is refused in one sentence", (cron, wrong) => {
    const said = readWhen({ cron }, "UTC");
    expect("wrong" in said ? said.wrong : said).toMatch(wrong);
    expect(JSON.stringify(said)).not.toMatch(/CronPattern|\n/);
  });
});

describe("a time that comes once", () => {
  it.each([
    ["2026-12-24T18:00", "Europe/Berlin", "2026-12-24T17:00:00.000Z"],
    ["2026-12-24 18:00:30", "UTC", "2026-12-24T18:00:30.000Z"],
    ["2026-12-24T18:00:00+05:30", "Europe/Berlin", "2026-12-24T12:30:00.000Z"],
    ["2026-12-24T18:00Z", "Europe/Berlin", "2026-12-24T18:00:00.000Z"],
    // Left out, and there twice.
    ["2026-03-29T02:30", "Europe/Berlin", "2026-03-29T01:30:00.000Z"],
    ["2026-10-25T02:30", "Europe/Berlin", "2026-10-25T00:30:00.000Z"],
  ])("%s in %s", (written, zone, expected) => {
    const when = read({ at: written }, zone);
    expect(when.kind === "at" && new Date(when.at).toISOString()).toBe(expected);
  });

  it.each(["tomorrow", "2026-12-24", "24.12.2026 18:00", "2026-02-30T10:00", "2026-01-01T25:00", ""])(
    "%j is refused in one sentence",
    (written) => {
      const said = readWhen({ at: written }, "UTC");
      expect("wrong" in said && said.wrong).toMatch(/^(at is a date and a time|there is no .*); Write /);
    },
  );

  it("is over when it is over", () => {
    const when = read({ at: "2026-12-24T18:00Z" }, "UTC");
    expect(nextRun(when, "UTC", at("2026-12-24T17:59:59Z"))).toBe(at("2026-12-24T18:00:00Z"));
    expect(nextRun(when, "UTC", at("2026-12-24T18:00:00Z"))).toBeUndefined();
  });
});

describe("an interval", () => {
  it("keeps in step with the time that it was last due", () => {
    const when = read({ everyMinutes: 30 }, "UTC");
    expect(nextRun(when, "UTC", 0)).toBe(30 * MINUTE_MS);
    expect(nextRun(when, "UTC", 100 * MINUTE_MS, 30 * MINUTE_MS)).toBe(120 * MINUTE_MS);
    expect(nextRun(when, "UTC", 120 * MINUTE_MS, 30 * MINUTE_MS)).toBe(150 * MINUTE_MS);
  });
});

it("takes one way of saying when, and no other beside it", () => {
  for (const written of [
    {},
    { cron: "0 8 * * *", everyMinutes: 5 },
    { at: "2026-12-24T18:00", cron: "* * * * *" },
  ])
    expect(readWhen(written, "UTC")).toEqual({
      wrong: "must say when, once; Write one of cron, everyMinutes and at",
    });
});

it("counts what was missed, up to a thousand", () => {
  const daily = read({ cron: "0 8 * * *" }, "UTC");
  const due = at("2026-01-01T08:00:00Z");
  expect(missedRuns(daily, "UTC", due, due + 4 * HOUR_MS)).toBe(0);
  expect(missedRuns(daily, "UTC", due, due + 24 * HOUR_MS)).toBe(1);
  expect(missedRuns(daily, "UTC", due, due + 10 * 24 * HOUR_MS + 1)).toBe(10);
  expect(missedRuns(read({ everyMinutes: 1 }, "UTC"), "UTC", due, due + 5_000 * MINUTE_MS)).toBe(1_000);
  expect(missedRuns({ kind: "at", at: due }, "UTC", due, due + HOUR_MS)).toBe(0);
});

it.each([
  ["0 8 * * *", 24 * 60],
  ["*/15 * * * *", 15],
  ["0,1 0 1 1 *", 1],
  ["0 8 * * 1", 7 * 24 * 60],
  ["*/10 * 8 * * *", 1 / 6],
  ["55 23,0 * * *", 60],
])("%s is due %d minutes apart at least", (cron, minutes) => {
  expect(shortestGap(read({ cron }, "UTC"), "UTC", at("2026-01-01T00:00:00Z"))).toBe(minutes * MINUTE_MS);
});
