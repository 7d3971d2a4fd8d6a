import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { pair } from "../../src/cli/pair.ts";
import { people } from "../../src/cli/people.ts";
import { lockFolder } from "../../src/store/lock.ts";
import { memoryLog } from "../support/channel-host.ts";
import { manualClock } from "../support/clock.ts";
import { testGateway } from "../support/gateway.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** A gateway that runs and holds its data folder, and a terminal beside it. */
async function setUp() {
  const clock = manualClock();
  const folder = await mkdtemp(join(tmpdir(), "perch-pair-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, "config/agents"), { recursive: true });
  await writeFile(join(folder, "config/agents/helper.md"), "---\nmodel: demo\n---\nBe brief.\n");
  await writeFile(
    join(folder, "config/perch.yaml"),
    "channels: { web: { kind: web } }\ndata: { folder: ../data }\n",
  );
  const gateway = await testGateway({ clock, folder: join(folder, "data"), rules: { strangers: "pair" } });
  const lock = lockFolder(join(folder, "data"), clock.now());
  cleanups.push(async () => {
    lock.release();
    await gateway.close();
  });
  const terminal =
    (command: typeof pair) =>
    async (
      ...words: readonly string[]
    ): Promise<{ readonly code: number; readonly lines: readonly string[] }> => {
      const lines: string[] = [];
      const print = (line: string): void => void lines.push(line);
      const log = memoryLog([]);
      const stop = new AbortController().signal;
      const options = { folder, env: {}, print, clock, log, stop, terminal: false };
      return { code: await command(options, words), lines };
    };
  return { ...gateway, clock, pair: terminal(pair), people: terminal(people) };
}

const EVE = { from: { id: "700100009", name: "Eve" } };

it("lists who asks and lets them in by their code while the gateway runs, which tells them", async () => {
  const at = await setUp();
  expect(await at.pair()).toEqual({ code: 0, lines: ["Nobody asks to be let in."] });
  await at.platform.say("c1", "hello", EVE);
  await at.clock.advance(72_000);
  const [, code = ""] = /: (\S{8})$/.exec(at.platform.textsIn("c1")[0] ?? "") ?? [];
  expect(await at.pair()).toEqual({
    code: 0,
    lines: [
      "toy 700100009 has asked for 1 min 12 s",
      "perch pair <channel> <code> lets in whoever was given that code.",
    ],
  });
  expect((await at.pair("web")).lines).toEqual(["Nobody asks to be let in."]);
  const elsewhere = await at.pair("web", code);
  expect(elsewhere).toEqual({
    code: 1,
    lines: ["Nobody in web was given that code within the last hour; perch pair lists who asks."],
  });
  expect(await at.pair("toy", code.toLowerCase())).toEqual({
    code: 0,
    lines: ["toy 700100009 is let in; the gateway tells them when it runs."],
  });
  expect((await at.pair("toy", code)).code).toBe(1);
  expect((await at.people()).lines[0]).toMatch(/^toy 700100009 allowed, by perch pair, \d{4}-/);
  await at.clock.advance(30_000);
  await at.platform.say("c1", "and now?", EVE);
  await at.clock.advance(300);
  expect(at.platform.textsIn("c1").slice(1)).toEqual([
    "You have been let in. Send me something.",
    "heard: and now?",
  ]);
  expect(JSON.stringify(at.logged)).not.toContain(code);
});
