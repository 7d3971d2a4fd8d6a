import { afterEach, describe, expect, it } from "vitest";
import type { AgentTurn } from "../../src/core/agent.ts";
import type { Budget } from "../../src/core/budget.ts";
import type { MessageEvent, Place } from "../../src/core/events.ts";
import type { ModelUse } from "../../src/core/usage.ts";
import { manualClock, type ManualClock, settle } from "../support/clock.ts";
import { AGENT, testGateway, type TestGateway, type TestGatewayOptions, textOf } from "../support/gateway.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

const HOUR_MS = 3_600_000;
/** 31 January 2024, 12:00 in Berlin. */
const NOON = Date.parse("2024-01-31T11:00:00Z");
const GROUP: Place = { chat: "g", kind: "group" };

type World = TestGateway & {
  readonly clock: ManualClock;
  /** Says it and gives what is shown in the chat since. */
  tell(person: string, text: string, extra?: Partial<MessageEvent>): Promise<readonly string[]>;
  rows(): Promise<readonly (readonly [string, string, string, number])[]>;
};

async function setUp(
  options: Omit<TestGatewayOptions, "clock"> & { readonly start?: number },
): Promise<World> {
  const { start = NOON, ...rest } = options;
  const clock = manualClock(start);
  const world = await testGateway({ clock, timeZone: "Europe/Berlin", ...rest });
  ends.push(() => world.close());
  return {
    ...world,
    clock,
    async tell(person, text, extra) {
      const place = extra?.place ?? { chat: person, kind: "private" as const };
      const before = world.platform.textsIn(place.chat).length;
      await world.platform.say(person, text, { from: { id: person, name: person }, place, ...extra });
      await clock.advance(300);
      return world.platform.textsIn(place.chat).slice(before);
    },
    async rows() {
      const rows = await world.database.db.selectFrom("use_count").selectAll().execute();
      return rows
        .map(({ scope, subject, measure, used }) => [scope, subject, measure, used] as const)
        .toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
    },
  };
}

/** An answer that has asked its model once, for so much. */
const asking =
  (inputTokens: number, costMicros = 0) =>
  async ({ allowance, agent }: AgentTurn): Promise<string> => {
    const use: ModelUse = {
      agent: agent.name,
      model: "openai:m",
      inputTokens,
      cachedTokens: 0,
      outputTokens: 0,
      costMicros,
    };
    await (await allowance?.reserve(use))?.settle(use);
    return "answered";
  };

const SPENT = "Your budget is used up: 2 turns an hour. It begins anew at 13:00; please ask again then.";

describe("without a budget", () => {
  it("nothing is counted, nothing is asked for it, and nothing is handed to the agent", async () => {
    const world = await setUp({ answer: asking(100) });
    expect(await world.tell("ada", "hello")).toEqual(["answered"]);
    expect(world.asked.map(({ allowance }) => allowance)).toEqual([undefined]);
    expect(await world.rows()).toEqual([]);
    expect(await world.database.db.selectFrom("inbox").select("counted").execute()).toEqual([{ counted: 0 }]);
  });

  it("of one channel, a chat with another agent's is not counted", async () => {
    const other = { ...AGENT, name: "other", budget: { tokensPerDay: 5 } };
    const world = await setUp({ agents: [AGENT, other], answer: asking(100) });
    expect(await world.tell("ada", "hello")).toEqual(["answered"]);
    expect(await world.rows()).toEqual([]);
  });
});

