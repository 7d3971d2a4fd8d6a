import { rm } from "node:fs/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { AgentDefinition, AgentDesk } from "../../src/core/agent.ts";
import { systemClock } from "../../src/core/clock.ts";
import { say } from "../../src/core/sentences.ts";
import { compactedWords } from "../../src/turns/compacted.ts";
import { realAgents } from "../support/agents.ts";
import { manualClock } from "../support/clock.ts";
import { AGENT, testGateway, type TestGateway } from "../support/gateway.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { ModelServer, Reply } from "../support/models/server.ts";
import { ToyPlatform } from "../support/toy-channel.ts";
import { asksForSummary, summing } from "../agent/window/thread-server.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

type World = TestGateway & {
  readonly server: ModelServer;
  readonly agent: AgentDefinition;
  /** Says something and gives what is answered to it. */
  readonly ask: (text: string) => Promise<string>;
  readonly talk: (turns: number) => Promise<void>;
};

/** A gateway with a real agent on its own database; `around` may change what the runner does. */
async function setUp(
  options: {
    readonly reply?: Reply;
    readonly folder?: string;
    readonly platform?: ToyPlatform;
    readonly server?: ModelServer;
    readonly around?: (runner: AgentDesk) => AgentDesk;
  } = {},
): Promise<World> {
  const server =
    options.server ??
    (await startOpenAi({ otherwise: options.reply ?? summing("They spoke of birds.", "A bird.") }));
  if (!options.server) ends.push(() => server.close());
  const agent: AgentDefinition = {
    ...AGENT,
    prompt: "You help.",
    model: { provider: "openai", name: "local", baseUrl: server.url, apiKey: "k" },
    price: { input: 2, output: 10 },
    limits: { ...AGENT.limits, messages: 400, contextTokens: 4_000 },
  };
  const platform = options.platform ?? new ToyPlatform();
  const test = await testGateway({
    clock: systemClock,
    platform,
    agents: [agent],
    ...(options.folder === undefined ? {} : { folder: options.folder }),
    runner: (database, blobs) => {
      const runner = realAgents()(database, blobs);
      return options.around?.(runner) ?? runner;
    },
  });
  const ask = async (text: string): Promise<string> => {
    const before = platform.shown.length;
    const sentAt = new Date(systemClock.now()).toISOString();
    await platform.say("c1", text, { whole: true, sentAt });
    const shown = await platform.until(({ length }) => length > before);
    return shown[before]?.text ?? "";
  };
  return {
    ...test,
    server,
    agent,
    ask,
    async talk(turns) {
      for (let n = 1; n <= turns; n += 1)
        expect(await ask(`Question ${n}: ${"word ".repeat(60)}`)).toBe("A bird.");
    },
  };
}

const summaries = ({ server }: World): number =>
  server.requests.filter(({ body }) => asksForSummary(body)).length;

describe("/compact", () => {
  it("sums the thread up in the chat's lane and tells both sizes, the guessed one as a guess", async () => {
    const world = await setUp();
    ends.push(() => world.close());
    await world.talk(20);
    expect(summaries(world)).toBe(0);
    expect(await world.ask("/compact")).toMatch(/^Summed up: \d,\d{3} tokens before, about \d{2,3} now\.$/);
    expect(summaries(world)).toBe(1);
    await world.talk(1);
    const last = JSON.stringify(world.server.requests.at(-1)?.body);
    expect(last).toContain("They spoke of birds.");
    expect(last).not.toContain("Question 2:");
    const turns = await world.database.db.selectFrom("turn").select(["state", "error"]).execute();
    expect(turns).toHaveLength(22);
    expect(new Set(turns.map(({ state }) => state))).toEqual(new Set(["done"]));
  });

  it("says so where there is too little to sum up", async () => {
    const world = await setUp();
    ends.push(() => world.close());
    await world.talk(2);
    expect(await world.ask("/compact")).toMatch(/^There is too little to sum up yet: \d+ of 4,000 tokens\.$/);
    expect(summaries(world)).toBe(0);
  });

  it("tells that the model did not answer, and leaves the thread as it is", async () => {
    const world = await setUp({
      reply: summing({ fault: "status", status: 401 }, "A bird."),
    });
    ends.push(() => world.close());
    await world.talk(20);
    expect(await world.ask("/compact")).toBe(say("turn.model_key"));
    expect(await world.ask("Once more")).toBe("A bird.");
    expect(JSON.stringify(world.server.requests.at(-1)?.body)).toContain("Question 1:");
  });

  it("is told once, with the same sizes, where the process ends between the summary and its telling", async () => {
    const told: string[] = [];
    let reached = (): void => {};
    const done = new Promise<void>((resolve) => (reached = resolve));
    const first = await setUp({
      around: (runner) => ({
        ...runner,
        async compact(turn, signal) {
          told.push(compactedWords(await runner.compact(turn, signal), "en"));
          reached();
          return await new Promise(() => {}); // the process ends here
        },
      }),
    });
    const { folder, platform, server } = first;
    ends.push(() => rm(folder, { recursive: true, force: true }));
    await first.talk(20);
    const shown = platform.shown.length;
    await platform.say("c1", "/compact", { sentAt: new Date(systemClock.now()).toISOString() });
    await done;
    await first.kill();
    const second = await setUp({ folder, platform, server });
    ends.push(() => second.close());
    const [answer] = (await platform.until(({ length }) => length > shown)).slice(shown);
    expect(told).toEqual([answer?.text]);
    expect(summaries(second)).toBe(1);
    expect(await second.ask("And now?")).toBe("A bird.");
    expect(platform.shown).toHaveLength(shown + 2);
  });

  it("is done after what was said before it, and nothing joins it", async () => {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => (open = resolve));
    const world = await setUp({
      around: (runner) => ({
        ...runner,
        async run(turn, signal) {
          if (JSON.stringify(turn.content).includes("slow")) await gate;
          return await runner.run(turn, signal);
        },
      }),
    });
    ends.push(() => world.close());
    const sentAt = new Date(systemClock.now()).toISOString();
    await world.platform.say("c1", "slow", { whole: true, sentAt });
    await world.platform.say("c1", "/compact", { sentAt });
    await world.platform.say("c1", "after", { whole: true, sentAt });
    const rows = await world.database.db
      .selectFrom("inbox")
      .select(["task", "state", "intent"])
      .orderBy("id")
      .execute();
    expect(rows.map(({ task }) => task)).toEqual(["", "compact", ""]);
    expect(new Set(rows.map(({ intent }) => intent)).size).toBe(3);
    open();
    const shown = await world.platform.until(({ length }) => length >= 3);
    expect(shown.map(({ text }) => text)).toEqual([
      "A bird.",
      expect.stringContaining("too little"),
      "A bird.",
    ]);
  });
});

