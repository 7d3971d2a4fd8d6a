import { afterEach, describe, expect, it } from "vitest";
import type { AgentDefinition } from "../../../src/core/agent.ts";
import type { EffectLog } from "../../../src/core/effects.ts";
import type { ChatId } from "../../../src/core/identity.ts";
import type { ScheduleDesk } from "../../../src/core/schedules.ts";
import { deskFor } from "../../../src/schedules/desk.ts";
import { chatOf } from "../../../src/store/chats.ts";
import type { Database } from "../../../src/store/database.ts";
import { takeUpSchedules } from "../../../src/store/schedules.ts";
import { manualClock } from "../../support/clock.ts";
import { onSqlite } from "../../support/database.ts";
import type { Json } from "../../support/models/server.ts";
import { closeServers, type Served, served } from "../model-servers.ts";
import { turn } from "../set-up.ts";

afterEach(closeServers);

const open = onSqlite();
const never = new AbortController().signal;
const NOON = Date.parse("2026-01-01T12:00:00Z");

type World = Served & {
  readonly database: Database;
  readonly chat: ChatId;
  readonly desk: ScheduleDesk;
  readonly woken: (readonly [id: number, at: string])[];
  /** One turn; gives the results of its tools. */
  readonly run: (
    ...calls: readonly (EffectLog | readonly [tool: string, args: Json])[]
  ) => Promise<readonly string[]>;
};

async function setUp(fields: Partial<AgentDefinition> = {}): Promise<World> {
  const world = await served("openai");
  const limits = { most: 3, minMinutes: 15 };
  const agent: AgentDefinition = { ...world.agent, schedules: limits, ...fields };
  const database = await open();
  const chat = await chatOf(database.db, "toy", { chat: "c1", kind: "private" });
  const woken: (readonly [number, string])[] = [];
  const desk = deskFor(
    { chat, to: { channel: "toy", chat: "c1" }, agent: "helper", person: "ada" },
    {
      database,
      clock: manualClock(NOON),
      limits,
      scheduled: false,
      timeZone: async () => "Europe/Berlin",
      wake: (id, at) => void woken.push([id, new Date(at).toISOString()]),
    },
  );
  let turns = 0;
  return {
    ...world,
    database,
    chat,
    desk,
    woken,
    run: async (...given) => {
      turns += 1;
      const calls = given.flatMap((each) => ("begin" in each ? [] : [each]));
      const effects = given.flatMap((each) => ("begin" in each ? [each] : []))[0];
      const toolCalls = calls.map(([name, args], at) => ({ name, args, id: `call_${turns}_${at}` }));
      world.server.reply({ toolCalls }, "fine");
      await world.runner.run(
        { ...turn(agent, String(turns), "please"), schedules: desk, ...(effects ? { effects } : {}) },
        never,
      );
      const messages = world.server.requests.at(-1)?.body["messages"] as readonly Json[]; // as the protocol has it
      return messages.slice(-calls.length).map(({ content }) => String(content));
    },
  };
}

const WATER = { name: "water", prompt: "Water the plants." };

describe("the tools for schedules", () => {
  it("are there for an agent that may make some, and say what its limits are", async () => {
    const { run, server } = await setUp();
    await run(["schedule_list", {}]);
    const tools = server.requests[0]?.body["tools"] as readonly { readonly function: Json }[]; // as the protocol has it
    expect(tools.map(({ function: { name } }) => name)).toEqual([
      "schedule_create",
      "schedule_list",
      "schedule_cancel",
    ]);
    expect(String(tools[0]?.function["description"])).toContain(
      "At most 3 are to come in a chat, 15 minutes apart",
    );
    expect(JSON.stringify(server.requests[0]?.body["messages"])).toContain("answer just [SILENT]");
  });

  it("make, list and end a schedule, in plain words and local time", async () => {
    const { run, woken } = await setUp();
    expect(await run(["schedule_create", { ...WATER, cron: "0 8 * * 1-5" }])).toEqual([
      '"water" is scheduled, cron 0 8 * * 1-5: next Fri 2026-01-02 08:00 (Europe/Berlin).',
    ]);
    expect(woken).toEqual([[1, "2026-01-02T07:00:00.000Z"]]);
    expect(
      await run(
        ["schedule_create", { ...WATER, name: "tea", inMinutes: 20 }],
        ["schedule_create", { ...WATER, name: "walk", everyMinutes: 90 }],
      ),
    ).toEqual([
      '"tea" is scheduled, once: next Thu 2026-01-01 13:20 (Europe/Berlin).',
      '"walk" is scheduled, every 90 min: next Thu 2026-01-01 14:30 (Europe/Berlin).',
    ]);
    const [list] = await run(["schedule_list", {}]);
    expect(list?.split("\n")).toEqual([
      '"water" (cron 0 8 * * 1-5): next Fri 2026-01-02 08:00 (Europe/Berlin); last: not yet; "Water the plants."',
      '"tea" (once): next Thu 2026-01-01 13:20 (Europe/Berlin); last: not yet; "Water the plants."',
      '"walk" (every 90 min): next Thu 2026-01-01 14:30 (Europe/Berlin); last: not yet; "Water the plants."',
    ]);
    expect(await run(["schedule_cancel", { name: "Tea" }])).toEqual(['"tea" is cancelled.']);
    expect((await run(["schedule_list", {}]))[0]).not.toContain("tea");
  });

  it("say what is wrong, and what can be done", async () => {
    const { run, desk } = await setUp();
    expect(await run(["schedule_create", { ...WATER, cron: "* * * * *" }])).toEqual([
      "Error: it would be due every 1 min, and 15 min must be between two times; give a wider interval",
    ]);
    expect(await run(["schedule_create", WATER])).toEqual([
      "Error: say when, once: one of cron, everyMinutes, at and inMinutes",
    ]);
    expect(await run(["schedule_cancel", { name: "nothing" }])).toEqual([
      'Error: there is no schedule "nothing" here that you may cancel; schedule_list names those that there are, and the operator\'s end in perch.yaml alone',
    ]);
    expect(await desk.list()).toEqual([]);
  });

  it("show the operator's, and do not end them", async () => {
    const { run, database } = await setUp();
    const rule = {
      channel: "toy",
      chat: "c1",
      when: { kind: "cron", cron: "0 8 * * *" },
      timeZone: "UTC",
      prompt: "Good morning!",
    } as const;
    await takeUpSchedules(database, new Map([["morning", rule]]), { next: () => NOON, now: NOON });
    expect((await run(["schedule_list", {}]))[0]).toBe(
      '"morning" (cron 0 8 * * *, the operator\'s): next Thu 2026-01-01 12:00 (UTC); last: not yet; "Good morning!"',
    );
    expect((await run(["schedule_cancel", { name: "morning" }]))[0]).toMatch(/^Error: there is no schedule/);
  });

  it("write down that one is made before it is, so that a turn that is run again makes no other", async () => {
    const { run, desk } = await setUp();
    const there: number[] = [];
    const effects: EffectLog = {
      earlier: async () => [],
      begin: async () => void there.push((await desk.list()).length),
      done: async () => void there.push((await desk.list()).length),
    };
    await run(effects, ["schedule_create", { ...WATER, inMinutes: 30 }]);
    expect(there).toEqual([0, 1]);
    await run(effects, ["schedule_cancel", { name: "water" }]);
    expect(there).toEqual([0, 1, 1, 0]);
    await run(effects, ["schedule_list", {}]);
    expect(there).toHaveLength(4);
  });
});
