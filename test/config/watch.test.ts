import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";

import type { Clock } from "../../src/core/clock.ts";
import type { LoadResult } from "../../src/config/load.ts";
import { changedChannels, watchConfig } from "../../src/config/watch.ts";
import { configOf, HELPER, loadYaml, place, TOKEN } from "./support.ts";

const WEB = "channels: { web: { kind: web } }\n";

/** A clock on which the quiet time passes as soon as the machine has handed over what it has. */
const eager: Clock = {
  now: () => 0,
  after(_ms, call) {
    const immediate = setImmediate(call);
    return { cancel: () => clearImmediate(immediate) };
  },
};

function isEmpty(result: LoadResult): boolean {
  return !result.ok && result.faults.some((fault) => fault.problem === "the folder holds no agents");
}

async function setUp() {
  const there = await place({ "config/perch.yaml": WEB, "config/agents/helper.md": HELPER });
  const { files } = configOf(await there.load());
  const results: LoadResult[] = [];
  const waiting: (() => void)[] = [];
  const watch = watchConfig({
    files,
    load: () => there.load(),
    clock: eager,
    onChange(result) {
      results.push(result);
      for (const wake of waiting.splice(0)) wake();
    },
  });
  onTestFinished(() => watch.close());
  /** Whether a result is as asked for, now or later; the test's own time limit ends a wait in vain. */
  async function until(asked: (result: LoadResult) => boolean): Promise<boolean> {
    while (!results.some(asked)) await new Promise<void>((resolve) => waiting.push(resolve));
    return true;
  }
  return { there, until };
}

describe("watchConfig", () => {
  it("hands on a changed perch.yaml", async () => {
    const { there, until } = await setUp();
    await there.write({ "config/perch.yaml": `${WEB}http: { port: 8080 }\n` });
    expect(await until((result) => result.ok && result.config.http.port === 8080)).toBe(true);
  });

  it("notices a file that an editor puts in the old one's place, time and again", async () => {
    const { there, until } = await setUp();
    for (const port of [8081, 8082]) {
      await there.write({ "config/.perch.yaml.new": `${WEB}http: { port: ${port} }\n` });
      await rename(join(there.folder, "config/.perch.yaml.new"), join(there.folder, "config/perch.yaml"));
      expect(await until((result) => result.ok && result.config.http.port === port)).toBe(true);
    }
  });

  it("notices a .env that was not there before", async () => {
    const { there, until } = await setUp();
    await there.write({ "config/perch.yaml": `${WEB}http: { port: '\${PORT:-1}' }\n` });
    expect(await until((result) => result.ok && result.config.http.port === 1)).toBe(true);
    await there.write({ ".env": "PORT=2\n" });
    expect(await until((result) => result.ok && result.config.http.port === 2)).toBe(true);
  });

  it("notices agents that come, change and go", async () => {
    const { there, until } = await setUp();
    await there.write({ "config/agents/coder.md": "You code." });
    expect(
      await until((result) => result.ok && result.config.rules.agents.get("coder")?.prompt === "You code."),
    ).toBe(true);
    await there.write({ "config/agents/coder.md": "You code well." });
    expect(
      await until(
        (result) => result.ok && result.config.rules.agents.get("coder")?.prompt === "You code well.",
      ),
    ).toBe(true);
    await rm(join(there.folder, "config/agents"), { recursive: true });
    expect(await until((result) => !result.ok)).toBe(true);
    await mkdir(join(there.folder, "config/agents"));
    expect(await until(isEmpty)).toBe(true);
    await there.write({ "config/agents/helper.md": "You are back." });
    expect(
      await until(
        (result) => result.ok && result.config.rules.agents.get("helper")?.prompt === "You are back.",
      ),
    ).toBe(true);
  });

  it("hands on the faults of a broken file, and what comes after it is mended", async () => {
    const { there, until } = await setUp();
    await there.write({ "config/perch.yaml": "channels: [\n" });
    expect(await until((result) => !result.ok)).toBe(true);
    await there.write({ "config/perch.yaml": `${WEB}http: { port: 9 }\n` });
    expect(await until((result) => result.ok && result.config.http.port === 9)).toBe(true);
  });

  it("waits until the file has been quiet", async () => {
    const there = await place({ "config/perch.yaml": WEB, "config/agents/helper.md": HELPER });
    const { files } = configOf(await there.load());
    let loads = 0;
    const firstWait = await new Promise<number>((resolve, reject) => {
      const watch = watchConfig({
        files,
        load() {
          loads++;
          return there.load();
        },
        clock: {
          now: () => 0,
          after(ms) {
            resolve(ms);
            return { cancel: () => {} };
          },
        },
        onChange: () => {},
      });
      onTestFinished(() => watch.close());
      there.write({ "config/perch.yaml": WEB }).catch(reject);
    });
    expect(firstWait).toBe(200);
    expect(loads).toBe(0);
  });
});

describe("changedChannels", () => {
  const base = "channels:\n  web: { kind: web }\n";
  const bot = "  bot: { kind: telegram, token: '${T}', owner: '1' }\n";

  it.each([
    ["nothing", base, base, { added: [], removed: [], changed: [] }],
    ["one more", base, base + bot, { added: ["bot"], removed: [], changed: [] }],
    ["one less", base + bot, base, { added: [], removed: ["bot"], changed: [] }],
    [
      "another kind",
      base,
      base.replace("kind: web", "kind: twin"),
      { added: [], removed: [], changed: ["web"] },
    ],
    [
      "a setting",
      base + bot,
      base + bot.replace("owner: '1'", "pollSeconds: 5"),
      { added: [], removed: [], changed: ["bot"] },
    ],
    [
      "rules alone",
      base + bot,
      base + bot.replace("owner: '1'", "owner: '2', strangers: polite"),
      { added: [], removed: [], changed: [] },
    ],
    [
      "commands, which the platform lists",
      base + bot,
      base + bot.replace("owner: '1'", "owner: '1', commands: { weather: Rain or sun }"),
      { added: [], removed: [], changed: ["bot"] },
    ],
    [
      "who may be let in, which makes a command",
      base + bot,
      base + bot.replace("owner: '1'", "owner: '1', strangers: pair"),
      { added: [], removed: [], changed: ["bot"] },
    ],
    [
      "a channel going off",
      base + bot,
      base + bot.replace("${T}", "${NONE}"),
      { added: [], removed: ["bot"], changed: [] },
    ],
  ])("tells %s", async (_name, before, after, expected) => {
    const env = { T: TOKEN };
    expect(
      changedChannels(configOf(await loadYaml(before, { env })), configOf(await loadYaml(after, { env }))),
    ).toEqual(expected);
  });
});
