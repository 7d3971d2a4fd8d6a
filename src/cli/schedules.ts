import { localWords, outcomeWords, whenWords } from "../core/schedules.ts";
import { allSchedules } from "../store/schedules.ts";
import type { CommandOptions } from "./check.ts";
import { withData } from "./data.ts";
import { EXIT } from "./exit.ts";

/** Lists what is done at a time: when each is due next, and what became of the last time. No prompt is shown. */
export async function schedules(options: CommandOptions): Promise<number> {
  const all = await withData(options, allSchedules);
  if (all.length === 0) options.print("Nothing is scheduled.");
  for (const { number, name, by, channel, chat, when, timeZone, active, nextAt, lastAt, outcome } of all) {
    const where = chat === 0 ? channel : `${channel} chat ${chat}`;
    const next = active ? `next ${localWords(nextAt, timeZone)}` : "over";
    const last = lastAt === 0 ? "last" : `last ${localWords(lastAt, timeZone)}`;
    // A name that an agent has given may hold what somebody said.
    const called = by === "operator" ? name : "made by the agent";
    options.print(
      `${number} ${called} in ${where}: ${whenWords(when)}, ${next}; ${last}: ${outcomeWords(outcome)}`,
    );
  }
  return EXIT.ok;
}