describe("/context", () => {
  it("tells at once what is known of the thread, and what was spent on it", async () => {
    const world = await setUp();
    ends.push(() => world.close());
    expect(await world.ask("/context")).toBe("Nothing has been answered in this thread yet.");
    await world.talk(3);
    expect(await world.ask("/context")).toMatch(
      new RegExp(
        [
          "^Thread: Question 1: word word .*",
          "Messages: 6",
          "Tokens: \\d{3} of 4,000 \\(\\d+ %\\)",
          "Last turn: \\d{3} tokens read, 2 written, cost 0\\.\\d{6}",
          "This thread so far: \\d{3,4} tokens read, 6 written, cost 0\\.\\d{6}$",
        ].join("\\n"),
      ),
    );
    expect(await world.ask("/new")).toBe(say("thread.new"));
    expect(await world.ask("/context")).toBe("Nothing has been answered in this thread yet.");
  });

  it("says of a graph of the operator's that it knows nothing of its thread", async () => {
    const clock = manualClock();
    const world = await testGateway({ clock, agents: [{ ...AGENT, graph: "/nowhere/graph.js" }] });
    ends.push(() => world.close());
    const ask = async (text: string): Promise<string | undefined> => {
      await world.platform.say("c1", text);
      await clock.advance(5_000);
      return world.platform.textsIn("c1").at(-1);
    };
    expect(await ask("/context")).toBe(say("context.none"));
    await ask("hello");
    expect(await ask("/context")).toBe(say("context.own_graph"));
  });

  it("names a guess as one after a summary", async () => {
    const world = await setUp();
    ends.push(() => world.close());
    await world.talk(20);
    await world.ask("/compact");
    expect(await world.ask("/context")).toMatch(/Tokens: about \d{2,3} of 4,000/);
  });
});

describe("what a turn has used", () => {
  it("stands on its row, with its cost, also where it has failed", async () => {
    const world = await setUp({
      around: (runner) => ({
        ...runner,
        async run(turn, signal) {
          const answer = await runner.run(turn, signal);
          if (JSON.stringify(turn.content).includes("fail")) throw new Error("after the answer");
          return answer;
        },
      }),
    });
    ends.push(() => world.close());
    await world.talk(1);
    await world.ask("fail now");
    const rows = await world.database.db
      .selectFrom("turn")
      .select(["state", "input_tokens", "output_tokens", "cost_micros"])
      .orderBy("id")
      .execute();
    expect(rows.map(({ state }) => state)).toEqual(["done", "failed"]);
    for (const row of rows) {
      expect(row.input_tokens).toBeGreaterThan(10);
      expect(row.output_tokens).toBe(2);
      expect(row.cost_micros).toBe(row.input_tokens * 2 + 20);
    }
  });
});

it("says that an answer is waited for first, where one is", () => {
  const now = { messages: 34, tokens: 900, estimated: false, window: 2_000 };
  expect(compactedWords({ done: false, now, waits: true }, "en")).toBe(say("compact.waits", "en"));
});
