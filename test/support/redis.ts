import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "redis";
import { freePort } from "./postgres.ts";

// A server for tests alone: keys are made and removed in it.
const SHARED = "redis://127.0.0.1:6379";

const hasServer = spawnSync("redis-server", ["--version"]).status === 0;
const hasShared = hasServer ? false : await answers(SHARED);

if (!hasServer) {
  const where = hasShared ? `; what can be run on ${SHARED} is` : `, and nothing answers at ${SHARED}`;
  if (process.env["PERCH_TESTS_COMPLETE"])
    throw new Error(`no redis-server is on the PATH, and a complete run needs one${where}`);
  console.warn(`No redis-server is on the PATH: the dispatcher of many processes is not tested${where}.`);
}

/** What is asked of a suite that needs Redis: `describe.skipIf(NO_REDIS)`. */
export const NO_REDIS = !hasServer && !hasShared;

/** The same for one that ends it or empties it. */
export const NO_OWN_REDIS = !hasServer;

/** A Redis that answers, with a prefix that nobody else uses. */
export type TestRedis = {
  readonly url: string;
  readonly prefix: string;
  /** Keys of the prefix, sorted. */
  keys(): Promise<readonly string[]>;
  /** One command, as redis-cli takes it. */
  run(...words: string[]): Promise<unknown>;
  close(): Promise<void>;
};

/** A server of one's own, which keeps nothing when it ends. */
export type OwnRedis = TestRedis & {
  kill(): Promise<void>;
  /** On the same port, empty. */
  start(): Promise<void>;
};

/** A server of one's own where there can be one, else the machine's. */
export async function startRedis(): Promise<TestRedis> {
  return hasServer ? await ownRedis() : await asked(SHARED);
}

export async function ownRedis(): Promise<OwnRedis> {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), "perch-redis-"));
  let child = await started(port, folder);
  const redis = await asked(`redis://127.0.0.1:${port}`);
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  return {
    ...redis,
    kill,
    async start() {
      child = await started(port, folder);
    },
    async close() {
      await redis.close();
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function started(port: number, folder: string) {
  const options = ["--port", String(port), "--dir", folder, "--save", "", "--appendonly", "no"];
  const child = spawn("redis-server", [...options, "--bind", "127.0.0.1"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  child.stdout.setEncoding("utf8");
  for await (const text of child.stdout as AsyncIterable<string>)
    if (text.includes("Ready to accept connections")) break;
  child.stdout.resume();
  return child;
}

async function asked(url: string): Promise<TestRedis> {
  const prefix = `test-${randomBytes(6).toString("hex")}`;
  const client = createClient({ url, socket: { reconnectStrategy: () => 20 } });
  client.on("error", () => {}); // it is ended on purpose
  await client.connect();
  const keys = async (): Promise<readonly string[]> => (await client.keys(`${prefix}:*`)).toSorted();
  return {
    url,
    prefix,
    keys,
    run: (...words) => client.sendCommand(words),
    async close() {
      if (client.isReady) for (const key of await keys()) await client.del(key);
      client.destroy();
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const client = createClient({ url, socket: { reconnectStrategy: false, connectTimeout: 1_000 } });
  client.on("error", () => {}); // what is thrown below says it
  try {
    await client.connect();
    client.destroy();
    return true;
  } catch {
    return false;
  }
}
