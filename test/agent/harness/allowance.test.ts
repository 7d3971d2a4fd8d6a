import { afterEach, describe, expect, it } from "vitest";
import type { Allowance } from "../../../src/core/budget.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { ModelUse } from "../../../src/core/usage.ts";
import { closeServers, type Served, served, type WireName } from "../model-servers.ts";
import { definition, failure, hurried, turn } from "../set-up.ts";

afterEach(closeServers);

const never = new AbortController().signal;

/** A budget of so many tokens, which keeps what was asked of it. */
function budgetOf(tokens: number, stops: (use: ModelUse) => boolean = () => true) {
  const asked: ModelUse[] = [];
  const settled: number[] = [];
  let used = 0;
  const allowance: Allowance = {
    async reserve(guess) {
      asked.push(guess);
      if (used >= tokens && stops(guess)) throw new GatewayError("budget.spent", "nothing is left");
      used += guess.inputTokens;
      return {
        async settle({ inputTokens, outputTokens }) {
          settled.push(inputTokens + outputTokens);
          used += inputTokens + outputTokens - guess.inputTokens;
        },
      };
    },
  };
  return { allowance, asked, settled, used: () => used };
}

type Budgeted = ReturnType<typeof budgetOf>;

async function ask(world: Served, { allowance }: Budgeted, said = "hello"): Promise<string> {
  return (await world.runner.run({ ...turn(world.agent, "1", said), allowance }, never)).markdown;
}

const todos = {
  toolCalls: [{ name: "write_todos", args: { todos: [{ content: "a", status: "completed" }] } }],
};

describe.each([
  "openai",
  "responses",
  "anthropic",
  "google",
  "ollama",
] as const satisfies readonly WireName[])("what may be used, over %s", (wire) => {
  it("is asked about each request before it is sent, and told what that took", async () => {
    const world = await served(wire, { todos: true });
    const budget = budgetOf(1_000_000);
    world.server.reply(todos, "done");
    expect(await ask(world, budget)).toBe("done");
    expect(world.server.requests).toHaveLength(2);
    expect(budget.asked).toHaveLength(2);
    expect(budget.asked.every(({ inputTokens }) => inputTokens > 10)).toBe(true);
    expect(budget.settled).toHaveLength(2);
    expect(budget.used()).toBe(budget.settled.reduce((sum, tokens) => sum + tokens, 0));
  });

  it("ends the turn before the first request once nothing is left", async () => {
    const world = await served(wire);
    await expect(ask(world, budgetOf(0))).rejects.toMatchObject({ code: "budget.spent" });
    expect(world.server.requests).toEqual([]);
  });

  it("ends it before the next request where the last one has used it up", async () => {
    const world = await served(wire, { todos: true });
    world.server.reply(todos, "done");
    await expect(ask(world, budgetOf(1))).rejects.toMatchObject({ code: "budget.spent" });
    expect(world.server.requests).toHaveLength(1);
  });
});

describe("a request that fails", () => {
  it("costs nothing where the provider has refused it, and each try and fallback is asked about", async () => {
    const other = await served("anthropic");
    const world = await served("openai", { fallbacks: [other.agent.model] }, {}, hurried);
    const busy = { fault: "status", status: 503 } as const;
    world.server.reply(busy, busy, busy);
    other.server.reply("from the other");
    const budget = budgetOf(1_000_000);
    expect(await ask(world, budget)).toBe("from the other");
    expect(budget.asked.map(({ model }) => model)).toEqual([
      "openai:local",
      "openai:local",
      "openai:local",
      "anthropic:local",
    ]);
    expect(budget.settled.slice(0, 3)).toEqual([0, 0, 0]);
    expect(budget.used()).toBe(budget.settled[3]);
  });

  it("stays counted by our guess where it broke off", async () => {
    const world = await served("openai", {}, {}, hurried);
    world.server.reply({ fault: "reset" }, "there");
    const budget = budgetOf(1_000_000);
    expect(await ask(world, budget)).toBe("there");
    expect(budget.settled).toHaveLength(1);
    expect(budget.used()).toBe(budget.asked[0]!.inputTokens + budget.settled[0]!);
  });

  it("costs nothing where nobody is there to take it", async () => {
    const { server, ...world } = await served("openai", {}, {}, hurried);
    await server.close();
    const budget = budgetOf(1_000_000);
    await expect(ask({ server, ...world }, budget)).rejects.toMatchObject({ reason: "broken" });
    expect(budget.settled).toEqual([0, 0, 0]);
    expect(budget.used()).toBe(0);
  });

  it("stays counted by our guess where the turn was stopped", async () => {
    const world = await served("openai");
    world.server.reply({ fault: "silence" });
    const budget = budgetOf(1_000_000);
    const stop = new AbortController();
    world.server.on("request", () => stop.abort(new Error("stopped")));
    await expect(
      world.runner.run({ ...turn(world.agent, "1", "hello"), allowance: budget.allowance }, stop.signal),
    ).rejects.toThrow("stopped");
    expect(budget.settled).toEqual([]);
    expect(budget.used()).toBe(budget.asked[0]!.inputTokens);
  });

  it("is not tried again, and no other model is asked, where nothing is left", async () => {
    const other = await served("anthropic");
    const world = await served("openai", { fallbacks: [other.agent.model] }, {}, hurried);
    const budget = budgetOf(0);
    await expect(ask(world, budget)).rejects.toMatchObject({ code: "budget.spent" });
    expect(budget.asked).toHaveLength(1);
    expect(other.server.requests).toEqual([]);
  });
});

