import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { AgentDefinition, AgentTask, AgentTurn } from "../../src/core/agent.ts";
import type { Channel } from "../../src/core/channel.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { changeTask, findTask } from "../../src/store/background.ts";
import { chatOf } from "../../src/store/chats.ts";
import { Tasks } from "../../src/turns/tasks.ts";
import { memoryLog } from "../support/channel-host.ts";
import { manualClock } from "../support/clock.ts";
import { onSqlite } from "../support/database.ts";
import { AGENT, testGateway, type TestGateway, type TestGatewayOptions, textOf } from "../support/gateway.ts";

const opened: TestGateway[] = [];
const onDisk = onSqlite();
// Loaded by the first task that ends, which takes real time.
beforeAll(() => import("../../src/schedules/unasked.ts"));
afterEach(async () => {
  for (const gateway of opened.splice(0)) await gateway.close();
});

const SCOUT: AgentDefinition = { ...AGENT, name: "scout" };
const BOSS: AgentDefinition = {
  ...AGENT,
  subagents: { agents: [SCOUT], atOnce: 3, mostPerTurn: 6, seconds: 120 },
  background: { retries: 2, retrySeconds: 30 },
};

/** How a run of a task is to end, and what it was asked. */
type Run = {
  readonly task: AgentTask;
  readonly signal: AbortSignal;
  readonly end: (result: string) => void;
  readonly fail: (error: Error) => void;
};

type World = TestGateway & {
  readonly clock: ReturnType<typeof manualClock>;
  readonly runs: Run[];
  /** Says something whose turn uses the desk. */
  readonly ask: (chat: string, words: string) => Promise<void>;
};

/** An agent that does at its desk what the person says: "start x", "update t1 x", "cancel t1", "list", "wait". */
async function setUp(options: TestGatewayOptions = {}, clock = manualClock()): Promise<World> {
  const runs: Run[] = [];
  const gateway = await testGateway({
    clock,
    agents: [BOSS],
    answer: atDesk,
    desk: {
      work: (task, signal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
          runs.push({ task, signal, end: resolve, fail: reject });
        }),
    },
    ...options,
  });
  opened.push(gateway);
  return {
    ...gateway,
    clock,
    runs,
    ask: async (chat, words) => {
      await gateway.platform.say(chat, words, { whole: true });
      await clock.advance(0);
    },
  };
}

async function atDesk(turn: AgentTurn): Promise<string> {
  const [, verb, rest = ""] = /^(\w+) ?(.*)$/s.exec(textOf(turn)) ?? [];
  const [id = "", ...words] = rest.split(" ");
  const desk = turn.tasks;
  if (desk === undefined) return "no desk";
  if (verb === "start") return `begun: ${(await desk.start({ agent: "scout", prompt: rest }))?.id}`;
  if (verb === "update") return `updated: ${(await desk.update(id, words.join(" ")))?.status}`;
  if (verb === "cancel") return `cancelled: ${(await desk.cancel(id))?.status}`;
  if (verb === "find") return `found: ${(await desk.find(id))?.prompt}`;
  return (await desk.list())
    .map(({ id: of, status, attempts, result }) => `${of} ${status} ${attempts} ${result}`.trim())
    .join("\n");
}

