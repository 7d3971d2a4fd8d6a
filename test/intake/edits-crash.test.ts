import { afterEach, describe, expect, it } from "vitest";
import type { AgentRunner } from "../../src/core/agent.ts";
import { createAgentRunner } from "../../src/agent/runner.ts";
import { ThreadSaver } from "../../src/agent/threads.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { FileBlobs } from "../../src/store/blobs.ts";
import type { Database } from "../../src/store/database.ts";
import { threadStore } from "../../src/store/threads.ts";
import { manualClock, type ManualClock, settle } from "../support/clock.ts";
import { AGENT, testGateway, type TestGateway, type TestGatewayOptions, textOf } from "../support/gateway.ts";
import { memoryLog } from "../support/channel-host.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { ModelServer } from "../support/models/server.ts";
import { ToyPlatform } from "../support/toy-channel.ts";

type World = TestGateway & { readonly clock: ManualClock };

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function start(options: TestGatewayOptions): Promise<World> {
  const clock = manualClock();
  const gateway = await testGateway({ clock, ...options });
  return { ...gateway, clock };
}

/** The same after a restart, and to the end of the test. */
async function restart(options: TestGatewayOptions): Promise<World> {
  const at = await start(options);
  cleanups.push(at.close);
  return at;
}

const never = (): Promise<never> => new Promise(() => {});

describe("a process that ends while an edited message is answered", () => {
  it.each([
    ["tells of the edit with the next message", "note", ["seven", "thanks"]],
    ["answers the edit in the place of the first answer", "rerun", ["seven", "eight", "thanks"]],
  ] as const)("%s", async (_what, answered, wanted) => {
    const platform = new ToyPlatform();
    const rules = { edits: { running: "wait", answered } } as const;
    const first = await start({ platform, rules, answer: never });
    const message = await platform.say("c1", "seven", { whole: true });
    await settle();
    await platform.edit(message, "eight");
    await first.kill();
    const at = await restart({ platform, rules, folder: first.folder });
    await platform.repeat();
    await at.clock.advance(1_000);
    await platform.say("c1", "thanks", { whole: true });
    await at.clock.advance(1_000);
    expect(at.asked.map((turn) => textOf(turn).split(" ").at(-1))).toEqual(wanted);
    expect(textOf(at.asked[0]!)).toBe("seven");
    expect(at.asked.filter((turn) => textOf(turn).includes("eight"))).toHaveLength(1);
    expect(platform.shown).toHaveLength(2);
  });

  it("tells the next turn what the one before was told of in vain", async () => {
    const platform = new ToyPlatform();
    let answer: TestGatewayOptions["answer"] = (turn) => textOf(turn);
    const first = await start({ platform, answer: (turn, signal) => answer!(turn, signal) });
    const message = await platform.say("c1", "seven", { whole: true });
    await first.clock.advance(0);
    await platform.edit(message, "eight");
    answer = never;
    await platform.say("c1", "thanks", { whole: true });
    await settle();
    expect(textOf(first.asked[1]!)).toContain("> eight");
    await first.kill();
    const second = await start({ platform, folder: first.folder, answer: never });
    await settle();
    // A stop takes nothing from it either.
    const stopped = second.gateway.stop(0);
    await second.clock.advance(0);
    await stopped;
    await second.kill();
    const at = await restart({ platform, folder: first.folder });
    await at.clock.advance(0);
    expect(at.asked.map(textOf)).toEqual([textOf(first.asked[1]!)]);
    await platform.say("c1", "bye", { whole: true });
    await at.clock.advance(0);
    expect(at.asked.map(textOf).at(-1)).toBe("bye");
  });
});

describe("a process that ends while a running turn is corrected", () => {
  const rules = { edits: { running: "steer", answered: "rerun" } } as const;

  /** Real threads, and a model that takes two steps; `after` is called with an answer that is not committed yet. */
  const thinking =
    (after: () => Promise<void>) =>
    (database: Database, blobs: FileBlobs): AgentRunner => {
      const saver = async () => new ThreadSaver({ store: threadStore(database), blobs, mediaTurns: 3 });
      const runner = createAgentRunner({ blobs, saver, clock: systemClock, log: memoryLog([]) });
      return {
        ...runner,
        run: async (turn, signal) => {
          const answer = await runner.run(turn, signal);
          await after();
          return answer;
        },
      };
    };

  async function model(): Promise<{
    readonly server: ModelServer;
    readonly agents: TestGatewayOptions["agents"];
  }> {
    const server = await startOpenAi();
    cleanups.push(() => server.close());
    const choice = { provider: "openai", name: "test", baseUrl: server.url, apiKey: "none" };
    return { server, agents: [{ ...AGENT, choices: true, model: choice }] };
  }

  const step = { toolCalls: [{ name: "offer_choices", args: { choices: ["Yes", "No"] } }] };
  const timesIn = (server: ModelServer, words: string): number =>
    JSON.stringify(server.requests.at(-1)?.body).split(words).length - 1;

  it("does not tell again of what stands in the thread with the answer", async () => {
    const platform = new ToyPlatform();
    const { server, agents } = await model();
    server.reply(step, "Booked at eight.");
    let answered = (): void => {};
    const cut = new Promise<void>((resolve) => (answered = resolve));
    const first = await start({
      platform,
      rules,
      agents: agents!,
      runner: thinking(async () => {
        answered();
        await never();
      }),
    });
    let edited = false;
    server.on("request", async () => {
      if (edited) return;
      edited = true;
      await platform.edit(message, "at eight, please");
    });
    const message = await platform.say("c1", "Book a table at seven", { whole: true });
    await cut;
    expect(timesIn(server, "at eight, please")).toBe(1);
    await first.kill();

    const at = await restart({
      platform,
      rules,
      agents: agents!,
      folder: first.folder,
      runner: thinking(async () => {}),
    });
    await platform.until((shown) => shown.length >= 1);
    await at.clock.advance(60_000);
    expect(platform.textsIn("c1")).toEqual([expect.stringContaining("Booked at eight.")]);
    expect(server.requests).toHaveLength(2);
    server.reply("Bye.");
    await platform.say("c1", "thanks", { whole: true });
    await platform.until((shown) => shown.length >= 2);
    expect([timesIn(server, "at eight, please"), timesIn(server, "at seven")]).toEqual([1, 1]);
  });

  it("answers the edit afterwards where the answer never came", async () => {
    const platform = new ToyPlatform();
    const { server, agents } = await model();
    server.reply(step, { fault: "silence" }, "Booked at seven.", "Booked at eight.");
    const first = await start({ platform, rules, agents: agents!, runner: thinking(async () => {}) });
    let requests = 0;
    server.on("request", async () => {
      requests += 1;
      if (requests === 1) await platform.edit(message, "at eight, please");
    });
    const message = await platform.say("c1", "Book a table at seven", { whole: true });
    await expect.poll(() => requests).toBe(2);
    await first.kill();

    const at = await restart({
      platform,
      rules,
      agents: agents!,
      folder: first.folder,
      runner: thinking(async () => {}),
    });
    await platform.until((shown) => shown.length >= 1);
    await at.clock.advance(1_000);
    await platform.until((shown) => shown.some(({ text }) => text.includes("Booked at eight.")));
    expect(platform.textsIn("c1")).toEqual(["Booked at eight."]);
    expect(timesIn(server, "at eight, please")).toBe(1);
  });
});