describe("turns of an hour", () => {
  it("are counted for a person over all chats, and end with when there are more", async () => {
    const world = await setUp({ rules: { budgets: { person: { turnsPerHour: 2 } } } });
    expect(await world.tell("ada", "one")).toEqual(["heard: one"]);
    expect(await world.tell("ada", "two", { place: GROUP })).toEqual([
      expect.stringContaining("heard:"),
      "Your budget is used to 100 %: 2 turns an hour. It begins anew at 13:00.",
    ]);
    expect(await world.tell("ada", "three")).toEqual([SPENT]);
    expect(await world.tell("bob", "one of another")).toEqual(["heard: one of another"]);
    expect(world.asked).toHaveLength(3);
    expect(await world.rows()).toEqual([
      ["person", "ada", "turns", 2],
      ["person", "bob", "turns", 1],
    ]);
    await world.clock.advance(HOUR_MS);
    expect(await world.tell("ada", "three again")).toEqual(["heard: three again"]);
  });

  it("are as many in two chats at once as there are", async () => {
    const world = await setUp({ rules: { budgets: { person: { turnsPerHour: 3 } } } });
    await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        world.platform.say(`c${n}`, `${n}`, { place: { chat: `c${n}`, kind: "group" } }),
      ),
    );
    await world.clock.advance(300);
    expect(world.asked).toHaveLength(3);
    expect(await world.rows()).toEqual([["person", "ada", "turns", 3]]);
  });

  it("are told of again after ten minutes, and in the next hour, and not in between", async () => {
    const world = await setUp({
      rules: { budgets: { person: { turnsPerHour: 2 } } },
      budgets: { warnPercent: 100 },
      start: NOON + 30 * 60_000,
    });
    await world.tell("ada", "one");
    await world.tell("ada", "two");
    expect(await world.tell("ada", "three")).toEqual([SPENT]);
    expect(await world.tell("ada", "four")).toEqual([]);
    expect(await world.tell("ada", "there?", { place: GROUP })).toEqual([SPENT]);
    await world.clock.advance(11 * 60_000);
    expect(await world.tell("ada", "five")).toEqual([SPENT]);
    await world.clock.advance(17 * 60_000);
    expect(await world.tell("ada", "six")).toEqual([SPENT]);
    await world.clock.advance(2 * 60_000);
    await world.tell("ada", "one");
    await world.tell("ada", "two");
    expect(await world.tell("ada", "three")).toEqual([SPENT.replace("13:00", "14:00")]);
    const states = await world.database.db.selectFrom("inbox").select("state").distinct().execute();
    expect(states).toEqual([{ state: "consumed" }]);
  });

  it("are told of once to somebody of whom twenty messages have waited", async () => {
    const answers: (() => void)[] = [];
    const world = await setUp({
      rules: { budgets: { person: { turnsPerHour: 1 } }, during: "queue" },
      budgets: { warnPercent: 100 },
      answer: () => new Promise((resolve) => answers.push(() => resolve("answered"))),
    });
    await world.tell("ada", "one");
    for (let n = 0; n < 20; n += 1) await world.tell("ada", `${n}`, { whole: true });
    answers[0]?.();
    await world.clock.advance(HOUR_MS / 4);
    expect(answers).toHaveLength(1);
    const told = world.platform.textsIn("ada").filter((text) => text.startsWith("Your budget is used up"));
    expect(told).toHaveLength(1);
    expect(await world.rows()).toEqual([["person", "ada", "turns", 1]]);
  });

  it("are told of in the language that is spoken", async () => {
    const world = await setUp({ rules: { budgets: { chat: { turnsPerHour: 0 } }, owner: "nobody" } });
    expect(await world.tell("ada", "Kannst du mir bitte helfen?")).toEqual([
      "Das Kontingent dieses Chats ist null: 0 Anfragen je Stunde.",
    ]);
    expect(world.asked).toEqual([]);
  });

  it("are counted once for a turn that a crash cut off, also where it was the last one", async () => {
    const rules = { budgets: { person: { turnsPerHour: 1 } } };
    const firstClock = manualClock(NOON);
    const first = await testGateway({
      clock: firstClock,
      timeZone: "Europe/Berlin",
      rules,
      answer: () => new Promise(() => {}),
    });
    await first.platform.say("ada", "hello");
    const clock = manualClock(NOON + 1_000);
    const { folder, platform } = first;
    await firstClock.advance(300);
    await first.kill();
    const again = await testGateway({ clock, timeZone: "Europe/Berlin", folder, platform, rules });
    ends.push(() => again.close());
    await clock.advance(1_000);
    expect(platform.textsIn("ada")[0]).toBe("heard: hello");
    expect(await again.database.db.selectFrom("use_count").select("used").execute()).toEqual([{ used: 1 }]);
  });
});