describe("a request beside a turn's own", () => {
  it("is asked about as well: a grade", async () => {
    const world = await served("openai", { rubric: { criteria: "It rhymes.", rounds: 1 } });
    world.server.reply("A cat.", JSON.stringify({ verdict: "satisfied" }));
    const budget = budgetOf(1_000_000);
    expect(await ask(world, budget)).toBe("A cat.");
    expect([budget.asked.length, budget.settled.length]).toEqual([2, 2]);
  });

  it("is left out where nothing is left, and the answer is given all the same", async () => {
    const world = await served("openai", { rubric: { criteria: "It rhymes.", rounds: 1 } });
    world.server.reply("A cat.");
    expect(await ask(world, budgetOf(1))).toBe("A cat.");
    expect(world.server.requests).toHaveLength(1);
  });

  const distilled = async (world: Served, { allowance }: Budgeted): Promise<unknown> => {
    await world.say(world.agent, "1", "I live in Kiel");
    const { folder, thread } = turn(world.agent, "1", "");
    const lists = { others: [], unsaid: [], known: [], signals: [] };
    return await world.runner.distil(
      { agent: world.agent, thread, folder, allowance, after: "", about: "person", ...lists },
      never,
    );
  };

  it("is asked about as well: what is to be remembered, and then nothing is asked", async () => {
    const other = await served("anthropic");
    const world = await served("openai", { fallbacks: [other.agent.model] });
    const budget = budgetOf(0);
    expect(await failure(distilled(world, budget))).toMatchObject({ code: "budget.spent" });
    expect(budget.asked).toHaveLength(1);
    expect([world.server.requests.length, other.server.requests.length]).toEqual([1, 0]);
  });

  it("ends at the budget also where a model has failed before: nobody tries that again", async () => {
    const other = await served("anthropic");
    const world = await served("openai", { fallbacks: [other.agent.model] });
    world.server.reply("Kiel is fine.", { fault: "status", status: 401 });
    const budget = budgetOf(0, ({ model }) => model === "anthropic:local");
    expect(await failure(distilled(world, budget))).toMatchObject({ code: "budget.spent" });
    expect(other.server.requests).toEqual([]);
  });

  it("is counted for a subagent under its name; one with nothing left does not end the turn", async () => {
    const world = await served("openai");
    const scout = definition({ name: "scout", about: "looks", model: world.agent.model });
    const boss = {
      ...world.agent,
      subagents: { agents: [scout], atOnce: 1, mostPerTurn: 1, seconds: 60 },
    };
    world.server.reply(
      { toolCalls: [{ name: "task", args: { subagent: "scout", prompt: "Look." } }] },
      "Nobody could look.",
    );
    const budget = budgetOf(0, ({ agent }) => agent === "scout");
    expect(await ask({ ...world, agent: boss }, budget)).toBe("Nobody could look.");
    expect(budget.asked.map(({ agent }) => agent)).toEqual(["helper", "scout", "helper"]);
    expect(world.server.requests).toHaveLength(2);
  });

  it("bounds work without a thread", async () => {
    const world = await served("openai");
    const task = { agent: world.agent, prompt: "Count.", id: "t1", folder: "/nowhere" };
    const work = world.runner.work({ ...task, allowance: budgetOf(0).allowance }, never);
    expect(await failure(work)).toMatchObject({ code: "budget.spent" });
    expect(world.server.requests).toEqual([]);
  });
});

describe("a server that counts nothing", () => {
  it("is counted by our guess of the question and the length of the answer", async () => {
    const budget = budgetOf(1_000_000);
    const world = await served("openai");
    await ask({ ...world, agent: definition() }, budget); // the demo model
    expect(budget.used()).toBeGreaterThan(budget.asked[0]!.inputTokens);
  });
});
