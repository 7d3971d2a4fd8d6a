import { cpus, loadavg } from "node:os";
import { systemClock } from "../src/core/clock.ts";
import type { Dispatcher, MakeDispatcher } from "../src/core/dispatcher.ts";
import { bullmq } from "../src/dispatch/bullmq.ts";
import { inProcess } from "../src/dispatch/in-process.ts";
import { Redis } from "../src/dispatch/redis.ts";
import { memoryLog } from "../test/support/channel-host.ts";
import { ownRedis } from "../test/support/redis.ts";
import { median, quantile, type Row, table } from "./figures.ts";

const small = process.env["PERCH_BENCH"] === "small";
const KEYS = small ? 500 : 5_000;
const SINGLE = small ? 100 : 1_000;
const TOUCHES = 40;
const CONCURRENCY = 50;
const ROUNDS = small ? 1 : 3;

const log = memoryLog([]);
const server = await ownRedis();
const redis = new Redis({ url: server.url, prefix: server.prefix, clock: systemClock, log });
try {
  await redis.connection.connect();
  console.log(
    `Wake-ups until work begins, in process (floor) and on BullMQ; Node ${process.version}, ${cpus().length} cores, ` +
      `load ${loadavg()[0]?.toFixed(1)}${small ? "; the short run, whose figures are rough" : ""}\n`,
  );
  const here = await measured(inProcess);
  const there = await measured(bullmq(redis));
  const rows: readonly Row[] = [
    { what: `${KEYS} keys, each once`, unit: "keys/s", floor: here.perSecond, perch: there.perSecond },
    {
      what: "one key alone, p50",
      unit: "µs",
      floor: 1_000 * median(here.single),
      perch: 1_000 * median(there.single),
    },
    {
      what: "p95",
      unit: "µs",
      floor: 1_000 * quantile(here.single, 0.95),
      perch: 1_000 * quantile(there.single, 0.95),
    },
    { what: "scripts in Redis a key", unit: "", perch: there.scripts / SINGLE },
    { what: `${TOUCHES} touches of a key that sleeps`, unit: "scripts", perch: there.touchScripts },
    { what: "keys that are left in Redis", unit: "", perch: (await server.keys()).length },
  ];
  console.log(table(rows));
} finally {
  redis.close();
  await server.close();
}

async function measured(make: MakeDispatcher) {
  let began = (_key: string): void => {};
  const run = async (key: string): Promise<void> => began(key);
  const dispatcher = make({ turn: { concurrency: CONCURRENCY, run } }, systemClock, log);
  const whenBegun = (count: number): Promise<void> =>
    new Promise((resolve) => {
      let left = count;
      began = () => void ((left -= 1) === 0 && resolve());
    });
  await once(dispatcher, whenBegun, 100); // warm
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await once(dispatcher, whenBegun, KEYS));
  await server.run("CONFIG", "RESETSTAT");
  const single: number[] = [];
  for (let count = 0; count < SINGLE; count += 1) single.push(await once(dispatcher, whenBegun, 1));
  const scripts = await scriptsRun();
  await server.run("CONFIG", "RESETSTAT");
  const touched = whenBegun(1);
  const at = systemClock.now() + 400;
  for (let count = 0; count < TOUCHES; count += 1) {
    dispatcher.wake("turn", "touched", at + count);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await touched;
  const touchScripts = await scriptsRun();
  await dispatcher.close();
  return { perSecond: (KEYS * 1_000) / median(rounds), single, scripts, touchScripts };
}

/** How long it takes until work on so many keys has begun, in ms. */
async function once(
  dispatcher: Dispatcher,
  whenBegun: (count: number) => Promise<void>,
  keys: number,
): Promise<number> {
  const at = performance.now();
  const begun = whenBegun(keys);
  for (let key = 0; key < keys; key += 1) dispatcher.wake("turn", String(key), systemClock.now());
  await begun;
  return performance.now() - at;
}

async function scriptsRun(): Promise<number> {
  const stats = String(await server.run("INFO", "commandstats"));
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}
