import { afterEach, describe, expect, it } from "vitest";
import { say } from "../../../src/core/sentences.ts";
import { keyOf } from "../../../src/agent/harness/loops.ts";
import { ROUNDS } from "../../../src/agent/steps.ts";
import type { Answer, Json } from "../../support/models/server.ts";
import { closeServers, served, type Served, type WireName } from "../model-servers.ts";
import { turn } from "../set-up.ts";

afterEach(closeServers);

// Room for all: a window that fills is summed up, which would take what is scripted here.
const limits = { turnSeconds: 60, messages: 1000, characters: 1_000_000, mediaTurns: 2 };
const never = new AbortController().signal;
const SAME = "the very same calls several times";
const OFTEN = "very often in this turn";
const LAST = "no further call is run";

const offering = (first: string): Answer => ({
  toolCalls: [{ name: "offer_choices", args: { choices: [first, "none"] } }],
});

async function ask(world: Served, id: string, said: string): Promise<string> {
  return (await world.runner.run(turn(world.agent, id, said), never)).markdown;
}

const bodies = ({ server }: Served): readonly string[] =>
  server.requests.map((request) => JSON.stringify(request.body));

/** Calls of one tool with other arguments each time; from the 50th on it would be too often. */
const otherCalls = (count: number): readonly Answer[] =>
  Array.from({ length: count }, (_, at) => offering(`choice ${at}`));

describe.each(["openai", "anthropic", "ollama"] as const satisfies readonly WireName[])(
  "a model that goes in circles, over %s",
  (wire) => {
    it("is told after three times, and is asked for its last word instead of the fifth", async () => {
      const world = await served(wire, { choices: true });
      world.server.reply(...Array<Answer>(5).fill(offering("Tea")), "I give up.", "hello again");
      expect(await ask(world, "1", "tea?")).toBe("I give up.");
      const sent = bodies(world);
      expect(sent.map((body) => body.includes(SAME))).toEqual([false, false, false, true, true, false]);
      expect(sent.map((body) => body.includes(LAST))).toEqual([false, false, false, false, false, true]);
      // The fifth call has left no trace, and neither have the notes.
      expect(await ask(world, "2", "hello")).toBe("hello again");
      const last = bodies(world).at(-1) ?? "";
      expect(last.match(/offer_choices(_|")/g)?.length).toBeGreaterThan(0);
      expect([last.includes(SAME), last.includes(LAST)]).toEqual([false, false]);
    });

    it("ends with a sentence where it calls on all the same", async () => {
      const world = await served(wire, { choices: true });
      world.server.reply(...Array<Answer>(6).fill(offering("Tea")), "hello again");
      expect(await ask(world, "1", "tea?")).toBe(say("answer.stopped"));
      expect(world.server.requests).toHaveLength(6);
      expect(await ask(world, "2", "hello")).toBe("hello again");
    });
  },
);

describe("steps of a turn", () => {
  it("names its tools for the last word, and bars them", async () => {
    const world = await served("openai", { choices: true });
    world.server.reply(...Array<Answer>(5).fill(offering("Tea")), "I give up.");
    await ask(world, "1", "tea?");
    const { tools, tool_choice: choice } = world.server.requests.at(-1)?.body ?? {};
    expect([(tools as readonly Json[]).length, choice]).toEqual([1, "none"]); // OpenAI's
  });

  it("are reminded of a tool that is called thirty times, and stop before its fiftieth call", async () => {
    const world = await served("openai", { choices: true, limits });
    world.server.reply(...otherCalls(50), "enough");
    expect(await ask(world, "1", "go on")).toBe("enough");
    const sent = bodies(world);
    expect(sent.findIndex((body) => body.includes(OFTEN))).toBe(30);
    expect(sent.findIndex((body) => body.includes(LAST))).toBe(50);
    expect(sent).toHaveLength(51);
  });

  it("end with the model's last word before LangGraph's limit", async () => {
    const world = await served("openai", { choices: true, todos: true, limits });
    const both = Array.from({ length: ROUNDS }, (_, at): Answer => {
      const todos = [{ content: `step ${at}`, status: "completed" }];
      return at % 2 === 0
        ? offering(`choice ${at}`)
        : { toolCalls: [{ name: "write_todos", args: { todos } }] };
    });
    world.server.reply(...both, "that is all I could do", "fine");
    expect(await ask(world, "1", "go on")).toBe("that is all I could do");
    expect(world.server.requests).toHaveLength(ROUNDS + 1);
    expect(bodies(world).at(-1)).toContain("as many steps as you may");
    expect(await ask(world, "2", "and now?")).toBe("fine");
  });

  it("are counted anew with each message of a person", async () => {
    const world = await served("openai", { choices: true });
    for (const id of ["1", "2", "3"]) {
      world.server.reply(offering("Tea"), offering("Tea"), `answer ${id}`);
      expect(await ask(world, id, "tea?")).toBe(`answer ${id}`);
    }
    expect(bodies(world).filter((body) => body.includes(SAME))).toEqual([]);
  });
});

describe("whether calls are the same", () => {
  const call = (name: string, args: Readonly<Record<string, unknown>>) => ({ name, args });
  const same = (a: Parameters<typeof keyOf>[0], b: Parameters<typeof keyOf>[0]): boolean =>
    keyOf(a) === keyOf(b);

  it.each([
    ["in another order", [call("a", { x: 1 }), call("b", {})], [call("b", {}), call("a", { x: 1 })], true],
    ["with keys in another order", [call("a", { x: 1, y: 2 })], [call("a", { y: 2, x: 1 })], true],
    [
      "with other words beside the query",
      [call("s", { query: "q", why: "a" })],
      [call("s", { query: "q", why: "b" })],
      true,
    ],
    ["for the next page", [call("s", { query: "q", page: 1 })], [call("s", { query: "q", page: 2 })], false],
    ["of other tools", [call("a", {})], [call("b", {})], false],
    ["once and twice", [call("a", {})], [call("a", {}), call("a", {})], false],
    [
      "a few lines on",
      [call("read_file", { file_path: "/a", offset: 0 })],
      [call("read_file", { file_path: "/a", offset: 150 })],
      true,
    ],
    [
      "200 lines on",
      [call("read_file", { file_path: "/a", offset: 0 })],
      [call("read_file", { file_path: "/a", offset: 200 })],
      false,
    ],
    [
      "other text to the same file",
      [call("write_file", { file_path: "/a", content: "x" })],
      [call("write_file", { file_path: "/a", content: "y" })],
      false,
    ],
    ["with other arguments of no name we know", [call("a", { n: 1 })], [call("a", { n: 2 })], false],
  ])("%s", (_name, a, b, expected) => {
    expect(same(a, b)).toBe(expected);
  });
});
