import { tool } from "@langchain/core/tools";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { onSqlite } from "../support/database.ts";
import { toolBench, toolWords } from "./tool-bench.ts";
import { wholeBench } from "./whole-bench.ts";

const open = onSqlite();

describe("a turn that is ended while one of several calls is at work", () => {
  it("keeps what the others gave, and makes none of them again", async () => {
    const ran: string[] = [];
    const controller = new AbortController();
    let first = true;
    const given = (name: string, metadata: Readonly<Record<string, unknown>>) =>
      tool(
        () => {
          ran.push(name);
          return `${name} is done`;
        },
        { name, description: name, schema: z.object({}), metadata: { ...metadata } },
      );
    const slow = tool(
      async (_none, { signal }) => {
        ran.push("slow");
        if (!first) return "slow is done";
        first = false;
        // The others have ended by then, and LangGraph has heard of it.
        await rounds(100);
        controller.abort(new Error("the gateway stops"));
        return await new Promise((_resolve, reject) => void signal?.addEventListener("abort", reject));
      },
      { name: "slow", description: "slow", schema: z.object({}) },
    );
    const tools = [given("send", { effects: true }), given("look", {}), slow];
    const bench = await toolBench({ database: await open(), tools });
    bench.server.reply({ toolCalls: ["send", "slow", "look"].map((name) => ({ name, args: {} })) });
    await expect(bench.run("1", "go", {}, controller.signal)).rejects.toThrow("the gateway stops");
    // It is written down behind the run's end.
    while ((await bench.thread()).length === 0) await rounds(1);
    bench.restart();
    expect(await bench.say("1", "go")).toBe("Done.");
    expect(ran.toSorted()).toEqual(["look", "send", "slow"]);
    expect(toolWords(bench.server).split("\n")).toEqual([
      "send is done",
      "This call was interrupted before it had a result.",
      "look is done",
    ]);
    expect(await bench.thread()).toEqual([
      "person: go",
      "model: send({}) slow({}) look({})",
      "send: send is done",
      "look: look is done",
      "slow: This call was interrupted before it had a result.",
      "model: Done.",
    ]);
    await bench.say("2", "more");
    expect(toolWords(bench.server)).toContain("look is done");
    await bench.close();
  });

  it("keeps what they put into the thread, also for the next message", async () => {
    const bench = await wholeBench(await open(), {
      fields: (agent) => ({
        todos: true,
        subagents: { agents: [{ ...agent, name: "scout" }], atOnce: 1, mostPerTurn: 5, seconds: 60 },
      }),
    });
    const controller = new AbortController();
    const todos = [{ content: "Book", status: "pending" }];
    bench.server.reply({
      toolCalls: [
        { name: "write_todos", args: { todos } },
        { name: "task", args: { subagent: "scout", prompt: "Look." } },
      ],
    });
    bench.server.on("request", async () => {
      if (bench.server.requests.length !== 2) return;
      await rounds(200);
      controller.abort(new Error("stopped by the person"));
    });
    await expect(bench.run("1", "go", {}, controller.signal)).rejects.toThrow("stopped by the person");
    while ((await bench.messages()).length === 0) await rounds(1);
    await bench.say("2", "go on");
    const kept = (await bench.messages()).map(({ type, text }) => `${type}: ${text.slice(0, 20)}`);
    expect(kept).toEqual([
      "human: go",
      "ai: ",
      "tool: The list is now:\n- p",
      "tool: This call was interr",
      "human: go on",
      "ai: Done.",
    ]);
    expect((await bench.values())["todos"]).toEqual(todos);
  });
});

async function rounds(times: number): Promise<void> {
  for (let round = 0; round < times; round += 1) await new Promise((resolve) => void setImmediate(resolve));
}
