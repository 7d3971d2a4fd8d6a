import { tool } from "@langchain/core/tools";
import { z } from "zod";
import {
  localWords,
  outcomeWords,
  type Schedule,
  type ScheduleDesk,
  type ScheduleLimits,
  whenWords,
} from "../../core/schedules.ts";
import { inQuotes, shortened } from "../../core/words.ts";
import type { Kit } from "../kit.ts";
import { turnOf } from "../turn-config.ts";
import { plainText } from "../words.ts";

type Run = { readonly configurable?: Readonly<Record<string, unknown>> };

/** Lets an agent do something at a time, in the chat that it is asked in. What is true of that, the desk of the turn knows. */
export function scheduleKit({ most, minMinutes }: ScheduleLimits): Kit {
  const create = tool(
    async (wish, run: Run) =>
      await atDesk(run, async (desk) => {
        const given = Object.fromEntries(Object.entries(wish).filter(([, value]) => value !== undefined));
        const made = await desk.create({
          ...given,
          name: plainText(wish.name),
          prompt: plainText(wish.prompt),
        });
        return "refused" in made
          ? `Error: ${made.refused}`
          : `${inQuotes(made.name)} is scheduled, ${whenWords(made.when)}: next ${localWords(made.nextAt, made.timeZone)}.`;
      }),
    {
      name: "schedule_create",
      description:
        "Makes a schedule in this chat: when it is due you are given the prompt, and what you answer is sent here. Give exactly one of " +
        `cron, everyMinutes, at and inMinutes. At most ${most} are to come in a chat, ${minMinutes} minutes apart at least, within 366 days.`,
      schema: z.object({
        name: z.string().min(1).describe('A few words that it is known by, such as "water the plants".'),
        prompt: z
          .string()
          .min(1)
          .describe(
            "What you are to do then, in full: up to 2,000 characters. You still know this conversation.",
          ),
        cron: z.string().optional().describe('5 fields, or 6 with seconds first: "0 8 * * 1-5".'),
        everyMinutes: z.number().int().min(1).optional().describe("Again and again, so many minutes apart."),
        at: z.string().optional().describe('Once, in local time: "2026-12-24T18:00".'),
        inMinutes: z.number().int().min(1).optional().describe("Once, so many minutes from now."),
        timeZone: z
          .string()
          .optional()
          .describe("Such as Europe/Berlin, where another one is meant than that of this chat."),
      }),
      // Made twice it would be done twice.
      metadata: { effects: true },
    },
  );
  const list = tool(
    async (_none, run: Run) =>
      await atDesk(run, async (desk) => {
        const found = await desk.list();
        return found.length === 0 ? "There are no schedules here." : found.map(line).join("\n");
      }),
    {
      name: "schedule_list",
      description:
        "Lists the schedules of this chat: when each is due next, and what became of the last time.",
      schema: z.object({}),
    },
  );
  const cancel = tool(
    async ({ name }, run: Run) =>
      await atDesk(run, async (desk) => {
        const gone = await desk.cancel(plainText(name));
        return gone
          ? `${inQuotes(gone.name)} is cancelled.`
          : `Error: there is no schedule ${inQuotes(name)} here that you may cancel; schedule_list names those that there are, and the operator's end in perch.yaml alone`;
      }),
    {
      name: "schedule_cancel",
      description: "Ends a schedule of this chat. Tell the person that it is cancelled.",
      schema: z.object({ name: z.string().min(1).describe("As schedule_list gives it.") }),
      metadata: { effects: true },
    },
  );
  return { tools: [create, list, cancel], prompt: PROMPT };
}

const PROMPT = `What is to be done later, or again and again, you can schedule with schedule_create; say when it is due next, as the tool tells it. A message that begins with [scheduled: …] is such a time: nobody has just written, and what you answer is sent to the chat. Where there is nothing worth saying then, answer just [SILENT].`;

async function atDesk({ configurable }: Run, ask: (desk: ScheduleDesk) => Promise<string>): Promise<string> {
  const desk = turnOf(configurable)?.schedules;
  return desk ? await ask(desk) : "Error: there are no schedules here";
}

function line({ name, by, active, when, nextAt, timeZone, prompt, outcome }: Schedule): string {
  const next = active ? `next ${localWords(nextAt, timeZone)}` : "over";
  const whose = by === "operator" ? ", the operator's" : "";
  return `${inQuotes(name)} (${whenWords(when)}${whose}): ${next}; last: ${outcomeWords(outcome)}; ${inQuotes(shortened(prompt, 100))}`;
}
