import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { Dispatcher, Works } from "../../src/core/dispatcher.ts";
import { bullmq } from "../../src/dispatch/bullmq.ts";
import { Redis } from "../../src/dispatch/redis.ts";
import { redisWire } from "../../src/dispatch/wire-redis.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import { NO_OWN_REDIS, ownRedis, type OwnRedis } from "../support/redis.ts";
import { recorder } from "./recorder.ts";

const PATIENCE = { lockMs: 1_000, stalledMs: 300 };
const AWAY_MS = process.env["PERCH_LONG"] ? 60_000 : 1_500;
const FIXED = ["events", "id", "meta", "stalled-check"];

async function server(): Promise<OwnRedis> {
  const own = await ownRedis();
  onTestFinished(() => own.close());
  return own;
}

type Process = {
  readonly dispatcher: Dispatcher;
  readonly redis: Redis;
  readonly logged: readonly LoggedLine[];
};

/** A dispatcher with connections of its own, as a process has them. */
function open({ url, prefix }: OwnRedis, works: Works): Process {
  const logged: LoggedLine[] = [];
  const log = memoryLog(logged);
  const redis = new Redis({ url, prefix, clock: systemClock, log });
  const dispatcher = bullmq(redis, PATIENCE)(works, systemClock, log);
  onTestFinished(async () => {
    await dispatcher.close();
    redis.close();
  });
  return { dispatcher, redis, logged };
}

async function opened(own: OwnRedis, works: Works): Promise<Process> {
  const process = open(own, works);
  await process.redis.connection.connect();
  return process;
}

