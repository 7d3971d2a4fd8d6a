import { afterEach, describe, expect, it } from "vitest";
import { closeServers, served, type WireName } from "./model-servers.ts";
import { turn } from "./set-up.ts";

afterEach(closeServers);

const never = new AbortController().signal;

describe.each([
  "openai",
  "responses",
  "anthropic",
  "google",
  "ollama",
] as const satisfies readonly WireName[])("what is shown of a model over %s", (wire) => {
  it("is its text alone, and none of what it thinks, while it is written and in the answer", async () => {
    const { server, agent, runner } = await served(wire);
    server.reply({ reasoning: "They seem tired of me.", text: "How are you?" });
    const shown: string[] = [];
    const asked = { ...turn(agent, "1", "hello"), onText: (text: string) => void shown.push(text) };
    const { markdown } = await runner.run(asked, never);
    expect(markdown).toBe("How are you?");
    expect(shown.at(-1)).toBe("How are you?");
    expect(shown.join(" ")).not.toContain("tired");
  });

  it("is none of what it thinks where the answer comes whole", async () => {
    const { server, agent, runner } = await served(wire);
    server.reply({ reasoning: "They seem tired of me.", text: "How are you?" });
    expect((await runner.run(turn(agent, "1", "hello"), never)).markdown).toBe("How are you?");
  });
});

describe("what is shown of an agent with tools", () => {
  it("is neither what it calls them with, nor what they give, nor what it was told beforehand", async () => {
    const { server, agent, runner } = await served("anthropic", {
      files: true,
      prompt: "The code word is heron.",
    });
    server.reply(
      {
        reasoning: "I have to look.",
        text: "Let me look.",
        toolCalls: [{ name: "ls", args: { path: "/uploads" } }],
      },
      "There is nothing.",
    );
    const shown: string[] = [];
    const asked = { ...turn(agent, "1", "what is there?"), onText: (text: string) => void shown.push(text) };
    await runner.run(asked, never);
    expect([...new Set(shown)]).toEqual([
      "Let",
      "Let me",
      "Let me look.",
      "There",
      "There is",
      "There is nothing.",
    ]);
  });
});
