import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import type { AgentAnswer, AgentDefinition } from "../../src/core/agent.ts";
import type { Json } from "../support/models/server.ts";
import { closeServers, served, type WireName } from "./model-servers.ts";
import { bench, type Bench, definition, turn } from "./set-up.ts";

afterEach(closeServers);

const never = new AbortController().signal;

const ask = async (
  { runner }: Bench,
  agent: AgentDefinition,
  id: string,
  said: string,
): Promise<AgentAnswer> => await runner.run(turn(agent, id, said), never);

const offer = (choices: unknown, text?: string) => ({
  toolCalls: [{ name: "offer_choices", args: { choices } }],
  ...(text === undefined ? {} : { text }),
});

const toolsIn = (body: Json): string => JSON.stringify(body["tools"] ?? []);

describe.each([
  "openai",
  "responses",
  "anthropic",
  "google",
  "ollama",
] as const satisfies readonly WireName[])("an agent that may ask with buttons, over %s", (wire) => {
  it("offers choices below its question, also when its answer is given again", async () => {
    const world = await served(wire, { choices: true });
    world.server.reply(offer(["Tea", "Coffee"]), "What would you like?");
    const answer = await ask(world, world.agent, "1", "I am thirsty");
    expect(answer).toMatchObject({ markdown: "What would you like?", choices: ["Tea", "Coffee"] });
    expect(toolsIn(world.server.requests[0]?.body ?? {})).toContain("offer_choices");
    expect(JSON.stringify(world.server.requests.at(-1)?.body)).toContain("will stand as buttons below");
    expect(await ask(world, world.agent, "1", "I am thirsty")).toMatchObject({ ...answer, replayed: true });
  });

  it("asks with what it said beside its offer where it says no more", async () => {
    const world = await served(wire, { choices: true });
    world.server.reply(offer(["Tea", "Coffee"], "Tea or coffee?"), { text: "" });
    const answer = await ask(world, world.agent, "1", "I am thirsty");
    expect(answer).toMatchObject({ markdown: "Tea or coffee?", choices: ["Tea", "Coffee"] });
  });
});

describe("what an agent offers", () => {
  it.each([
    ["one", ["Tea"]],
    ["too many", Array.from({ length: 13 }, (_, at) => `number ${at}`)],
    ["blanks", ["Tea", " "]],
    ["what is no text", ["Tea", 7]],
    ["what is too long", ["Tea", "o".repeat(201)]],
    ["no list", "Tea or coffee"],
  ])("is not %s: the model is told, and may try again", async (_name, choices) => {
    const world = await served("openai", { choices: true });
    world.server.reply(
      offer(choices),
      "I could not ask.",
      offer(choices),
      offer(["Tea", "Coffee"]),
      "Which?",
    );
    const refused = await ask(world, world.agent, "1", "hello");
    expect([refused.markdown, refused.choices]).toEqual(["I could not ask.", undefined]);
    expect(world.sentText()).toMatch(/error|invalid|expected/i);
    expect(await ask(world, world.agent, "2", "again")).toMatchObject({ choices: ["Tea", "Coffee"] });
  });

  it("is what it offered last, in the turn that it answers", async () => {
    const world = await served("openai", { choices: true });
    world.server.reply(offer(["Tea", "Coffee"]), offer(["Red", "White"]), "Which wine?", "You are welcome.");
    expect(await ask(world, world.agent, "1", "a drink")).toMatchObject({ choices: ["Red", "White"] });
    const thanked = await ask(world, world.agent, "2", "thanks");
    expect(thanked).toMatchObject({ markdown: "You are welcome.", replayed: false, refused: [] });
    expect(thanked).not.toHaveProperty("choices");
    expect(await ask(world, world.agent, "1", "a drink")).toMatchObject({ choices: ["Red", "White"] });
  });

  it("stands beside its files", async () => {
    const world = await served("openai", { choices: true, files: true });
    world.server.reply(offer(["Tea"]), offer(["Tea", "Coffee"]), "Which?");
    expect(await ask(world, world.agent, "1", "a drink")).toMatchObject({ choices: ["Tea", "Coffee"] });
    expect(toolsIn(world.server.requests[0]?.body ?? {})).toMatch(/read_file.*offer_choices/s);
  });

  it("costs an agent nothing that was not allowed to: no tool, no word", async () => {
    const world = await served("openai");
    await ask(world, world.agent, "1", "hello");
    expect(world.server.requests[0]?.body["tools"]).toBeUndefined();
    const demo = bench();
    expect(await ask(demo, definition({ choices: true }), "1", "hello")).not.toHaveProperty("choices");
  });

  it("is understood of a graph of the operator's, which binds a tool of that name", async () => {
    const world = bench();
    const asks = definition({ graph: fileURLToPath(new URL("../fixtures/graphs/asks.js", import.meta.url)) });
    const choices = ["Tea", "Coffee"];
    expect(await ask(world, asks, "1", "after")).toMatchObject({ markdown: "What would you like?", choices });
    expect(await ask(world, asks, "2", "beside")).toMatchObject({ markdown: "Tea or coffee?", choices });
    expect(await ask(world, asks, "1", "after")).toMatchObject({ markdown: "What would you like?", choices });
  });
});