describe("what models take", () => {
  it.each([
    [
      "person",
      { rules: { budgets: { person: { tokensPerDay: 100 } } } },
      "Your budget is used up: 100 tokens a day.",
    ],
    [
      "chat",
      { rules: { budgets: { chat: { tokensPerDay: 100 } } } },
      "The budget of this chat is used up: 100 tokens a day.",
    ],
    [
      "agent",
      { agents: [{ ...AGENT, budget: { tokensPerDay: 100 } }] },
      "The budget of helper is used up: 100 tokens a day.",
    ],
    [
      "total",
      { budgets: { total: { tokensPerDay: 100 }, warnPercent: 80 } },
      "The budget for everybody together is used up: 100 tokens a day.",
    ],
  ] as const)("ends turns at the budget of the %s, until midnight", async (_scope, options, words) => {
    const world = await setUp({ ...options, answer: asking(120) });
    expect((await world.tell("ada", "one"))[0]).toBe("answered");
    expect(await world.tell("ada", "two")).toEqual([
      `${words} It begins anew on February 1 at 00:00; please ask again then.`,
    ]);
    expect(world.asked).toHaveLength(1);
  });

  it("ends a month's costs at the end of the month", async () => {
    const world = await setUp({
      rules: { budgets: { person: { costPerMonth: 1.5 } } },
      answer: asking(1, 2_000_000),
    });
    await world.tell("ada", "one");
    expect(await world.tell("ada", "two")).toEqual([
      "Your budget is used up: costs of 1.5 a month. It begins anew on February 1 at 00:00; please ask again then.",
    ]);
    await world.clock.advance(12 * HOUR_MS);
    expect((await world.tell("ada", "three"))[0]).toBe("answered");
  });

  it("cuts off a turn before its next request, and what it was is not asked again", async () => {
    const twice = asking(60);
    const world = await setUp({
      rules: { budgets: { person: { tokensPerDay: 100 } } },
      async answer(turn) {
        await twice(turn);
        await twice(turn);
        return await twice(turn);
      },
    });
    expect(await world.tell("ada", "one")).toEqual([
      "Your budget is used up: 100 tokens a day. It begins anew on February 1 at 00:00; please ask again then.",
    ]);
    await world.clock.advance(HOUR_MS);
    expect(world.asked).toHaveLength(1);
    expect(await world.rows()).toEqual([["person", "ada", "tokens", 120]]);
    const turns = await world.database.db.selectFrom("turn").select(["state", "error"]).execute();
    expect(turns).toEqual([{ state: "failed", error: "budget.spent" }]);
  });

  it("goes on with the day's count after the clock was set back and forth", async () => {
    const world = await setUp({ rules: { budgets: { person: { tokensPerDay: 100 } } }, answer: asking(70) });
    await world.tell("ada", "one");
    const { folder, platform } = world;
    await world.kill();
    ends.length = 0;
    for (const [start, used] of [
      [NOON - 24 * HOUR_MS, [70, 70]],
      [NOON + HOUR_MS, [70, 140]],
    ] as const) {
      const clock = manualClock(start);
      const again = await testGateway({
        clock,
        timeZone: "Europe/Berlin",
        folder,
        platform,
        rules: { budgets: { person: { tokensPerDay: 100 } } },
        answer: asking(70),
      });
      await platform.say("ada", "more");
      await clock.advance(300);
      const rows = await again.database.db.selectFrom("use_count").select("used").orderBy("used").execute();
      expect(rows.map((row) => row.used)).toEqual(used);
      await again.kill();
    }
  });

  it("of a chat is what is written for it, each thing by itself", async () => {
    const world = await setUp({
      rules: {
        budgets: { chat: { tokensPerDay: 1_000, turnsPerHour: 1 } },
        chats: { g: { budget: { turnsPerHour: 2 } } },
      },
      answer: asking(10),
    });
    await world.tell("ada", "one", { place: GROUP });
    await world.tell("bob", "two", { place: GROUP });
    expect(await world.tell("ada", "three", { place: GROUP })).toEqual([
      "The budget of this chat is used up: 2 turns an hour. It begins anew at 13:00; please ask again then.",
    ]);
    expect((await world.rows()).map(([scope, , measure, used]) => [scope, measure, used])).toEqual([
      ["chat", "tokens", 20],
      ["chat", "turns", 2],
    ]);
  });
});

