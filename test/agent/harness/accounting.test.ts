import { AIMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { useOf } from "../../../src/agent/harness/use.ts";
import type { ModelUse } from "../../../src/core/usage.ts";
import { closeServers, served, type Served, type WireName } from "../model-servers.ts";
import { turn } from "../set-up.ts";

afterEach(closeServers);

const never = new AbortController().signal;

/** One turn; gives what was told of its calls, also where it failed. */
async function usesOf(world: Served, id: string, said: string): Promise<readonly ModelUse[]> {
  const uses: ModelUse[] = [];
  const asked = { ...turn(world.agent, id, said), onUse: (use: ModelUse) => void uses.push(use) };
  await world.runner.run(asked, never).catch(() => {});
  return uses;
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
] as const satisfies readonly WireName[])("calls of a model, over %s", (wire) => {
  it("are told of once each, with the steps of a turn and answers that were sent back", async () => {
    const world = await served(wire, { todos: true, price: { input: 2, output: 10 } });
    world.server.reply(todos, { text: "" }, "done");
    const uses = await usesOf(world, "1", "go");
    expect(uses).toHaveLength(3);
    const named = `helper ${world.agent.model.provider}:${world.agent.model.name}`;
    expect(uses.map(({ agent, model }) => `${agent} ${model}`)).toEqual([named, named, named]);
    expect(uses.every(({ inputTokens }) => inputTokens > 0)).toBe(true);
    expect(uses.at(-1)?.outputTokens).toBe(1);
    for (const { inputTokens, outputTokens, costMicros } of uses)
      expect(costMicros).toBe(inputTokens * 2 + outputTokens * 10);
  });
});

describe("a turn's use", () => {
  it("holds one call where another try was needed, and none where none succeeded", async () => {
    const world = await served("openai");
    world.server.reply({ fault: "status", status: 500, retryAfterSeconds: 0 }, "there", {
      fault: "status",
      status: 401,
    });
    expect(await usesOf(world, "1", "hello")).toHaveLength(1);
    expect(await usesOf(world, "2", "hello")).toEqual([]);
  });

  it("is told where the answer is streamed to people", async () => {
    const world = await served("openai");
    const uses: ModelUse[] = [];
    world.server.reply("one two");
    const asked = {
      ...turn(world.agent, "1", "hello"),
      onText: () => {},
      onUse: (use: ModelUse) => void uses.push(use),
    };
    await world.runner.run(asked, never);
    expect(uses.map(({ outputTokens }) => outputTokens)).toEqual([2]);
  });

  it.each([false, true])(
    "holds what Gemini thinks, which it counts in the total alone (streamed: %s)",
    async (streams) => {
      const world = await served("google");
      world.server.reply({ reasoning: "let me see what two and two make", text: "four" });
      const uses: ModelUse[] = [];
      await world.runner.run(
        {
          ...turn(world.agent, "1", "2 + 2?"),
          ...(streams ? { onText: () => {} } : {}),
          onUse: (use: ModelUse) => void uses.push(use),
        },
        never,
      );
      expect(uses.map(({ outputTokens }) => outputTokens)).toEqual([9]);
    },
  );
});

describe("what a call took", () => {
  const said = (usage: unknown): AIMessage => Object.assign(new AIMessage("x"), { usage_metadata: usage });
  const counting = (price?: { input: number; output: number; cached?: number }) => ({
    agent: { name: "a", ...(price ? { price } : {}) },
    choice: { provider: "openai", name: "m" },
  });
  const usage = {
    input_tokens: 1000,
    output_tokens: 100,
    total_tokens: 1100,
    input_token_details: { cache_read: 400 },
  };

  it.each([
    ["without a price", usage, undefined, [1000, 400, 100, 0]],
    [
      "with what was cached at its own price",
      usage,
      { input: 3, output: 15, cached: 0.3 },
      [1000, 400, 100, 600 * 3 + 400 * 0.3 + 1500],
    ],
    ["with what was cached at the full price", usage, { input: 3, output: 15 }, [1000, 400, 100, 4500]],
    ["where the server says nothing", undefined, { input: 3, output: 15 }, [0, 0, 0, 0]],
    [
      "with thoughts that are in the total alone",
      { ...usage, total_tokens: 1500 },
      { input: 3, output: 15 },
      [1000, 400, 500, 3000 + 7500],
    ],
    [
      "where the server says nonsense",
      { input_tokens: Number.NaN, output_tokens: -1 },
      { input: 3, output: 15 },
      [0, 0, 0, 0],
    ],
  ])("%s", (_name, metadata, price, expected) => {
    const { inputTokens, cachedTokens, outputTokens, costMicros } = useOf(said(metadata), counting(price));
    expect([inputTokens, cachedTokens, outputTokens, costMicros]).toEqual(expected);
  });
});
