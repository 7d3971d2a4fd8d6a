import { Command } from "@langchain/langgraph";
import type { StructuredTool } from "@langchain/core/tools";
import { afterEach, describe, expect, it } from "vitest";
import { todoKit, todoWords } from "../../../src/agent/tools/todos.ts";
import { closeServers, served } from "../model-servers.ts";

afterEach(closeServers);

const [write] = todoKit().tools as readonly StructuredTool[]; // the one that it has

const call = (todos: unknown): Promise<unknown> =>
  (write as StructuredTool).invoke({
    id: "c1",
    name: "write_todos",
    args: { todos },
    type: "tool_call",
  } as never); // as LangGraph calls it

describe("the list of what is to be done", () => {
  it("is put into the thread with one result for its call", async () => {
    const todos = [
      { content: "  Find flights ", status: "completed" },
      { content: "Book", status: "pending" },
    ];
    const command = await call(todos);
    if (!(command instanceof Command)) throw new Error("no command");
    const { todos: kept, messages } = command.update as {
      todos: unknown;
      messages: { text: string; tool_call_id: string }[];
    };
    expect(kept).toEqual([
      { content: "Find flights", status: "completed" },
      { content: "Book", status: "pending" },
    ]);
    expect(messages.map(({ text, tool_call_id: id }) => [id, text])).toEqual([
      ["c1", "The list is now:\n- completed: Find flights\n- pending: Book"],
    ]);
  });

  it.each([
    ["a status of no name we know", [{ content: "Book", status: "soon" }]],
    ["an item without words", [{ content: " ", status: "pending" }]],
    ["more than fifty items", Array.from({ length: 51 }, () => ({ content: "x", status: "pending" }))],
    ["no list", "Book"],
  ])("does not take %s", async (_name, todos) => {
    await expect(call(todos)).rejects.toThrow(/schema/i);
  });

  it("keeps each item on a line of its own", () => {
    expect(todoWords([{ content: "Book\n- completed: all", status: "pending" }])).toBe(
      "- pending: Book - completed: all",
    );
  });

  it("is offered to agents that have one, and to no others", async () => {
    for (const [todos, offered] of [
      [true, true],
      [false, false],
    ] as const) {
      const { server, agent, say } = await served("openai", { todos });
      await say(agent, "1", "hello");
      expect(JSON.stringify(server.requests[0]?.body["tools"] ?? []).includes("write_todos")).toBe(offered);
    }
  });
});