describe("a background task", () => {
  it("is begun at once, ends in its own time, and its end is told in the chat", async () => {
    const { ask, runs, clock, platform } = await setUp();
    await ask("c1", "start count the ships");
    expect(platform.textsIn("c1")).toEqual(["begun: t1"]);
    expect(runs.map(({ task }) => [task.agent.name, task.prompt])).toEqual([["scout", "count the ships"]]);
    await ask("c1", "list");
    expect(platform.textsIn("c1").at(-1)).toBe("t1 running 1");
    runs[0]?.end("There are **nine** ships.");
    await clock.advance(0);
    expect(platform.textsIn("c1").at(-1)).toBe(
      "Background task t1 (scout) is done:\n\nThere are nine ships.",
    );
    await ask("c1", "list");
    expect(platform.textsIn("c1").at(-1)).toBe("t1 success 1 There are nine ships.");
    await clock.advance(600_000);
    expect(platform.textsIn("c1").filter((text) => text.includes("is done"))).toHaveLength(1);
    expect(runs).toHaveLength(1);
  });

  it("sends what it has put into the outputs of its chat", async () => {
    const { ask, runs, clock, platform } = await setUp();
    await ask("c1", "start draw");
    const { folder } = runs[0]!.task;
    await mkdir(join(folder, "outputs"), { recursive: true });
    await writeFile(join(folder, "outputs/ships.csv"), "name\nArgo\n");
    runs[0]?.end("Here: ![the ships](ships.csv)");
    await platform.until((shown) => shown.some(({ media }) => media.length > 0));
    await clock.advance(0);
    expect(platform.shown.at(-1)?.media).toHaveLength(1);
  });

  it("is told in the language of the turn that has begun it", async () => {
    const { ask, runs, clock, platform } = await setUp();
    await ask("c1", "start und zähle bitte die Schiffe, die du im Hafen sehen kannst");
    runs[0]?.end("Neun.");
    await clock.advance(0);
    expect(platform.textsIn("c1").at(-1)).toBe("Die Hintergrundaufgabe t1 (scout) ist fertig:\n\nNeun.");
  });

  it("that fails is tried again after its interval, twice, and then told as failed", async () => {
    const { ask, runs, clock, platform } = await setUp();
    await ask("c1", "start x");
    for (const attempt of [1, 2, 3]) {
      expect(runs).toHaveLength(attempt);
      runs.at(-1)?.fail(new GatewayError("model.failed", "the model rests"));
      await clock.advance(29_999);
      expect(runs).toHaveLength(attempt);
      await clock.advance(1);
    }
    expect(runs).toHaveLength(3);
    expect(runs[2]?.task.prompt).toMatch(/^x\n\n\[This task may have been begun before/);
    expect(platform.textsIn("c1").at(-1)).toBe(
      "Background task t1 (scout) has failed: the model did not answer.",
    );
    await ask("c1", "list");
    expect(platform.textsIn("c1").at(-1)).toBe("t1 error 3 the model rests");
  });

  it("that fails in a way that stays is not tried again", async () => {
    const { ask, runs, clock, platform } = await setUp();
    await ask("c1", "start x");
    runs[0]?.fail(new GatewayError("agent.invalid", "the graph could not be loaded"));
    await clock.advance(120_000);
    expect(runs).toHaveLength(1);
    expect(platform.textsIn("c1").at(-1)).toBe("Background task t1 (scout) has failed.");
  });

  it("that fails once and then succeeds is told once, as done", async () => {
    const { ask, runs, clock, platform } = await setUp();
    await ask("c1", "start x");
    runs[0]?.fail(new Error("secret of a stack"));
    await clock.advance(30_000);
    runs[1]?.end("done after all");
    await clock.advance(0);
    expect(platform.textsIn("c1")).toEqual([
      "begun: t1",
      "Background task t1 (scout) is done:\n\ndone after all",
    ]);
  });

  it("that takes longer than its agent's turns may is ended", async () => {
    const agents = [{ ...BOSS, background: { retries: 0, retrySeconds: 1 } }];
    const { ask, runs, clock, platform } = await setUp({ agents });
    await ask("c1", "start x");
    await clock.advance(SCOUT.limits.turnSeconds * 1_000);
    expect(runs[0]?.signal.aborted).toBe(true);
    expect(platform.textsIn("c1").at(-1)).toBe("Background task t1 (scout) took too long, so I stopped it.");
  });

  it("that is cancelled is aborted, says nothing and never comes back", async () => {
    const { ask, runs, clock, platform } = await setUp();
    await ask("c1", "start x");
    await ask("c1", "cancel t1");
    expect(runs[0]?.signal.aborted).toBe(true);
    await clock.advance(600_000);
    await ask("c1", "update t1 more");
    await ask("c1", "list");
    expect(platform.textsIn("c1").slice(1)).toEqual([
      "cancelled: cancelled",
      "updated: undefined",
      "t1 cancelled 1",
    ]);
    expect(runs).toHaveLength(1);
  });

  it("that waits for its next try is cancelled too", async () => {
    const { ask, runs, clock } = await setUp();
    await ask("c1", "start x");
    runs[0]?.fail(new GatewayError("model.failed", "no"));
    await clock.advance(10_000);
    await ask("c1", "cancel t1");
    await clock.advance(600_000);
    expect(runs).toHaveLength(1);
  });

  it("that is added to is begun anew with the addition, never two at once", async () => {
    const { ask, runs, clock, platform } = await setUp();
    await ask("c1", "start ships");
    await ask("c1", "update t1 and boats");
    await clock.advance(0);
    expect(runs.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    expect(runs[1]?.task.prompt).toMatch(/^ships\n\nand boats\n\n\[/);
    runs[0]?.end("of the first");
    runs[1]?.end("of the second");
    await clock.advance(60_000);
    expect(platform.textsIn("c1").filter((text) => text.includes("is done"))).toEqual([
      "Background task t1 (scout) is done:\n\nof the second",
    ]);
  });

  it("that ends while a turn is running is told after that, and known to the turn at once", async () => {
    const clock = manualClock();
    let goOn = (): void => {};
    const answer = async (turn: AgentTurn): Promise<string> => {
      if (textOf(turn) !== "wait") return await atDesk(turn);
      await new Promise<void>((resolve) => (goOn = resolve));
      return `in the end: ${(await turn.tasks?.find("t1"))?.status}`;
    };
    const { ask, runs, platform } = await setUp({ answer }, clock);
    await ask("c1", "start x");
    await ask("c1", "wait");
    runs[0]?.end("nine");
    await clock.advance(25_000);
    expect(platform.textsIn("c1")).toEqual(["begun: t1"]);
    goOn();
    await clock.advance(0);
    expect(platform.textsIn("c1")).toEqual([
      "begun: t1",
      "in the end: success",
      "Background task t1 (scout) is done:\n\nnine",
    ]);
  });

  it("whose agent is not there any more ends with a sentence", async () => {
    const { ask, runs, clock, platform, gateway } = await setUp();
    await ask("c1", "start x");
    runs[0]?.fail(new GatewayError("model.failed", "no"));
    await clock.advance(0);
    gateway.use({
      channels: new Map(),
      agents: new Map([["helper", AGENT]]),
    });
    await clock.advance(30_000);
    expect(runs).toHaveLength(1);
    expect(platform.textsIn("c1").at(-1)).toBe(
      "Background task t1 is given up: scout is not set up here any more.",
    );
  });

  it("of a chat is out of the reach of another", async () => {
    const { ask, runs, clock, platform } = await setUp();
    await ask("c1", "start secret of one");
    await ask("c2", "start secret of two");
    await ask("c2", "find t1");
    expect(platform.textsIn("c2").at(-1)).toBe("found: secret of two");
    await ask("c2", "find t2");
    expect(platform.textsIn("c2").at(-1)).toBe("found: undefined");
    await ask("c2", "cancel t1");
    expect(runs.map(({ signal }) => signal.aborted)).toEqual([false, true]);
    runs[0]?.end("result of one");
    await clock.advance(0);
    await ask("c2", "list");
    expect(platform.textsIn("c1").at(-1)).toContain("result of one");
    expect(platform.textsIn("c2").join("\n")).not.toContain("one");
    expect(runs[0]?.task.folder).not.toBe(runs[1]?.task.folder);
  });

  it("knows what its earlier runs have done outside, until it ends", async () => {
    const { ask, runs, clock, database } = await setUp();
    await ask("c1", "start x");
    expect(await runs[0]?.task.effects?.earlier()).toEqual([]);
    await runs[0]?.task.effects?.begin("one", "step");
    await runs[0]?.task.effects?.done("one", "was sent");
    await runs[0]?.task.effects?.begin("two", "step");
    runs[0]?.fail(new GatewayError("model.failed", "no"));
    await clock.advance(30_000);
    expect(await runs[1]?.task.effects?.earlier()).toEqual([
      { call: "one", step: "step", result: "was sent" },
      { call: "two", step: "step" },
    ]);
    runs[1]?.end("nine");
    await clock.advance(0);
    expect(await database.db.selectFrom("effect").selectAll().execute()).toEqual([]);
  });

  it("that was added to, or cancelled, begins nothing outside any more in its earlier run", async () => {
    const { ask, runs, clock, database } = await setUp();
    await ask("c1", "start x");
    await runs[0]?.task.effects?.begin("one", "step");
    await ask("c1", "update t1 more");
    await clock.advance(0);
    await expect(runs[0]?.task.effects?.begin("two", "step")).rejects.toMatchObject({
      code: "store.hold_lost",
    });
    expect(await runs[1]?.task.effects?.earlier()).toEqual([{ call: "one", step: "step" }]);
    await ask("c1", "cancel t1");
    await expect(runs[1]?.task.effects?.begin("two", "step")).rejects.toMatchObject({
      code: "store.hold_lost",
    });
    expect(await database.db.selectFrom("effect").selectAll().execute()).toEqual([]);
  });

  it("counts what its runs take to the thread that has begun it, also where they fail, and logs it", async () => {
    const { ask, runs, clock, database, logged } = await setUp();
    await ask("c1", "start x");
    const use = {
      agent: "scout",
      model: "openai:x",
      inputTokens: 10,
      cachedTokens: 4,
      outputTokens: 2,
      costMicros: 7,
    };
    runs[0]?.task.onUse?.(use);
    runs[0]?.task.onUse?.(use);
    runs[0]?.fail(new GatewayError("model.failed", "no"));
    await clock.advance(30_000);
    runs[1]?.task.onUse?.(use);
    runs[1]?.end("nine");
    await clock.advance(0);
    const counted = await database.db.selectFrom("thread_fact").selectAll().execute();
    expect(counted).toMatchObject([
      { agent: "helper", last_input: 0, all_input: 30, all_output: 6, all_cost: 21 },
    ]);
    const lines = logged.filter(({ sentence }) => sentence === "a background task was at work");
    expect(lines.map(({ fields }) => fields)).toEqual([
      {
        chat: 1,
        task: "t1",
        agent: "scout",
        attempt: 1,
        inputTokens: 20,
        cachedTokens: 8,
        outputTokens: 4,
        costMicros: 14,
      },
      {
        chat: 1,
        task: "t1",
        agent: "scout",
        attempt: 2,
        inputTokens: 10,
        cachedTokens: 4,
        outputTokens: 2,
        costMicros: 7,
      },
    ]);
  });

  it("counts nothing to a chat that was forgotten meanwhile", async () => {
    const { ask, runs, clock, database } = await setUp();
    await ask("c1", "start x");
    runs[0]?.task.onUse?.({
      agent: "scout",
      model: "x",
      inputTokens: 1,
      cachedTokens: 0,
      outputTokens: 1,
      costMicros: 0,
    });
    await ask("c1", "/forget all");
    await clock.advance(0);
    expect(await database.db.selectFrom("thread_fact").selectAll().execute()).toEqual([]);
  });

  it("is ended without a word by /forget all, and nothing of it comes to another task", async () => {
    const { ask, runs, clock, platform, database } = await setUp();
    await ask("c1", "start secret");
    await ask("c1", "/forget all");
    expect(runs[0]?.signal.aborted).toBe(true);
    runs[0]?.end("the secret");
    await clock.advance(120_000);
    expect(platform.textsIn("c1").join("\n")).not.toContain("secret");
    expect(await database.db.selectFrom("background_task").selectAll().execute()).toEqual([]);
    await ask("c1", "list");
    expect(platform.textsIn("c1").at(-1)).not.toContain("t1");
  });

  it("runs beside seven others at most", async () => {
    const { ask, runs, clock } = await setUp();
    for (let n = 0; n < 10; n += 1) await ask("c1", `start ${n}`);
    expect(runs).toHaveLength(8);
    runs[0]?.end("x");
    await clock.advance(0);
    expect(runs).toHaveLength(9);
  });
});

it("a background task that is cancelled when it was claimed and does not run yet is not run", async () => {
  const database = await onDisk();
  const clock = manualClock();
  const chat = await chatOf(database.db, "toy", { chat: "c1", kind: "private" });
  let cancelled: Promise<unknown> | undefined;
  let runs = 0;
  const tasks: Tasks = new Tasks({
    database,
    owner: "test",
    runner: { work: async () => `run ${(runs += 1)}` },
    clock,
    log: memoryLog([]),
    channel: () => ({}) as Channel, // it is only to be there
    // Asked between the two.
    agent: () => {
      cancelled ??= changeTask(database, chat, "t1", { cancelledAt: clock.now() });
      return BOSS;
    },
    pieces: { answer: async () => ({ bodies: [] }), words: () => [] },
    budgets: { ofPayer: async () => undefined },
    folder: () => "/nowhere",
    look: () => async () => [],
    wake: () => {},
    changed: (row) => tasks.end(row),
    unasked: async () => undefined,
    deliver: () => {},
    closing: new AbortController().signal,
  });
  const to = { channel: "toy", chat: "c1" };
  const origin = { chat, to, agent: "helper", thread: "1/helper/1", language: "en" } as const;
  const desk = tasks.deskFor({ ...origin, person: "", byOwner: false });
  await desk.start({ agent: "scout", prompt: "x" });
  await tasks.run(1);
  await cancelled;
  expect(runs).toBe(0);
  expect(await findTask(database, chat, "t1")).toMatchObject({ status: "cancelled", result: "" });
});

describe("a background task and the end of the process", () => {
  it("is given back by a stop at once, and begun again at the next start", async () => {
    const first = await setUp();
    await first.ask("c1", "start x");
    const { folder, platform, clock } = first;
    await first.gateway.stop(60_000);
    expect(first.runs[0]?.signal.aborted).toBe(true);
    const second = await setUp({ folder, platform }, clock);
    await clock.advance(0);
    expect(second.runs).toHaveLength(1);
    await second.ask("c1", "list");
    expect(platform.textsIn("c1").at(-1)).toBe("t1 running 1");
    second.runs[0]?.end("nine");
    await clock.advance(0);
    expect(platform.textsIn("c1").at(-1)).toBe("Background task t1 (scout) is done:\n\nnine");
  });

  it("is begun again after a kill, and given up after three of them", async () => {
    let world = await setUp();
    const { folder, platform, clock } = world;
    await world.ask("c1", "start x");
    for (const attempt of [1, 2, 3]) {
      expect(world.runs).toHaveLength(1);
      await world.ask("c1", "list");
      expect(platform.textsIn("c1").at(-1)).toBe(`t1 running ${attempt}`);
      await world.kill();
      opened.splice(opened.indexOf(world), 1);
      world = await setUp({ folder, platform }, clock);
      await clock.advance(0);
    }
    expect(world.runs).toEqual([]);
    expect(platform.textsIn("c1").at(-1)).toBe(
      "I could not get through background task t1 (scout) in 3 tries and have given it up.",
    );
  });
});