describe("the owner", () => {
  it("is counted for their own and the chat's, and stopped by the agent's and the total's alone", async () => {
    const world = await setUp({
      rules: { owner: "ada", budgets: { person: { turnsPerHour: 1 }, chat: { tokensPerDay: 1 } } },
      budgets: { total: { turnsPerHour: 3 }, warnPercent: 80 },
      answer: asking(10),
    });
    for (const text of ["one", "two", "three"]) expect(await world.tell("ada", text)).toEqual(["answered"]);
    expect(await world.tell("ada", "four")).toEqual([
      "The budget for everybody together is used up: 3 turns an hour. It begins anew at 13:00; please ask again then.",
    ]);
    expect((await world.rows()).map(([scope, , , used]) => [scope, used])).toEqual([
      ["chat", 30],
      ["person", 3],
      ["total", 3],
    ]);
  });
});

describe("somebody whom the operator calls otherwise", () => {
  it("is the owner also where only the id is known that stays: in what is gone through for memory", async () => {
    let distilled = 0;
    const memory = { files: [], facts: true, quietSeconds: 30, mostSeconds: 300, mostFacts: 10 };
    const world = await setUp({
      agents: [{ ...AGENT, memory }],
      rules: { owner: "+4930", budgets: { person: { tokensPerDay: 50 } } },
      desk: {
        async distil({ allowance, agent, after }) {
          await asking(70)({ allowance, agent } as AgentTurn);
          distilled += 1;
          return { facts: [], upTo: after, more: false, uses: [] };
        },
      },
    });
    const from = { id: "lid:1", name: "Ada", also: ["+4930"] };
    for (const text of ["one", "two"]) {
      await world.tell("lid:1", text, { from });
      await world.clock.advance(30_000);
    }
    expect(distilled).toBe(2);
    expect(await world.rows()).toEqual([["person", "lid:1", "tokens", 140]]);
  });
});

describe("what is done at a time", () => {
  /** An agent that makes a schedule of whatever it is asked for, and asks its model for each time. */
  const hourly = async (person: Budget) => {
    // They are loaded late, and the first test would wait for the disk.
    await Promise.all([import("../../src/schedules/unasked.ts"), import("../../src/schedules/when.ts")]);
    return await setUp({
      agents: [{ ...AGENT, schedules: { most: 3, minMinutes: 15 } }],
      rules: { budgets: { person } },
      budgets: { warnPercent: 100 },
      async answer(turn) {
        if (textOf(turn).startsWith("[scheduled:")) return await asking(70)(turn);
        await turn.schedules?.create({ name: "water", prompt: "Water.", cron: "0 * * * *" });
        return "made";
      },
    });
  };

  it("counts for whoever had it made, and says once a day that nothing is left", async () => {
    const world = await hourly({ tokensPerDay: 100 });
    expect(await world.tell("ada", "remind me")).toEqual(["made"]);
    await world.clock.advance(6 * HOUR_MS);
    expect(await world.rows()).toEqual([["person", "ada", "tokens", 140]]);
    expect(world.platform.textsIn("ada").slice(1)).toEqual([
      "answered",
      "answered",
      "Your budget is used to 100 %: 100 tokens a day. It begins anew on February 1 at 00:00.",
      "Your budget is used up: 100 tokens a day. It begins anew on February 1 at 00:00; please ask again then.",
    ]);
  });

  it("is one of the turns of whoever had it made", async () => {
    const world = await hourly({ turnsPerHour: 1 });
    expect(await world.tell("ada", "remind me")).toHaveLength(2);
    await world.clock.advance(HOUR_MS);
    expect((await world.tell("ada", "more")).at(-1)).toContain("Your budget is used up: 1 turns an hour");
  });
});

