import { describe, expect, it } from "vitest";
import { killedPerch } from "../support/killed-perch.ts";
import type { Answer, ModelRequest } from "../support/models/server.ts";

/** Where the process is to end: while the model answers a time of a schedule, or around a commit with such a statement. */
const POINTS: readonly (readonly [string, { readonly after?: string; readonly before?: string }])[] = [
  ["after it was made", { after: 'insert into "schedule"' }],
  ["before its time became a message", { before: 'update "schedule" set "state"' }],
  ["after its time became a message", { after: 'update "schedule" set "state"' }],
  ["after its turn was begun", { after: 'insert into "turn"' }],
  ["while its turn runs", {}],
  ["after its answer was planned", { after: 'insert into "piece"' }],
];

/** Has a schedule made and done over one kill; gives what the person was told when it was due. */
async function run(
  where: string,
  { after, before }: (typeof POINTS)[number][1],
): Promise<{ readonly kills: number; readonly told: readonly string[] }> {
  const perch = await killedPerch({
    agents: { helper: { keys: "schedules: true\nfiles: false", prompt: "You are the secretary." } },
    answer,
    after,
    before,
  });
  const { model, kills } = perch;
  const told = (): readonly string[] => perch.texts().filter((text) => text.includes("Water the plants"));
  if (where === "after it was made") perch.arm();
  const armed = after ?? before;
  if (armed === undefined)
    model.on("request", (request) => {
      if (isDue(request) && kills() === 0) perch.kill();
    });
  perch.say("remind me of the plants in a minute");
  await perch.seen(() => perch.texts().some((text) => text.includes("I will remind you")));
  if (armed !== undefined && where !== "after it was made") perch.arm();
  await perch.seen(() => told().length > 0 && kills() > 0);
  // What would come a second time comes before the answer to this.
  perch.say("anything else?");
  await perch.seen(() => perch.texts().some((text) => text.includes("nothing else")));
  await perch.end();
  return { kills: kills(), told: told() };
}

function isDue({ body }: ModelRequest): boolean {
  const last = (body["messages"] as readonly unknown[]).at(-1); // the protocol's own shape
  return JSON.stringify(last).includes("[scheduled: plants");
}

function answer(request: ModelRequest): string | Answer {
  if (isDue(request)) return "Water the plants.";
  const messages = request.body["messages"] as readonly { readonly role: string }[]; // the protocol's own shape
  if (JSON.stringify(messages.at(-1)).includes("anything else")) return "nothing else";
  if (messages.at(-1)?.role !== "user") return "I will remind you.";
  const wish = { name: "plants", prompt: "Remind me.", inMinutes: 1 };
  return { toolCalls: [{ name: "schedule_create", args: wish }] };
}

describe("kill -9 and a schedule", () => {
  it.each(POINTS)("%s: it is done once, and answered once", { timeout: 120_000 }, async (where, point) => {
    expect(await run(where, point)).toEqual({ kills: 1, told: ["Water the plants."] });
  });
});
