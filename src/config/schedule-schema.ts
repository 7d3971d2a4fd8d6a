import { z } from "zod";

import type { QuietHours } from "../core/schedules.ts";
import { isTimeZone } from "../core/time-zones.ts";
import { nearest } from "./faults.ts";
import { timeZones } from "./time-zones.ts";

export const timeZone = z.string().refine(isTimeZone, {
  error: ({ input }) =>
    `there is no such time zone; ${nearest(String(input), timeZones()) ?? "Write an IANA name such as Europe/Berlin"}`,
});

const clock = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'a time of day is hours and minutes; Write such as "22:00", in quotes')
  .transform((written) => Number(written.slice(0, 2)) * 60 + Number(written.slice(3)));

const quietHours = z
  .strictObject({ from: clock, to: clock })
  .refine(({ from, to }) => from !== to, {
    path: ["to"],
    error: "is when they begin; Write a later or an earlier time",
  })
  .transform(({ from, to }): QuietHours => ({ fromMinute: from, toMinute: to }));

const unaskedPerDay = z.int().min(0).max(1_000);

/** What nobody has asked for, by channel. */
export const unaskedKeys = {
  quietHours: quietHours
    .exactOptional()
    .describe("When nothing is sent that nobody has asked for: what is scheduled waits for their end."),
  unaskedPerDay: unaskedPerDay
    .default(20)
    .describe("How much a chat is sent on one day that nobody there has asked for."),
  timeZone: timeZone
    .exactOptional()
    .describe("In which days, quiet hours and schedules made in these chats are reckoned."),
};

/** The same by chat. */
export const chatUnaskedKeys = {
  quietHours: z
    .union([z.literal("none"), quietHours], {
      error: 'must be times of day, or none; Write { from: "22:00", to: "07:00" }, or none',
    })
    .exactOptional(),
  unaskedPerDay: unaskedPerDay.exactOptional(),
  timeZone: timeZone.exactOptional(),
};

/** One of the operator's schedules, but for the ids of its chat. Its channel, its agent and its time are looked at later. */
export const scheduleSchema = z.strictObject({
  channel: z.string().describe("The channel of the chat."),
  agent: z.string().exactOptional().describe("Who does it; whoever answers there without it."),
  cron: z.string().exactOptional().describe('5 fields, or 6 with seconds first: "0 8 * * 1-5".'),
  everyMinutes: z.int().min(1).max(527_040).exactOptional().describe("So many minutes apart, from now on."),
  at: z.string().exactOptional().describe('Once, in local time: "2026-12-24T18:00".'),
  timeZone: timeZone
    .exactOptional()
    .describe("In which its time is read; that of the chat without it, or that of the agents."),
  prompt: z.string().trim().min(1).max(20_000).describe("What the agent is to do then."),
});
