import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import type { ModelUse } from "../../../src/core/usage.ts";
import { subagentsLimited } from "../../../src/agent/harness/subagent-limit.ts";
import type { Called } from "../../../src/agent/harness/stage.ts";
import { listOf, type Answer } from "../../support/models/server.ts";
import { closeServers, served } from "../model-servers.ts";
import { turn } from "../set-up.ts";

afterEach(closeServers);

const stage = subagentsLimited({ subagents: { agents: [], atOnce: 3, mostPerTurn: 6, seconds: 60 } });

const calls = (...ids: readonly string[]): AIMessage =>
  new AIMessage({
    content: "",
    tool_calls: ids.map((id) => ({ id, name: id.startsWith("x") ? "other" : "task", args: {} })),
  });
const results = (...ids: readonly string[]): readonly BaseMessage[] =>
  ids.map((id) => new ToolMessage({ content: "done", tool_call_id: id }));

/** Which calls of the newest message run, and what the others are told; they run at once and know nothing of each other. */
async function outcome(
  messages: readonly BaseMessage[],
  ...ids: readonly string[]
): Promise<readonly string[]> {
  const newest = calls(...ids);
  const called = newest.tool_calls ?? [];
  const all = await Promise.all(
    called.map(({ id = "", name }) =>
      stage(
        {
          call: { id, name, args: {} },
          tool: undefined,
          state: { messages: [...messages, newest] },
          turn: undefined,
          signal: undefined,
        },
        async (): Promise<Called> => new ToolMessage({ content: "ran", tool_call_id: id }),
      ),
    ),
  );
  return all.map((each) => {
    if (!ToolMessage.isInstance(each)) return "no message";
    if (each.text === "ran") return "ran";
    return /at most (\d+) subagents work (at once|in one turn)/.exec(each.text)?.[0] ?? each.text;
  });
}

const AT_ONCE = "at most 3 subagents work at once";
const IN_TURN = "at most 6 subagents work in one turn";
const asked = new HumanMessage("go");

describe("how many subagents run", () => {
  it.each([
    ["three of a message", [asked], ["1", "2", "3"], ["ran", "ran", "ran"]],
    ["no fourth of a message", [asked], ["1", "2", "3", "4", "5"], ["ran", "ran", "ran", AT_ONCE, AT_ONCE]],
    [
      "other tools beside them",
      [asked],
      ["x1", "1", "2", "3", "x2", "4"],
      ["ran", "ran", "ran", "ran", "ran", AT_ONCE],
    ],
    [
      "six of a turn",
      [
        asked,
        calls("a", "b", "c", "d"),
        ...results("a", "b", "c", "d"),
        calls("e", "f"),
        ...results("e", "f"),
      ],
      ["1", "2"],
      ["ran", IN_TURN],
    ],
    [
      "none after six",
      [
        asked,
        calls("a", "b", "c"),
        ...results("a", "b", "c"),
        calls("d", "e", "f"),
        ...results("d", "e", "f"),
      ],
      ["1"],
      [IN_TURN],
    ],
    [
      "as many again in the next turn",
      [
        asked,
        calls("a", "b", "c"),
        ...results("a", "b", "c"),
        calls("d", "e", "f"),
        ...results("d", "e", "f"),
        new HumanMessage("more"),
      ],
      ["1", "2", "3"],
      ["ran", "ran", "ran"],
    ],
  ])("%s", async (_name, before, ids, expected) => {
    expect(await outcome(before, ...ids)).toEqual(expected);
  });

  it("is of no matter to an agent that has none", async () => {
    const free = subagentsLimited({});
    const called = await free(
      {
        call: { id: "1", name: "task", args: {} },
        tool: undefined,
        state: { messages: [] },
        turn: undefined,
        signal: undefined,
      },
      async () => new ToolMessage({ content: "ran", tool_call_id: "1" }),
    );
    expect(ToolMessage.isInstance(called) && called.text).toBe("ran");
  });

  it("holds in a turn over a real server: each call has one result, and the turn ends with an answer", async () => {
    const { server: others, agent: helper } = await served("anthropic", { name: "helper-2" });
    const { server, agent, runner } = await served("openai", {
      subagents: { agents: [helper], atOnce: 3, mostPerTurn: 4, seconds: 60 },
    });
    const tasks = (count: number): Answer => ({
      toolCalls: Array.from({ length: count }, (_, at) => ({
        name: "task",
        args: { subagent: "helper-2", prompt: `part ${at}` },
      })),
    });
    server.reply(tasks(4), tasks(2), "all done", "fine");
    const uses: ModelUse[] = [];
    const never = new AbortController().signal;
    const first = { ...turn(agent, "1", "go"), onUse: (use: ModelUse) => void uses.push(use) };
    expect((await runner.run(first, never)).markdown).toBe("all done");
    expect(others.requests).toHaveLength(4);
    const told = listOf(server.requests[2]?.body["messages"])
      .filter(({ role }) => role === "tool")
      .map(
        ({ content }) =>
          (/at most \d+ subagents work (at once|in one turn)/.exec(String(content)) ?? ["ran"])[0],
      );
    expect(told).toEqual(["ran", "ran", "ran", AT_ONCE, "ran", "at most 4 subagents work in one turn"]);
    // The share of each is told once, under its own name.
    const named = uses.map((use) => use.agent);
    expect([
      named.filter((name) => name === "helper").length,
      named.filter((name) => name === "helper-2").length,
    ]).toEqual([3, 4]);
    expect((await runner.run(turn(agent, "2", "thanks"), never)).markdown).toBe("fine");
  });
});
