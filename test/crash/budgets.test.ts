import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSqlite } from "../../src/store/sqlite.ts";
import { killedPerch } from "../support/killed-perch.ts";

/** Where the process is to end, once, while the first of two messages is answered. */
type Point = { readonly at: "claim" | "request" | "answer" };

/** Gives how much was counted in the end, and what the models took by their own count. */
async function run({ at }: Point) {
  const budget = "{ turnsPerHour: 1000, tokensPerDay: 1000000 }";
  const perch = await killedPerch({
    agents: { helper: { keys: `budget: ${budget}`, prompt: "Be brief." } },
    answer: "Here you are.",
    after: at === "request" ? undefined : 'insert into "use_count"',
  });
  const { model, kills } = perch;
  if (at === "claim") perch.arm();
  else
    model.on("request", () => {
      if (kills() > 0) return;
      if (at === "answer") perch.arm();
      else perch.kill();
    });
  perch.say("one");
  await perch.seen(() => perch.texts().length === 1 && kills() === 1);
  perch.say("two");
  await perch.seen(() => perch.texts().length === 2);
  await perch.end();
  const database = await openSqlite(join(perch.folder.path, "data", "perch.db"));
  try {
    const rows = await database.db.selectFrom("use_count").select(["measure", "used"]).execute();
    const turns = await database.db
      .selectFrom("turn")
      .select((eb) => ["state", eb("input_tokens", "+", eb.ref("output_tokens")).as("tokens")])
      .orderBy("id")
      .execute();
    const used = (measure: string): number =>
      rows.filter((row) => row.measure === measure).reduce((sum, row) => sum + row.used, 0);
    return {
      states: turns.map(({ state }) => state),
      turns: used("turns"),
      /** What is counted beyond the two turns that came to an end. */
      more: used("tokens") - turns.reduce((sum, { tokens }) => sum + tokens, 0),
      ofOne: turns[1]?.tokens ?? 0,
      requests: model.requests.length,
    };
  } finally {
    await database.close();
  }
}

describe("kill -9 and what is counted for a budget", () => {
  it(
    "after a turn was claimed: it counts once, and what was never asked is not counted",
    { timeout: 120_000 },
    async () => {
      expect(await run({ at: "claim" })).toMatchObject({
        states: ["abandoned", "done", "done"],
        turns: 2,
        more: 0,
        requests: 2,
      });
    },
  );

  it(
    "while the model is asked: the turn counts once, and the request stays counted by our guess",
    { timeout: 120_000 },
    async () => {
      const { more, ...rest } = await run({ at: "request" });
      expect(rest).toMatchObject({ states: ["abandoned", "done", "done"], turns: 2, requests: 3 });
      expect(more).toBeGreaterThan(0);
    },
  );

  it(
    "after its answer was counted: both requests count as what they took",
    { timeout: 120_000 },
    async () => {
      const { more, ofOne, ...rest } = await run({ at: "answer" });
      expect(rest).toMatchObject({ states: ["abandoned", "done", "done"], turns: 2, requests: 3 });
      expect(more).toBe(ofOne);
    },
  );
});
