import { AIMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { withMadeCalls } from "../../../src/agent/harness/made-calls.ts";
import { withoutThoughts } from "../../../src/agent/thoughts.ts";
import type { ModelUse } from "../../../src/core/usage.ts";
import { closeServers, served } from "../model-servers.ts";
import { turn } from "../set-up.ts";

afterEach(closeServers);

const never = new AbortController().signal;

describe("what a model thinks and says as text", () => {
  it.each([
    ["<think>a plan</think>Nine.", "Nine."],
    ["\n<think>\na plan\n</think>\n\nNine.", "Nine."],
    ["<think>a plan that is cut", ""],
    ["Write <think> like this: <think>x</think>", "Write <think> like this: <think>x</think>"],
    ["<thinker>", "<thinker>"],
    ["Nine.", "Nine."],
    ["<thi", "<thi"],
  ])("is left out: of %j stays %j", (text, rest) => {
    expect(withoutThoughts(text)).toBe(rest);
  });

  it("is not given to the person, nor to the model again, while its calls are run and its use is counted", async () => {
    const world = await served("openai", { todos: true });
    const todos = [{ content: "ships", status: "completed" }];
    world.server.reply(
      { text: "<think>list first</think>", toolCalls: [{ name: "write_todos", args: { todos } }] },
      "<think>a secret plan</think>There are nine.",
      "again",
    );
    const shown: string[] = [];
    const uses: ModelUse[] = [];
    const asked = {
      onText: (text: string) => void shown.push(text),
      onUse: (use: ModelUse) => void uses.push(use),
    };
    const said = await world.runner.run({ ...turn(world.agent, "1", "hello"), ...asked }, never);
    expect(said.markdown).toBe("There are nine.");
    expect(shown.at(-1)).toBe("There are nine.");
    expect(shown.join()).not.toMatch(/think|secret|first/);
    expect(uses.every(({ outputTokens }) => outputTokens > 0)).toBe(true);
    expect(said.window?.estimated).toBe(false);
    await world.say(world.agent, "2", "and?");
    expect(JSON.stringify(world.server.requests.at(-1)?.body)).not.toMatch(/secret|list first/);
  });

  it("is left out of what it is asked by ourselves, such as a grade", async () => {
    const world = await served("openai", { rubric: { criteria: "It rhymes.", rounds: 1 } });
    const grade = JSON.stringify({ verdict: "needs_revision", feedback: "rhyme" });
    world.server.reply("A cat.", `<think>{rhymes?}</think>${grade}`, "A bat.");
    expect(await world.say(world.agent, "1", "a poem")).toBe("A bat.");
  });

  it("and nothing else is as if it had said nothing", async () => {
    const world = await served("openai");
    world.server.reply("<think>a plan</think>", "Nine.");
    expect(await world.say(world.agent, "1", "hello")).toBe("Nine.");
  });
});

it("a message keeps what it took where its calls have other names", () => {
  const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };
  const call = { id: "c1", name: "extract-1", args: {} };
  const message = Object.assign(new AIMessage({ content: "", tool_calls: [call] }), {
    usage_metadata: usage,
  });
  expect(withMadeCalls(message).usage_metadata).toEqual(usage);
});
