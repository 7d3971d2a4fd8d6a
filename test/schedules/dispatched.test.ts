import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { Dispatcher, Works } from "../../src/core/dispatcher.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { bullmq } from "../../src/dispatch/bullmq.ts";
import { inProcess } from "../../src/dispatch/in-process.ts";
import { Redis } from "../../src/dispatch/redis.ts";
import { Schedules } from "../../src/schedules/schedules.ts";
import { chatOf } from "../../src/store/chats.ts";
import type { Database } from "../../src/store/database.ts";
import { insertSchedule } from "../../src/store/schedules.ts";
import { memoryLog } from "../support/channel-host.ts";
import { onSqlite } from "../support/database.ts";
import { OPEN_TO_ADA } from "../support/gateway.ts";
import { NO_REDIS, startRedis, type TestRedis } from "../support/redis.ts";

const open = onSqlite();
const log = memoryLog([]);

/** A queue that one or several dispatchers work on; a new one knows of no wake-up. */
type Queue = (works: Works) => Promise<Dispatcher>;

/** What holds of schedules on every dispatcher, in real time. */
function scheduleContract(newQueue: () => Queue, workers: number): void {
  type World = {
    readonly database: Database;
    readonly chat: ChatId;
    /** When each time was due that was done, in order. */
    readonly done: readonly number[];
    readonly doneUntil: (count: number) => Promise<void>;
    /** Begins workers on a queue of theirs. */
    readonly begin: (queue: Queue) => Promise<readonly Schedules[]>;
    readonly make: (everyMs: number, dueAt: number) => Promise<number>;
  };

  async function setUp(): Promise<World> {
    const database = await open();
    const chat = await chatOf(database.db, "toy", { chat: "c1", kind: "private" });
    const done: number[] = [];
    let look = (): void => {};
    /** What a turn does: it takes the message up. */
    const turn = async (): Promise<void> => {
      const taken = await database.db
        .updateTable("inbox")
        .set({ state: "consumed", ended_at: systemClock.now() })
        .where("state", "=", "waiting")
        .returning("event_key")
        .execute();
      done.push(...taken.map(({ event_key: key }) => Number(key.split("@")[1])));
      look();
    };
    const worker = async (queue: Queue): Promise<Schedules> => {
      let dispatcher: Dispatcher | undefined;
      const schedules: Schedules = new Schedules({
        database,
        clock: systemClock,
        log,
        isOpen: () => true,
        rulesIn: async () => ({ ...OPEN_TO_ADA, unaskedPerDay: 1_000 }),
        agentIn: () => "helper",
        isAgent: (name) => name === "helper",
        timeZone: () => "UTC",
        wake: (id, at) => dispatcher?.wake("schedule", String(id), at),
        turn: () => void turn(),
      });
      const run = async (key: string): Promise<void> => {
        const again = await schedules.run(Number(key));
        if (again !== undefined) dispatcher?.wake("schedule", key, again);
      };
      dispatcher = await queue({ schedule: { concurrency: 4, run } });
      return schedules;
    };
    return {
      database,
      chat,
      done,
      doneUntil: async (count) =>
        await new Promise((resolve) => {
          look = () => (done.length >= count ? resolve() : undefined);
          look();
        }),
      begin: async (queue) => {
        const all = await Promise.all(Array.from({ length: workers }, () => worker(queue)));
        for (const each of all) await each.wakeAll((at) => at);
        return all;
      },
      make: async (everyMs, dueAt) => {
        const origin = { chat, to: { channel: "toy", chat: "c1" }, agent: "helper", person: "" };
        const name = `every ${everyMs}`;
        const made = {
          name,
          when: { kind: "every", everyMs },
          timeZone: "UTC",
          prompt: "Hello.",
          dueAt,
        } as const;
        const found = await insertSchedule(database, origin, made, { most: 9, now: systemClock.now() });
        return "schedule" in found ? found.schedule.number : 0;
      },
    };
  }

  it("does each time once and in its time, and goes on", async () => {
    const { done, doneUntil, begin, make } = await setUp();
    const first = systemClock.now() + 200;
    await make(250, first);
    await begin(newQueue());
    await doneUntil(4);
    expect(systemClock.now()).toBeGreaterThanOrEqual((done[3] ?? 0) - 1);
    expect(new Set(done).size).toBe(done.length);
    expect(done.map((due) => (due - first) % 250)).toEqual(done.map(() => 0));
    expect(done.toSorted((a, b) => a - b)).toEqual(done);
  });

  it("loses nothing with all of its wake-ups", async () => {
    const { done, doneUntil, begin, make } = await setUp();
    await make(300, systemClock.now());
    await begin(newQueue());
    await doneUntil(1);
    const before = done.length;
    await begin(newQueue()); // which knows of nothing; the sweep finds it in the facts
    await doneUntil(before + 2);
    expect(new Set(done).size).toBe(done.length);
  });

  it("does what was missed once", async () => {
    const { database, doneUntil, begin, make } = await setUp();
    const id = await make(60_000, systemClock.now() - 600_500);
    await begin(newQueue());
    await doneUntil(1);
    const row = await database.db.selectFrom("schedule").selectAll().where("id", "=", id).executeTakeFirst();
    expect(row?.fires).toBe(1);
    expect(row?.next_at).toBeGreaterThan(systemClock.now());
    const { trace } = await database.db.selectFrom("inbox").select("trace").executeTakeFirstOrThrow();
    expect(JSON.parse(trace)).toMatchObject({ step: "due", schedule: id, missed: 10 });
  });
}

describe("schedules on the dispatcher of one process", () => {
  scheduleContract(
    () => async (works) => {
      const dispatcher = inProcess(works, systemClock, log);
      onTestFinished(() => dispatcher.close());
      return dispatcher;
    },
    1,
  );
});

describe.skipIf(NO_REDIS)("schedules on BullMQ, with three workers", () => {
  let server: TestRedis;
  let queues = 0;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.close());

  scheduleContract(() => {
    const prefix = `${server.prefix}:${(queues += 1)}`;
    return async (works) => {
      const redis = new Redis({ url: server.url, prefix, clock: systemClock, log });
      const dispatcher = bullmq(redis)(works, systemClock, log);
      onTestFinished(async () => {
        await dispatcher.close();
        redis.close();
      });
      await redis.connection.connect();
      return dispatcher;
    };
  }, 3);
});
