import { describe, expect, it } from "vitest";
import { killedPerch } from "../support/killed-perch.ts";
import type { Answer, ModelRequest } from "../support/models/server.ts";

/** Where the process is to end: while the subagent's model is asked, or after a commit with such a statement. */
const POINTS: readonly (readonly [string, { readonly after?: string }])[] = [
  ["after it was begun", { after: 'insert into "background_task"' }],
  ["after it was taken up", { after: 'update "background_task" set "status" = ?, "attempts"' }],
  ["while its subagent works", {}],
  ["after its result was written", { after: 'update "background_task" set "status" = ?, "result"' }],
  ["after its end was planned to be told", { after: 'update "background_task" set "told"' }],
];

/** Has a background task begun and ended over one kill; gives what the person was told of its end. */
async function run({ after }: (typeof POINTS)[number][1]): Promise<{
  readonly kills: number;
  readonly told: readonly string[];
  readonly begun: number;
}> {
  const perch = await killedPerch({
    agents: {
      helper: { keys: "subagents: [scout]\nbackground: true", prompt: "You are the boss." },
      scout: { keys: "files: true", prompt: "You are scout." },
    },
    answer,
    after,
  });
  const { model, kills } = perch;
  if (after === undefined)
    model.on("request", (request) => {
      if (isScout(request) && kills() === 0) perch.kill();
    });
  else perch.arm();
  const ends = (): readonly string[] => perch.texts().filter((text) => text.includes("Background task"));
  perch.say("count the ships");
  await perch.seen(() => ends().length > 0 && kills() > 0);
  // What would come a second time comes before the answer to this.
  perch.say("anything else?");
  await perch.seen(() => perch.texts().some((text) => text.includes("nothing else")));
  await perch.end();
  return { kills: kills(), told: ends(), begun: model.requests.filter(isScout).length };
}

function isScout({ body }: ModelRequest): boolean {
  return JSON.stringify(body["messages"]).includes("You are scout");
}

function answer(request: ModelRequest): string | Answer {
  if (isScout(request)) return "There are nine ships.";
  const messages = request.body["messages"] as readonly {
    readonly role: string;
    readonly content: unknown;
  }[]; // the protocol's own shape
  if (JSON.stringify(messages).includes("anything else")) return "nothing else";
  if (messages.at(-1)?.role !== "user") return "It is begun.";
  return { toolCalls: [{ name: "start_task", args: { subagent: "scout", prompt: "Count." } }] };
}

describe("kill -9 and a background task", () => {
  it.each(POINTS)("%s: it is done, and its end is told once", { timeout: 120_000 }, async (_where, point) => {
    const { kills, told, begun } = await run(point);
    expect({ kills, told }).toEqual({
      kills: 1,
      told: [expect.stringMatching(/^Background task t1 \(scout\) is done:\s+There are nine ships\.$/)],
    });
    expect(begun).toBeLessThanOrEqual(2);
  });
});
