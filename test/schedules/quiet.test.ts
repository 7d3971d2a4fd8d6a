import { expect, it } from "vitest";
import { dayOf, quietUntil } from "../../src/schedules/quiet.ts";
import { unaskedIn, unaskedNow } from "../../src/schedules/unasked.ts";

const hours = (from: string, to: string): { readonly fromMinute: number; readonly toMinute: number } => {
  const minutes = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
  return { fromMinute: minutes(from), toMinute: minutes(to) };
};
const iso = (at: number | undefined): string | undefined =>
  at === undefined ? undefined : new Date(at).toISOString();

it.each([
  // Over midnight.
  ["22:00", "07:00", "UTC", "2026-01-01T21:59:59Z", undefined],
  ["22:00", "07:00", "UTC", "2026-01-01T22:00:00Z", "2026-01-02T07:00:00.000Z"],
  ["22:00", "07:00", "UTC", "2026-01-02T03:20:17Z", "2026-01-02T07:00:00.000Z"],
  ["22:00", "07:00", "UTC", "2026-01-02T06:59:59.999Z", "2026-01-02T07:00:00.000Z"],
  ["22:00", "07:00", "UTC", "2026-01-02T07:00:00Z", undefined],
  // Within a day.
  ["12:30", "14:00", "Europe/Berlin", "2026-07-01T11:00:00Z", "2026-07-01T12:00:00.000Z"],
  ["12:30", "14:00", "Europe/Berlin", "2026-07-01T12:00:00Z", undefined],
  // To midnight.
  ["20:00", "00:00", "UTC", "2026-01-01T23:00:00Z", "2026-01-02T00:00:00.000Z"],
  // The night has an hour less, and an hour more.
  ["22:00", "07:00", "Europe/Berlin", "2026-03-28T21:00:00Z", "2026-03-29T05:00:00.000Z"],
  ["22:00", "07:00", "Europe/Berlin", "2026-10-24T21:00:00Z", "2026-10-25T06:00:00.000Z"],
  ["22:00", "07:00", "America/New_York", "2026-11-01T03:00:00Z", "2026-11-01T12:00:00.000Z"],
  // They end in the hour that is left out, and in both of the hour that comes twice.
  ["22:00", "02:30", "Europe/Berlin", "2026-03-28T22:00:00Z", "2026-03-29T01:00:00.000Z"],
  ["22:00", "02:30", "Europe/Berlin", "2026-10-25T00:15:00Z", "2026-10-25T00:30:00.000Z"],
  ["22:00", "02:30", "Europe/Berlin", "2026-10-25T01:15:00Z", "2026-10-25T01:30:00.000Z"],
])("quiet from %s to %s in %s, at %s, is until %s", (from, to, zone, now, until) => {
  expect(iso(quietUntil(hours(from, to), zone, Date.parse(now)))).toBe(until);
});

it("knows which day it is where the chat is", () => {
  const now = Date.parse("2026-01-01T23:30:00Z");
  expect(dayOf(now, "UTC")).toBe("2026-01-01");
  expect(dayOf(now, "Asia/Tokyo")).toBe("2026-01-02");
});

it("puts off to the next day, and behind its quiet hours", () => {
  const rules = { quiet: hours("22:00", "07:00"), perDay: 20, timeZone: "Europe/Berlin" };
  const { laterAt, quietUntil: until, day } = unaskedNow(rules, Date.parse("2026-01-01T12:00:00Z"));
  expect([iso(laterAt), until, day]).toEqual(["2026-01-02T06:00:00.000Z", undefined, "2026-01-01"]);
});

it("goes by the narrowest rule", () => {
  const quiet = hours("22:00", "07:00");
  const rules = {
    quietHours: quiet,
    unaskedPerDay: 20,
    timeZone: "Europe/Berlin",
    chats: { loud: { quietHours: "none" as const }, own: { unaskedPerDay: 3, timeZone: "Asia/Tokyo" } },
  };
  expect(unaskedIn(rules, "other", "UTC")).toEqual({ quiet, perDay: 20, timeZone: "Europe/Berlin" });
  expect(unaskedIn(rules, "loud", "UTC")).toEqual({ perDay: 20, timeZone: "Europe/Berlin" });
  expect(unaskedIn(rules, "own", "UTC")).toEqual({ quiet, perDay: 3, timeZone: "Asia/Tokyo" });
  expect(unaskedIn(rules, "constructor", "UTC").perDay).toBe(20);
  expect(unaskedIn({ unaskedPerDay: 5, chats: {} }, "any", "UTC")).toEqual({ perDay: 5, timeZone: "UTC" });
});
