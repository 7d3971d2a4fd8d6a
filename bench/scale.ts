import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pause, systemClock } from "../src/core/clock.ts";
import { type PostgresServer, startPostgres } from "../test/support/postgres.ts";
import { type OwnRedis, ownRedis } from "../test/support/redis.ts";
import { columns, figure, quantile } from "./figures.ts";
import type { World } from "./measured.ts";
import { cpuMs, residentMb } from "./proc.ts";
import { Stage, WINDOW_MS } from "./stage.ts";

// Turns a second with 1, 2 and 4 workers, and what a cluster adds to the time of an answer, beside one process alone.

const small = process.env["PERCH_BENCH"] === "small";
const SIZE = small ? { warmUp: 20, near: 10, loop: 100 } : { warmUp: 50, near: 30, loop: 400 };
const CHATS = 150;
const THINK_MS = 500;
const WORKERS = [1, 2, 4] as const;

const MAIN = join(import.meta.dirname, "../../src/main.js");

type Servers = { readonly redis: OwnRedis; readonly postgres: PostgresServer };

/** Processes of one Perch, read through /proc. */
class Processes {
  readonly #children: readonly ChildProcess[];

  constructor(children: readonly ChildProcess[]) {
    this.#children = children;
  }

  cpuMs(): readonly number[] {
    return this.#pids.map(cpuMs);
  }

  memory(): readonly number[] {
    return this.#pids.map(residentMb);
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        const ended = once(child, "exit");
        child.kill("SIGTERM");
        await ended;
      }),
    );
  }

  get #pids(): readonly number[] {
    return this.#children.map(({ pid }) => pid ?? NaN); // they were started
  }
}

const stage = new Stage();
const servers: Servers = { redis: await ownRedis(), postgres: await startPostgres() };
try {
  console.log(
    `One process and several; ${stage.machine()}${small ? "; the short run, whose figures are rough" : ""}\n`,
  );
  await stage.model.ask("think", { ms: THINK_MS });
  const rows = [await measure("one process, SQLite", [])];
  for (const workers of WORKERS)
    rows.push(
      await measure(`channels + ${workers} ${workers === 1 ? "worker" : "workers"}`, rolesOf(workers)),
    );
  const [alone] = rows;
  const head = [
    "",
    "turns/s",
    "CPU ms a turn",
    "of it channels",
    "MB in all",
    "added p50 ms",
    "added p95 ms",
    "p50 ÷ one",
  ];
  const cells = rows.map((row) => [
    row.what,
    figure(row.perSecond),
    figure(row.cpuMs),
    row.channelsMs === undefined ? "" : figure(row.channelsMs),
    figure(row.memory),
    figure(row.p50),
    figure(row.p95),
    figure(row.p50 / (alone?.p50 ?? NaN)),
  ]);
  console.log(`${columns([head, ...cells], [1, 2, 3, 4, 5, 6, 7])}\n`);
  console.log(
    `${CHATS} chats, each writes again when it is answered, ${SIZE.loop} turns; the model takes ${THINK_MS} ms. Telegram, the model, Redis and
  PostgreSQL run on the same machine and are not counted. CPU: user and system time of Perch's processes (/proc).
Added: from the moment Telegram's answer with the message is written to the moment the request to send the answer has
  arrived there, without the model's own time and the window of ${WINDOW_MS} ms; one message at a time, ${SIZE.near} of each.`,
  );
} finally {
  stage.end();
  await servers.redis.close();
  await servers.postgres.remove();
}

function rolesOf(workers: number): readonly string[] {
  return ["channels", ...Array.from({ length: workers }, () => "workers")];
}

/** One Perch from its start to its end; without roles it is one process. */
async function measure(what: string, roles: readonly string[]) {
  const world = await stage.openWorld(CHATS);
  const home = join(stage.folder, what.replaceAll(/\W+/g, "-"));
  // Each begins with nothing: a schema and a prefix of its own.
  writeConfig(
    home,
    world,
    roles.length > 0 ? `b${home.replaceAll(/\W+/g, "").slice(-30).toLowerCase()}` : undefined,
  );
  const processes = await start(home, world, roles);
  await world.telegram.ask("loop", { chats: CHATS, messages: SIZE.warmUp });
  const added: number[] = [];
  await stage.model.ask("took");
  for (let n = 0; n < SIZE.near; n += 1) {
    const { answerMs } = await world.telegram.ask("say", { chat: n % CHATS });
    added.push(answerMs - (await stage.model.ask("took")) - WINDOW_MS);
  }
  const before = processes.cpuMs();
  const perSecond = SIZE.loop / (await world.telegram.ask("loop", { chats: CHATS, messages: SIZE.loop }));
  const spent = processes.cpuMs().map((ms, place) => (ms - (before[place] ?? 0)) / SIZE.loop);
  const memory = processes.memory();
  await processes.stop();
  return {
    what,
    perSecond,
    cpuMs: sum(spent),
    channelsMs: roles.length > 0 ? spent[0] : undefined,
    memory: sum(memory),
    p50: quantile(added, 0.5),
    p95: quantile(added, 0.95),
  };
}

async function start(
  home: string,
  { token, apiRoot, modelUrl }: World,
  roles: readonly string[],
): Promise<Processes> {
  const children: ChildProcess[] = [];
  for (const [place, role] of (roles.length > 0 ? roles : ["all"]).entries()) {
    const logFile = join(home, `${place}.log`);
    const output = openSync(logFile, "a");
    const args = [
      "start",
      "--config",
      join(home, "perch.yaml"),
      ...(roles.length > 0 ? ["--role", role] : []),
    ];
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd: home,
      env: {
        TOKEN: token,
        API_ROOT: apiRoot,
        MODEL_URL: modelUrl,
        KEY: "none",
        PATH: process.env["PATH"],
        HOME: home,
      },
      stdio: ["ignore", output, output],
    });
    children.push(child);
    while (!readFileSync(logFile, "utf8").includes("Perch is ready")) {
      if (child.exitCode !== null)
        throw new Error(`it ended by itself:\n${readFileSync(logFile, "utf8").slice(-2_000)}`);
      await pause(systemClock, 50);
    }
  }
  return new Processes(children);
}

function writeConfig(home: string, { apiRoot, modelUrl, people }: World, name: string | undefined): void {
  mkdirSync(join(home, "agents"), { recursive: true });
  const several = `store: { url: "${servers.postgres.url}?schema=${name}" }
cluster: { redis: "${servers.redis.url}", prefix: "${name}" }
`;
  writeFileSync(
    join(home, "perch.yaml"),
    `channels:
  bench: { kind: telegram, token: "\${TOKEN}", apiRoot: "${apiRoot}", owner: "${people[0]}", allow: ${JSON.stringify(people.map(String))}, agent: helper, live: off }
data: { folder: data }
turns: { concurrent: 100 }
http: { port: 0 }
${name === undefined ? "" : several}`,
  );
  writeFileSync(
    join(home, "agents/helper.md"),
    `---\nmodel: openai:test\nbaseUrl: ${modelUrl}\napiKey: \${KEY}\n---\n\nAnswer briefly.\n`,
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
