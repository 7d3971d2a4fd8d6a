import { afterEach, describe, expect, it } from "vitest";
import type { AgentDefinition, AgentTurn } from "../../src/core/agent.ts";
import { AGENT, textOf } from "../support/gateway.ts";
import { manualClock } from "../support/clock.ts";
import {
  atDesk,
  closeAll,
  DAY_MS,
  HOUR_MS,
  MINUTE_MS,
  NOON,
  opened,
  SECRETARY,
  setUp,
  wish,
} from "./secretary.ts";

afterEach(closeAll);

const NIGHT = { fromMinute: 22 * 60, toMinute: 7 * 60 };
const SCOUT: AgentDefinition = { ...AGENT, name: "scout" };
const BOSS: AgentDefinition = {
  ...SECRETARY,
  subagents: { agents: [SCOUT], atOnce: 3, mostPerTurn: 6, seconds: 120 },
  background: { retries: 0, retrySeconds: 30 },
};

/** Begins a task where it is told "task", and ends it when the test says so. */
function bossOptions(): {
  readonly end: () => void;
  readonly options: Parameters<typeof setUp>[0];
} {
  const ends: (() => void)[] = [];
  return {
    end: () => ends.shift()?.(),
    options: {
      agents: [BOSS],
      desk: { work: () => new Promise((resolve) => ends.push(() => resolve("Nine ships."))) },
      answer: async (turn: AgentTurn) => {
        if (textOf(turn) !== "task") return await atDesk(turn);
        return `begun ${(await turn.tasks?.start({ agent: "scout", prompt: "Count." }))?.id}`;
      },
    },
  };
}

describe("quiet hours", () => {
  it("put a schedule off to their end, when it is run", async () => {
    const { say, clock, given, platform, outcomes, asked } = await setUp({ rules: { quietHours: NIGHT } });
    await say(wish({ at: "2026-01-01T23:30" }));
    await clock.advance(12 * HOUR_MS);
    expect(given()).toEqual([]);
    expect(await outcomes()).toEqual(["not run (quiet hours)"]);
    await clock.advance(7 * HOUR_MS - 1);
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    expect(given()[0]).toContain("due Thu 2026-01-01 23:30 (UTC)");
    expect(platform.textsIn("c1").at(-1)).toBe("Water the plants.");
    expect(await outcomes()).toEqual(["delivered"]);
  });

  it("have what was due several times in them done once", async () => {
    const { say, clock, given } = await setUp({ rules: { quietHours: NIGHT } });
    await say(wish({ cron: "30 * * * *" }));
    await clock.advance(9 * HOUR_MS + 45 * MINUTE_MS); // 21:45
    expect(given()).toHaveLength(10);
    await clock.advance(9 * HOUR_MS + 30 * MINUTE_MS); // 07:15
    expect(given()).toHaveLength(11);
    expect(given()[10]).toContain("due Thu 2026-01-01 22:30 (UTC); 8 more times were missed since");
  });

  it("hold up nobody's answer", async () => {
    const { say, clock, platform } = await setUp({ rules: { quietHours: NIGHT } });
    await clock.advance(12 * HOUR_MS);
    await say("are you awake?");
    expect(platform.textsIn("c1")).toEqual(["heard: are you awake?"]);
  });

  it("do not hold in a chat that has none", async () => {
    const rules = { quietHours: NIGHT, chats: { c1: { quietHours: "none" as const } } };
    const { say, clock, given } = await setUp({ rules });
    await say(wish({ at: "2026-01-01T23:30" }));
    await clock.advance(12 * HOUR_MS);
    expect(given()).toHaveLength(1);
  });

  it("outlast the end of the process", async () => {
    const clock = manualClock(NOON);
    const world = await setUp({ rules: { quietHours: NIGHT } }, clock);
    await world.say(wish({ at: "2026-01-01T23:30" }));
    await clock.advance(12 * HOUR_MS);
    await world.kill();
    opened.pop();
    const again = await setUp(
      { folder: world.folder, platform: world.platform, rules: { quietHours: NIGHT } },
      clock,
    );
    await clock.advance(7 * HOUR_MS - 5 * MINUTE_MS);
    expect(again.given()).toEqual([]);
    await again.gateway.wakeAll(); // as is done oftener than that
    await clock.advance(5 * MINUTE_MS);
    expect(again.given()).toHaveLength(1);
  });

  it("hold the result of a background task until their end", async () => {
    const { options, end } = bossOptions();
    const { say, clock, platform } = await setUp({ ...options, rules: { quietHours: NIGHT } });
    await clock.advance(9 * HOUR_MS + 55 * MINUTE_MS); // 21:55
    await say("task");
    await clock.advance(10 * MINUTE_MS);
    end();
    await clock.advance(8 * HOUR_MS);
    expect(platform.textsIn("c1")).toEqual(["begun t1"]);
    await clock.advance(HOUR_MS);
    expect(platform.textsIn("c1").at(-1)).toContain("Nine ships.");
    await clock.advance(DAY_MS);
    expect(platform.textsIn("c1")).toHaveLength(2);
  });

  it("hold it no longer than until somebody speaks there, who is then awake", async () => {
    const { options, end } = bossOptions();
    const { say, clock, platform } = await setUp({ ...options, rules: { quietHours: NIGHT } });
    await clock.advance(9 * HOUR_MS + 55 * MINUTE_MS);
    await say("task");
    await clock.advance(10 * MINUTE_MS);
    end();
    await clock.advance(HOUR_MS);
    await say("hello");
    await clock.advance(0);
    expect(platform.textsIn("c1").slice(1)).toEqual([
      "heard: hello",
      expect.stringContaining("Nine ships.") as string,
    ]);
  });
});

