import { afterEach, describe, expect, it } from "vitest";
import { check } from "../../src/cli/check.ts";
import { warnOfFaults } from "../../src/cli/live.ts";
import { kinds } from "../../src/cli/kinds.ts";
import { loadConfig } from "../../src/config/load.ts";
import { systemClock } from "../../src/core/clock.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import { operatorFolder, spawnPerch } from "../support/perch-process.ts";
import { startTelegram, type TelegramEmulator } from "../support/telegram/emulator.ts";

const GROUP = -1_002_000_000_001;

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

type World = {
  readonly telegram: TelegramEmulator;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
};

/** A bot in a group, in privacy mode, and what the operator says of it in the keys of the channel. */
async function setUp(channel: string): Promise<World> {
  const telegram = await startTelegram({ privacy: "on" });
  cleanups.push(() => telegram.close());
  telegram.supergroup({ id: GROUP, title: "Birds" });
  const folder = await operatorFolder({
    "config/agents/helper.md": "---\nmodel: demo\n---\nBe brief.\n",
    "config/perch.yaml": `
channels:
  web: { kind: web }
  family: { kind: telegram, token: "\${TOKEN}", apiRoot: "${telegram.apiRoot}", ${channel} }
  club: { kind: telegram, token: "\${NOT_SET}" }
`,
  });
  cleanups.push(folder.remove);
  return { telegram, folder: folder.path, env: { TOKEN: telegram.token } };
}

async function checked(
  { folder, env }: World,
  live: boolean,
): Promise<{ code: number; lines: readonly string[] }> {
  const lines: string[] = [];
  const print = (line: string): void => void lines.push(line);
  const code = await check({ folder, env, print, clock: systemClock, live });
  return { code, lines };
}

const NEEDS_ALL = new RegExp(
  `^  fault: in chat ${GROUP} it needs all messages, .*; send /setprivacy to @BotFather`,
);

describe("perch check --live", () => {
  it("asks each connection that is not off, after all else, and ends with 0 where all is well", async () => {
    const world = await setUp(`chats: { "${GROUP}": { when: addressed } }`);
    const { lines } = await checked(world, false);
    expect(world.telegram.calls).toEqual([]);
    expect(await checked(world, true)).toEqual({
      code: 0,
      lines: [
        ...lines,
        "",
        "family (telegram), asked now",
        "  it is Fernbot (@fern_demo_bot); in groups it sees what is meant for it, unless it is an administrator",
      ],
    });
  });

  it.each([
    ["answers all of it", `chats: { "${GROUP}": { when: all } }`],
    ["answers all of one topic", `chats: { "${GROUP}": { when: none, topics: { "7": { when: all } } } }`],
    ["is shown what was not for it", `chats: { "${GROUP}": { context: 5 } }`],
    ["is shown that everywhere", `context: 5, chats: { "${GROUP}": {} }`],
    ["is called by its name", `names: [fern], chats: { "${GROUP}": {} }`],
  ])("tells with 1 that privacy mode hides from the agent a group where it %s", async (_what, channel) => {
    const { code, lines } = await checked(await setUp(channel), true);
    expect([code, lines.at(-1)]).toEqual([1, expect.stringMatching(NEEDS_ALL)]);
  });

  it("asks for no more where the agent is silent anyway", async () => {
    const world = await setUp(`context: 5, names: [fern], chats: { "${GROUP}": { when: none } }`);
    expect((await checked(world, true)).code).toBe(0);
  });

  it("is what the command of that name does", async () => {
    const { folder, env } = await setUp(`chats: { "${GROUP}": { when: all } }`);
    const { ended, output } = spawnPerch({ folder, env, args: ["check", "--live"] });
    expect(await ended).toBe(1);
    expect(output().trimEnd().split("\n").at(-1)).toMatch(NEEDS_ALL);
  });

  it("does not ask while the configuration has faults", async () => {
    const world = await setUp("alow: []");
    expect((await checked(world, true)).code).toBe(2);
    expect(world.telegram.calls).toEqual([]);
  });
});

describe("at the start", () => {
  async function warned(channel: string): Promise<{ lines: readonly LoggedLine[]; asked: number }> {
    const { telegram, folder, env } = await setUp(channel);
    const loaded = await loadConfig({ folder, env, kinds });
    if (!loaded.ok) throw new Error("the configuration has faults");
    const lines: LoggedLine[] = [];
    await warnOfFaults(loaded.config, systemClock, memoryLog(lines));
    return { lines, asked: telegram.calls.length };
  }

  it("complaint 59: warns of the same for connections with rules for chats, and asks for no others", async () => {
    expect(await warned("owner: '1'")).toEqual({ lines: [], asked: 0 });
    const { lines } = await warned(`chats: { "${GROUP}": { when: all } }`);
    expect(lines).toMatchObject([
      {
        level: "warn",
        fields: { channel: "family", remedy: expect.stringContaining("/setprivacy") },
        sentence: expect.stringContaining("it needs all messages"),
      },
    ]);
  });
});