/** Names of the connections' last commands, without the one that asks. */
async function connections(own: OwnRedis): Promise<number> {
  const list = String(await own.run("CLIENT", "LIST"));
  return list.split("\n").filter((line) => line !== "" && !line.includes("cmd=client")).length;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

describe.skipIf(NO_OWN_REDIS)("dispatchers on one Redis", () => {
  it.each([2, 4])("share the work of %i, never two at one key, and forget no wake-up", async (processes) => {
    const own = await server();
    const work = recorder();
    const wanted = new Map<string, number>();
    const seen = new Map<string, number>();
    const shares = Array.from({ length: processes }, () => 0);
    const all = await Promise.all(
      shares.map((_, index) =>
        opened(own, {
          turn: {
            concurrency: 4,
            async run(key) {
              shares[index] = (shares[index] ?? 0) + 1;
              seen.set(key, wanted.get(key) ?? 0);
              await work.run(key);
              await pause(Math.random() * 6);
            },
          },
        }),
      ),
    );
    for (let times = 0; times < 600; times += 1) {
      const key = `k${Math.floor(Math.random() * 20)}`;
      wanted.set(key, (wanted.get(key) ?? 0) + 1);
      const from = all[Math.floor(Math.random() * processes)];
      const soon = Math.random() < 0.5 ? 0 : Math.random() * 40;
      from?.dispatcher.wake("turn", key, Date.now() + soon);
      if (times % 10 === 0) await pause(4);
    }
    await expect
      .poll(() => Object.fromEntries(seen), { timeout: 10_000 })
      .toEqual(Object.fromEntries(wanted));
    expect(work.most().ofOne).toBe(1);
    for (const share of shares) expect(share).toBeGreaterThan(work.runs.length / processes / 4);
    await expect
      .poll(() => own.keys(), { timeout: 5_000 })
      .toEqual(FIXED.map((key) => `${own.prefix}:turn:${key}`));
  });

  it("move a key that sleeps for one process earlier for another", async () => {
    const own = await server();
    const work = recorder();
    const one = await opened(own, { turn: { concurrency: 1, run: work.run } });
    const other = await opened(own, {});
    one.dispatcher.wake("turn", "a", Date.now() + 600_000);
    await expect.poll(async () => (await one.dispatcher.counts())[0]?.sleeping).toBe(1);
    const at = Date.now() + 200;
    other.dispatcher.wake("turn", "a", at);
    await work.begun(1);
    expect(Date.now()).toBeGreaterThanOrEqual(at - 1);
  });

  it("let a process that only wakes say for later what another works on", async () => {
    const own = await server();
    const work = recorder();
    work.hold("a");
    const one = await opened(own, { turn: { concurrency: 1, run: work.run } });
    const other = await opened(own, {});
    onTestFinished(work.endAll);
    one.dispatcher.wake("turn", "a", Date.now());
    await work.begun(1);
    const at = Date.now() + 150;
    other.dispatcher.wake("turn", "a", Date.now() + 600_000);
    other.dispatcher.wake("turn", "a", at);
    await pause(100);
    work.end("a");
    await work.begun(2);
    expect(Date.now()).toBeGreaterThanOrEqual(at - 1);
  });

  it("do not let one's wake-up for later hide another's for now while a third works on the key", async () => {
    const own = await server();
    const work = recorder();
    work.hold("a");
    const { dispatcher } = await opened(own, { turn: { concurrency: 1, run: work.run } });
    const [now, later] = [await opened(own, {}), await opened(own, {})];
    onTestFinished(work.endAll);
    dispatcher.wake("turn", "a", Date.now());
    await work.begun(1);
    now.dispatcher.wake("turn", "a", Date.now());
    await expect.poll(() => own.keys()).toContain(`${own.prefix}:turn:dn:a`); // it is kept beside the running one
    later.dispatcher.wake("turn", "a", Date.now() + 600_000);
    await expect.poll(async () => (await later.dispatcher.counts())[0]?.sleeping).toBe(1);
    work.end("a");
    await work.begun(2);
  });

  it("begin nothing more once they are to close, and give back what they were handed", async () => {
    const own = await server();
    const done = new Set<string>();
    let late = 0;
    for (let round = 0; round < 12; round += 1) {
      let isClosing = false;
      const run = async (key: string): Promise<void> => {
        if (isClosing) late += 1;
        done.add(key);
      };
      const { dispatcher } = await opened(own, { turn: { concurrency: 3, run } });
      for (let key = 0; key < 30; key += 1) dispatcher.wake("turn", `${round}-${key}`, Date.now());
      await pause(round % 6);
      isClosing = true;
      await dispatcher.close();
    }
    const left = 12 * 30 - done.size;
    await opened(own, { turn: { concurrency: 3, run: async (key) => void done.add(key) } });
    await expect.poll(() => done.size).toBe(12 * 30);
    expect([late, left > 0]).toEqual([0, true]);
  });

  it("wake for others what ends while they close: its own key once more, and what it has to have sent", async () => {
    const own = await server();
    const [work, elsewhere] = [recorder(), recorder()];
    const one = await opened(own, {
      turn: {
        concurrency: 1,
        async run(key) {
          await work.run(key);
          one.dispatcher.wake("deliver", "7", Date.now(), "family");
          one.dispatcher.wake("turn", key, Date.now());
        },
      },
    });
    work.hold("a");
    one.dispatcher.wake("turn", "a", Date.now());
    await work.begun(1);
    const closed = one.dispatcher.close();
    await pause(100);
    work.end("a");
    await closed;
    const idle = { concurrency: 1, run: elsewhere.run };
    const two = await opened(own, { turn: idle, deliver: { ...idle, placed: true } });
    two.dispatcher.serve("family");
    await elsewhere.begun(2);
    expect([work.runs, elsewhere.runs.toSorted()]).toEqual([["a"], ["7", "a"]]);
    elsewhere.endAll();
  });

  it("go over the facts once in an interval, whatever their number", async () => {
    const own = await server();
    const work = recorder();
    const all = [];
    for (let count = 0; count < 3; count += 1)
      all.push(await opened(own, { sweep: { concurrency: 1, run: work.run } }));
    const began = Date.now();
    for (const { dispatcher } of all) {
      dispatcher.every("sweep", 300);
      await pause(70);
    }
    await work.begun(4);
    const intervals = (Date.now() - began) / 300;
    expect([work.most().ofOne, work.runs.length <= Math.ceil(intervals)]).toEqual([1, true]);
  });

  it("hold one connection, one for each worker and one for the wire, and give all back", async () => {
    const own = await server();
    const idle = { concurrency: 1, run: async (): Promise<void> => {} };
    const { dispatcher, redis } = await opened(own, {
      turn: idle,
      task: idle,
      deliver: { ...idle, placed: true },
      fetch: { ...idle, placed: true },
    });
    const wire = redisWire(redis, memoryLog([]));
    for (const place of ["a", "b"]) dispatcher.serve(place);
    dispatcher.wake("memory", "a", Date.now());
    dispatcher.wake("deliver", "a", Date.now(), "c");
    await expect.poll(() => connections(own)).toBe(1 + 2 + 2 * 2 + 1);
    await dispatcher.leave("b");
    await expect.poll(() => connections(own)).toBe(1 + 2 + 2 + 1);
    await dispatcher.close();
    await wire.close();
    redis.close();
    await expect.poll(() => connections(own), { timeout: 5_000 }).toBe(0);
  });
});

describe.skipIf(NO_OWN_REDIS)("a dispatcher whose Redis fails", () => {
  /** Facts that a sweep finds: keys that are still to be worked on. */
  async function facts(own: OwnRedis, openIt: (own: OwnRedis, works: Works) => Process | Promise<Process>) {
    const undone = new Set<string>();
    const work = recorder();
    const run = async (key: string): Promise<void> => {
      await work.run(key);
      undone.delete(key);
    };
    const sweep = async (): Promise<void> => {
      for (const key of undone) process.dispatcher.wake("turn", key, Date.now());
    };
    const process = await openIt(own, {
      turn: { concurrency: 4, run },
      sweep: { concurrency: 1, run: sweep },
    });
    onTestFinished(work.endAll);
    return { undone, work, ...process };
  }

  it(
    "goes on when it was away and is back empty: the sweep finds what was lost",
    async () => {
      const own = await server();
      const { undone, work, dispatcher, logged } = await facts(own, opened);
      dispatcher.every("sweep", 200);
      work.hold("running");
      for (const key of ["running", "sleeping"]) undone.add(key);
      dispatcher.wake("turn", "running", Date.now());
      dispatcher.wake("turn", "sleeping", Date.now() + 600_000);
      await work.begun(1, "running");
      await own.kill();
      await expect.poll(() => dispatcher.away()).toMatch(/^Redis is away since 20/);
      for (let count = 0; count < 50; count += 1) {
        undone.add(`k${count}`);
        dispatcher.wake("turn", `k${count}`, Date.now());
      }
      await pause(AWAY_MS);
      await own.start();
      await expect.poll(() => [...undone], { timeout: 10_000 }).toEqual(["running"]);
      expect(work.most().ofOne).toBe(1);
      work.endAll();
      await expect.poll(() => [...undone], { timeout: 10_000 }).toEqual([]);
      expect(await dispatcher.away()).toBeUndefined();
      // One line that it is away, one that it is back, and few of single commands that failed.
      expect(logged.length).toBeLessThanOrEqual(4 + AWAY_MS / 30_000);
    },
    60_000 + AWAY_MS,
  );

  it("goes on when it is emptied in the middle of work", async () => {
    const own = await server();
    const { undone, work, dispatcher } = await facts(own, opened);
    dispatcher.every("sweep", 200);
    work.hold("running");
    for (const key of ["running", "sleeping", "k1", "k2"]) undone.add(key);
    dispatcher.wake("turn", "running", Date.now());
    dispatcher.wake("turn", "sleeping", Date.now() + 600_000);
    await work.begun(1, "running");
    await own.run("FLUSHALL");
    await own.run("SCRIPT", "FLUSH");
    await expect.poll(() => [...undone], { timeout: 10_000 }).toEqual(["running"]);
    expect(work.most().ofOne).toBe(1);
    work.endAll();
    await expect.poll(() => [...undone], { timeout: 10_000 }).toEqual([]);
    await expect.poll(() => work.runs.filter((key) => key === "running").length).toBeGreaterThan(1);
  });

  it("begins when Redis does", async () => {
    const own = await server();
    await own.kill();
    const { undone, work, dispatcher } = await facts(own, open);
    dispatcher.every("sweep", 200);
    undone.add("a");
    dispatcher.wake("turn", "a", Date.now());
    await pause(300);
    await own.start();
    await work.begun(1);
    await expect.poll(() => [...undone]).toEqual([]);
  });

  it("begins all the same when Redis breaks off while its queues are opened", async () => {
    const own = await server();
    const work = recorder();
    const log = memoryLog([]);
    const redis = new Redis({ url: own.url, prefix: own.prefix, clock: systemClock, log });
    await redis.connection.connect();
    await own.run("CLIENT", "PAUSE", "10000", "ALL"); // what they ask first gets no answer
    const dispatcher = bullmq(redis)({ turn: { concurrency: 1, run: work.run } }, systemClock, log);
    onTestFinished(async () => {
      await dispatcher.close();
      redis.close();
    });
    dispatcher.wake("turn", "a", Date.now());
    await pause(50);
    await own.kill();
    await own.start();
    const begun = (): number => {
      dispatcher.wake("turn", "a", Date.now());
      return work.runs.length;
    };
    await expect.poll(begun, { timeout: 10_000 }).toBeGreaterThan(0);
  });

  it("does not ask without end while it is refused, and goes on afterwards", async () => {
    const own = await server();
    const work = recorder();
    const { dispatcher } = await opened(own, { turn: { concurrency: 1, run: work.run } });
    onTestFinished(work.endAll);
    work.hold("a");
    dispatcher.wake("turn", "a", Date.now());
    await work.begun(1);
    await own.run("ACL", "SETUSER", "default", "-evalsha", "-eval");
    await own.run("CONFIG", "RESETSTAT");
    work.endAll(); // that it is done cannot be written
    await pause(1_500);
    const [, refused] =
      /errorstat_NOPERM:count=(\d+)/.exec(String(await own.run("INFO", "errorstats"))) ?? [];
    expect(Number(refused)).toBeGreaterThan(0);
    expect(Number(refused)).toBeLessThan(30);
    await own.run("ACL", "SETUSER", "default", "+evalsha", "+eval");
    await work.begun(2); // nobody has its lock
    expect(work.runs).toEqual(["a", "a"]);
  });

  it("leaves a place while it is away, and gives the connection back then", async () => {
    const own = await server();
    const run = async (): Promise<void> => {};
    const { dispatcher, redis } = await opened(own, { deliver: { concurrency: 1, placed: true, run } });
    for (const place of ["a", "b"]) dispatcher.serve(place);
    await expect.poll(() => connections(own)).toBe(3);
    await own.kill();
    await expect.poll(() => redis.isReady).toBe(false);
    await dispatcher.leave("a");
    await own.start();
    await expect.poll(() => redis.isReady, { timeout: 5_000 }).toBe(true);
    await expect.poll(() => connections(own), { timeout: 10_000 }).toBe(2);
  });

  it("closes in bounded time while it is away, with what ran ended", async () => {
    const own = await server();
    const { work, dispatcher, redis } = await facts(own, opened);
    work.hold("a");
    dispatcher.wake("turn", "a", Date.now());
    await work.begun(1);
    await own.kill();
    const closing = dispatcher.close().then(() => "closed");
    expect(await Promise.race([closing, pause(200).then(() => "waits")])).toBe("waits");
    work.end("a");
    expect(await closing).toBe("closed");
    redis.close();
  });
});

describe.skipIf(NO_OWN_REDIS)("processes on one Redis", () => {
  type Told = {
    readonly ready?: true;
    readonly began?: string;
    readonly ended?: string;
    readonly heard?: unknown;
    readonly at: number;
  };

  async function spawned(own: OwnRedis) {
    const child: ChildProcess = fork(
      join(import.meta.dirname, "dispatching-process.mjs"),
      [own.url, own.prefix],
      { execArgv: [] },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    const told: Told[] = [];
    child.on("message", (message) => told.push(message as Told)); // what the script sends
    await once(child, "message");
    return { child, told };
  }

  /** One process works on a key once at a time: what ends is what began last. */
  function runsOf(key: string, told: readonly Told[]) {
    const own = told.filter(({ began, ended }) => began === key || ended === key);
    return own.flatMap(({ began, at }, index) =>
      began === undefined ? [] : [{ key, from: at, until: own[index + 1]?.at ?? Infinity }],
    );
  }

  it("never work on one key at the same time, and share the work", async () => {
    const own = await server();
    const both = await Promise.all([spawned(own), spawned(own)]);
    const keys = Array.from({ length: 10 }, (_, index) => `k${index}`);
    for (let times = 0; times < 30; times += 1) {
      for (const { child } of both) child.send({ wake: keys });
      await pause(10);
    }
    await expect.poll(() => own.keys()).toEqual(FIXED.map((key) => `${own.prefix}:turn:${key}`));
    const runs = both.flatMap(({ told }) => keys.flatMap((key) => runsOf(key, told)));
    for (const key of keys) {
      const inOrder = runs.filter((run) => run.key === key).toSorted((one, other) => one.from - other.from);
      const overlaps = inOrder.filter(({ from }, index) => from < (inOrder[index - 1]?.until ?? 0));
      expect([overlaps, inOrder.length > 2]).toEqual([[], true]);
    }
    for (const { told } of both) expect(told.length).toBeGreaterThan(10);
  });

  it("take up what one that was killed worked on, within the time of its lock", async () => {
    const own = await server();
    const one = await spawned(own);
    one.child.send({ wake: ["endless"] });
    await expect.poll(() => one.told.some(({ began }) => began === "endless")).toBe(true);
    const other = await spawned(own);
    one.child.kill("SIGKILL");
    const killed = Date.now();
    await expect
      .poll(() => other.told.some(({ began }) => began === "endless"), { timeout: 5_000 })
      .toBe(true);
    expect(Date.now() - killed).toBeLessThan(PATIENCE.lockMs + 2 * PATIENCE.stalledMs + 500);
  });

  it("hear each other on the wire", async () => {
    const own = await server();
    const both = await Promise.all([spawned(own), spawned(own)]);
    both[0].child.send({ say: { stop: 12 } });
    for (const { told } of both)
      await expect.poll(() => told.flatMap(({ heard }) => heard ?? [])).toEqual([{ stop: 12 }]);
  });

  it.each(["is there", "is away"])("end by themselves once all is closed, while Redis %s", async (where) => {
    const own = await server();
    const { child, told } = await spawned(own);
    child.send({ wake: ["a"] });
    await expect.poll(() => told.some(({ ended }) => ended === "a")).toBe(true);
    if (where === "is away") await own.kill();
    const exited = once(child, "exit");
    child.send({ close: true });
    expect(await exited).toEqual([0, null]);
  });
});