describe("the cap on what nobody has asked for", () => {
  it("leaves schedules out past it, begins anew with the day, and the agent is told", async () => {
    const { say, clock, given, asked, outcomes } = await setUp({ rules: { unaskedPerDay: 2 } });
    await say(wish({ cron: "0 13-16 * * *" }));
    await clock.advance(3 * HOUR_MS);
    expect(given()).toHaveLength(2);
    expect(await outcomes()).toEqual(["not run (cap)"]);
    await say("hello");
    expect(textOf(asked.at(-1)!)).toMatch(
      /^\[scheduled: water, due Thu 2026-01-01 15:00 \(UTC\), was left out: .*\] hello$/,
    );
    await clock.advance(DAY_MS);
    expect(given().filter((text) => text.includes("Fri 2026-01-02"))).toHaveLength(2);
  });

  it("reckons the day in the time zone of the chat", async () => {
    const { say, clock, given } = await setUp({ rules: { unaskedPerDay: 1, timeZone: "America/New_York" } });
    await say(wish({ everyMinutes: 60 }));
    await clock.advance(17 * HOUR_MS - 1); // 05:00 in UTC is midnight there
    expect(given()).toHaveLength(1);
    await clock.advance(1);
    expect(given()).toHaveLength(2);
  });

  it("puts what comes once off to the next day", async () => {
    const { say, clock, given } = await setUp({ rules: { unaskedPerDay: 1, quietHours: NIGHT } });
    await say(wish({ name: "a", inMinutes: 10 }));
    await say(wish({ name: "b", inMinutes: 20 }));
    await clock.advance(19 * HOUR_MS - 1);
    expect(given()).toHaveLength(1);
    await clock.advance(1);
    expect(given()[1]).toContain(
      "scheduled: b, a note of your own, made in this chat, due Thu 2026-01-01 12:20 (UTC)",
    );
  });

  it("is of one chat", async () => {
    const { say, clock, given } = await setUp({ rules: { unaskedPerDay: 1 } });
    await say(wish({ inMinutes: 10 }), "c1");
    await say(wish({ inMinutes: 20 }), "c2");
    await clock.advance(HOUR_MS);
    expect(given()).toHaveLength(2);
  });

  it("counts no answers, and holds the results of tasks until somebody speaks or the next day", async () => {
    const { options, end } = bossOptions();
    const { say, clock, platform } = await setUp({ ...options, rules: { unaskedPerDay: 1 } });
    await say("task");
    await say("task");
    await say("task");
    for (let task = 0; task < 3; task += 1) {
      await clock.advance(MINUTE_MS);
      end();
    }
    await clock.advance(MINUTE_MS);
    const results = (): number =>
      platform.textsIn("c1").filter((text) => text.includes("Nine ships.")).length;
    expect(results()).toBe(1);
    await clock.advance(DAY_MS);
    expect(results()).toBe(2);
    await say("hello");
    await clock.advance(0);
    expect(results()).toBe(3);
  });
});
