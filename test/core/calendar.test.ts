import { describe, expect, it } from "vitest";
import { periodAt } from "../../src/core/calendar.ts";

type Span = Parameters<typeof periodAt>[0];

function period(span: Span, at: string, zone: string): readonly [string, string] {
  const { from, until } = periodAt(span, Date.parse(at), zone);
  return [new Date(from).toISOString(), new Date(until).toISOString()];
}

describe("the part of the calendar that a time is in", () => {
  it.each<readonly [Span, string, string, string, string]>([
    ["hour", "2026-03-01T12:34:56.789Z", "UTC", "2026-03-01T12:00:00.000Z", "2026-03-01T13:00:00.000Z"],
    ["hour", "2026-03-01T12:34:00Z", "Asia/Kolkata", "2026-03-01T12:30:00.000Z", "2026-03-01T13:30:00.000Z"],
    ["day", "2026-03-01T23:30:00Z", "Europe/Berlin", "2026-03-01T23:00:00.000Z", "2026-03-02T23:00:00.000Z"],
    [
      "day",
      "2026-03-01T22:59:59.999Z",
      "Europe/Berlin",
      "2026-02-28T23:00:00.000Z",
      "2026-03-01T23:00:00.000Z",
    ],
    [
      "month",
      "2026-01-31T22:59:59Z",
      "Europe/Berlin",
      "2025-12-31T23:00:00.000Z",
      "2026-01-31T23:00:00.000Z",
    ],
    [
      "month",
      "2026-01-31T23:00:00Z",
      "Europe/Berlin",
      "2026-01-31T23:00:00.000Z",
      "2026-02-28T23:00:00.000Z",
    ],
    ["month", "2026-12-31T12:00:00Z", "UTC", "2026-12-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"],
    ["month", "2024-02-29T12:00:00Z", "UTC", "2024-02-01T00:00:00.000Z", "2024-03-01T00:00:00.000Z"],
    ["day", "1969-12-31T23:00:00Z", "UTC", "1969-12-31T00:00:00.000Z", "1970-01-01T00:00:00.000Z"],
  ])("%s of %s in %s", (span, at, zone, from, until) => {
    expect(period(span, at, zone)).toEqual([from, until]);
  });

  it.each<readonly [string, Span, string, string, string, string]>([
    // Berlin, 29 March 2026: at 1:00 UTC clocks go from 2:00 to 3:00.
    [
      "23 hours",
      "day",
      "2026-03-29T12:00:00Z",
      "Europe/Berlin",
      "2026-03-28T23:00:00.000Z",
      "2026-03-29T22:00:00.000Z",
    ],
    [
      "an hour that is passed over",
      "hour",
      "2026-03-29T01:10:00Z",
      "Europe/Berlin",
      "2026-03-29T01:00:00.000Z",
      "2026-03-29T02:00:00.000Z",
    ],
    [
      "another offset at its end",
      "month",
      "2026-03-10T12:00:00Z",
      "Europe/Berlin",
      "2026-02-28T23:00:00.000Z",
      "2026-03-31T22:00:00.000Z",
    ],
    // 25 October 2026: at 1:00 UTC from 3:00 to 2:00.
    [
      "25 hours",
      "day",
      "2026-10-25T12:00:00Z",
      "Europe/Berlin",
      "2026-10-24T22:00:00.000Z",
      "2026-10-25T23:00:00.000Z",
    ],
    [
      "the first of two equal hours",
      "hour",
      "2026-10-25T00:30:00Z",
      "Europe/Berlin",
      "2026-10-25T00:00:00.000Z",
      "2026-10-25T01:00:00.000Z",
    ],
    [
      "the second of them",
      "hour",
      "2026-10-25T01:30:00Z",
      "Europe/Berlin",
      "2026-10-25T01:00:00.000Z",
      "2026-10-25T02:00:00.000Z",
    ],
    // São Paulo, 4 November 2018: midnight itself is passed over.
    [
      "no midnight",
      "day",
      "2018-11-04T12:00:00Z",
      "America/Sao_Paulo",
      "2018-11-04T03:00:00.000Z",
      "2018-11-05T02:00:00.000Z",
    ],
    [
      "the day before it",
      "day",
      "2018-11-03T12:00:00Z",
      "America/Sao_Paulo",
      "2018-11-03T03:00:00.000Z",
      "2018-11-04T03:00:00.000Z",
    ],
    // Havana, 1 November 2026: at 1:00 clocks go back to 0:00.
    [
      "two midnights",
      "day",
      "2026-11-01T05:30:00Z",
      "America/Havana",
      "2026-11-01T04:00:00.000Z",
      "2026-11-02T05:00:00.000Z",
    ],
    [
      "a change of half an hour",
      "day",
      "2026-04-05T00:00:00Z",
      "Australia/Lord_Howe",
      "2026-04-04T13:00:00.000Z",
      "2026-04-05T13:30:00.000Z",
    ],
  ])("where clocks are changed: %s", (_what, span, at, zone, from, until) => {
    expect(period(span, at, zone)).toEqual([from, until]);
  });

  it("leaves no time out, and none in two, for a year of days", () => {
    for (const zone of ["Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "Africa/Cairo", "UTC"]) {
      let at = Date.parse("2025-12-31T00:00:00Z");
      for (let days = 0; days < 400; days += 1) {
        const { from, until } = periodAt("day", at, zone);
        expect([zone, from <= at && at < until]).toEqual([zone, true]);
        expect(periodAt("day", until - 1, zone)).toEqual({ from, until });
        expect(periodAt("day", until, zone).from).toBe(until);
        at = until;
      }
    }
  });
});
