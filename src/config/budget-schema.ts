import { z } from "zod";

/** What may be used; each key that is absent bounds nothing, and 0 is for nobody. */
export const budget = z.strictObject({
  turnsPerHour: z.int().min(0).max(1_000_000).exactOptional().describe("Turns in an hour of the clock."),
  tokensPerDay: z
    .int()
    .min(0)
    .max(1_000_000_000_000)
    .exactOptional()
    .describe("Tokens read and written by models from midnight to midnight."),
  costPerMonth: z
    .number()
    .min(0)
    .max(1_000_000_000)
    .exactOptional()
    .describe("What models cost in a month, in the currency of the agents' prices (US dollars without any)."),
  mediaMinutesPerDay: z
    .number()
    .min(0)
    .max(1_000_000)
    .exactOptional()
    .describe("Minutes of sound and video that are listened to or looked at from midnight to midnight."),
});

/** Under `budgets:` of perch.yaml. */
export const budgetsSchema = z.strictObject({
  total: budget.exactOptional().describe("What everybody may use together."),
  warnPercent: z
    .int()
    .min(1)
    .max(100)
    .default(80)
    .describe("So much of a budget is used when its people are warned, once."),
});