describe("a warning", () => {
  it("stands behind the answer once, also after a restart, and anew in the next hour", async () => {
    const options = { rules: { budgets: { person: { turnsPerHour: 5 } } }, budgets: { warnPercent: 80 } };
    const world = await setUp(options);
    for (const text of ["one", "two", "three"]) await world.tell("ada", text);
    expect(await world.tell("ada", "four")).toEqual([
      "heard: four",
      "Your budget is used to 80 %: 5 turns an hour. It begins anew at 13:00.",
    ]);
    const { folder, platform } = world;
    await world.kill();
    ends.length = 0;
    const again = await setUp({ ...options, folder, platform });
    expect(await again.tell("ada", "five")).toEqual(["heard: five"]);
    await again.clock.advance(HOUR_MS);
    for (const text of ["one", "two", "three"]) await again.tell("ada", text);
    expect(await again.tell("ada", "four")).toHaveLength(2);
  });

  it("of the agent's or the total's stands in the log, and nobody's chat has it", async () => {
    const world = await setUp({
      budgets: { total: { turnsPerHour: 1 }, warnPercent: 50 },
      agents: [{ ...AGENT, budget: { tokensPerDay: 100 } }],
      answer: asking(60),
    });
    expect(await world.tell("ada", "one")).toEqual(["answered"]);
    const lines = world.logged.filter(({ sentence }) => sentence === "little is left of a budget");
    expect(lines.map(({ fields }) => fields)).toMatchObject([
      { scope: "agent", agent: "helper", measure: "tokens", used: 60, limit: 100 },
      { scope: "total", agent: "", measure: "turns", used: 1, limit: 1 },
    ]);
  });
});

describe("work without a turn", () => {
  it("in the background counts for whoever has begun it, and its end says where that is used up", async () => {
    const scout = { ...AGENT, name: "scout", about: "looks" };
    const boss = {
      ...AGENT,
      subagents: { agents: [scout], atOnce: 1, mostPerTurn: 1, seconds: 60 },
      background: { retries: 2, retrySeconds: 1 },
    };
    const works: string[] = [];
    let stolen = false;
    const world: World = await setUp({
      agents: [boss, scout],
      rules: { budgets: { person: { tokensPerDay: 100 } } },
      budgets: { warnPercent: 100 },
      async answer({ tasks }) {
        await tasks?.start({ agent: "scout", prompt: "count" });
        return "begun";
      },
      desk: {
        async work({ allowance, agent, prompt }) {
          works.push(prompt);
          if (stolen) await world.database.db.updateTable("use_count").set({ used: 100 }).execute();
          return await asking(70)({ allowance, agent } as AgentTurn);
        },
      },
    });
    /** Says it and gives how the task ended that it began: what it is told by may still be loaded. */
    const ended = async (person: string, text: string): Promise<string> => {
      const told = (): readonly string[] =>
        world.platform.textsIn(person).filter((shown) => /background task/i.test(shown));
      const before = told().length;
      await world.tell(person, text);
      while (told().length === before) {
        await world.clock.advance(1_000);
        await settle();
      }
      return told().at(-1) ?? "";
    };
    expect(await ended("ada", "one")).toContain("is done");
    expect(await world.rows()).toEqual([["person", "ada", "tokens", 70]]);
    expect(await ended("ada", "two")).toContain("is done");
    expect(await ended("bob", "three")).toContain("is done");
    expect(await world.rows()).toEqual([
      ["person", "ada", "tokens", 140],
      ["person", "bob", "tokens", 70],
    ]);
    // Its turn was let through just before others used up what was left.
    stolen = true;
    expect(await ended("bob", "four")).toBe(
      "I could not finish background task t2 (scout): the budget for it is used up.",
    );
    expect(works).toHaveLength(4);
  });

  it("for memory counts for the person whose it is, and is left for the next turn where that is used up", async () => {
    let distilled = 0;
    const memory = { files: [], facts: true, quietSeconds: 30, mostSeconds: 300, mostFacts: 10 };
    const world = await setUp({
      agents: [{ ...AGENT, memory }],
      rules: { budgets: { person: { tokensPerDay: 100 } } },
      budgets: { warnPercent: 100 },
      desk: {
        async distil({ allowance, agent, after }) {
          await asking(70)({ allowance, agent } as AgentTurn);
          distilled += 1;
          return { facts: [], upTo: after, more: false, uses: [] };
        },
      },
    });
    for (const text of ["one", "two"]) {
      expect(await world.tell("ada", text)).toEqual([`heard: ${text}`]);
      await world.clock.advance(30_000);
    }
    expect(await world.rows()).toEqual([["person", "ada", "tokens", 140]]);
    await world.tell("ada", "three");
    await world.clock.advance(HOUR_MS);
    expect(distilled).toBe(2);
    expect(world.logged.filter(({ level }) => level === "error")).toEqual([]);
  });
});
