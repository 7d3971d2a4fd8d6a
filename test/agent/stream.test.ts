import { AIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { ThreadGraph } from "../../src/agent/graph.ts";
import { askAside } from "../../src/agent/harness/aside.ts";
import { streamed } from "../../src/agent/stream.ts";
import { startOpenAi } from "../support/models/openai.ts";
import type { ModelServer } from "../support/models/server.ts";

const servers: ModelServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function model(): Promise<{ readonly server: ModelServer; readonly chat: ChatOpenAI }> {
  const server = await startOpenAi();
  servers.push(server);
  const configuration = { baseURL: server.url };
  return {
    server,
    chat: new ChatOpenAI({
      model: "local",
      apiKey: "k",
      configuration,
      useResponsesApi: false,
      maxRetries: 0,
    }),
  };
}

/** What people see of a run, as it grows. */
async function shown(graph: unknown, ours: boolean): Promise<readonly string[]> {
  const texts: string[] = [];
  await streamed(
    graph as ThreadGraph, // compiled by LangGraph
    { messages: [{ role: "human", content: "go" }] },
    {},
    { ours, onText: (text) => void texts.push(text) },
  );
  return texts;
}

const lookUp = (asks: () => Promise<unknown>) =>
  tool(
    async () => {
      await asks();
      return "found";
    },
    { name: "look_up", description: "Looks something up", schema: z.object({}) },
  );

describe("what people see of a run", () => {
  it("is what the agent's own model says, and begins anew after its calls", async () => {
    const { server, chat } = await model();
    server.reply({ text: "one moment", toolCalls: [{ name: "look_up", args: {} }] }, "here it is");
    const agent = createAgent({ model: chat, tools: [lookUp(async () => {})] });
    expect(await shown(agent.graph, true)).toEqual(["one", "one moment", "here", "here it", "here it is"]);
  });

  it.each([true, false])(
    "is not what a tool asks a model or an agent for (our own agent: %s)",
    async (ours) => {
      const { server, chat } = await model();
      const other = await model();
      other.server.reply("from a model", "from an agent");
      server.reply({ toolCalls: [{ name: "look_up", args: {} }] }, "done");
      const inner = createAgent({ model: other.chat, tools: [] });
      const look = lookUp(async () => {
        await other.chat.invoke("x");
        await inner.invoke({ messages: [{ role: "human", content: "x" }] });
      });
      expect(await shown(createAgent({ model: chat, tools: [look] }).graph, ours)).toEqual(["done"]);
      expect(other.server.requests).toHaveLength(2);
    },
  );

  it("is not what is asked aside, wherever that is", async () => {
    const { server, chat } = await model();
    server.reply("a summary", "an answer");
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("model_request", async ({ messages }) => {
        await askAside(chat, messages);
        return { messages: [await chat.invoke(messages)] };
      })
      .addEdge("__start__", "model_request")
      .compile();
    expect(await shown(graph, true)).toEqual(["an", "an answer"]);
  });

  it("is of an operator's graph what any node's model says, and a graph within it when that is done", async () => {
    const { server, chat } = await model();
    server.reply("first thought", "second thought");
    const talks = async ({ messages }: { messages: BaseMessage[] }) => ({
      messages: [await chat.invoke(messages)],
    });
    const within = new StateGraph(MessagesAnnotation)
      .addNode("deep", talks)
      .addEdge("__start__", "deep")
      .compile();
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("plan", talks)
      .addNode("within", within)
      .addEdge("__start__", "plan")
      .addEdge("plan", "within")
      .compile();
    expect(await shown(graph, false)).toEqual(["first", "first thought", "second thought"]);
  });

  it("is no result of a tool, no thought and no message of another kind", async () => {
    const said = [
      new ToolMessage({ content: "secret", tool_call_id: "1" }),
      new AIMessage({
        id: "a",
        content: [
          { type: "reasoning", reasoning: "hm" },
          { type: "text", text: "yes" },
        ],
      }),
    ];
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("model_request", () => ({ messages: said }))
      .addEdge("__start__", "model_request")
      .compile();
    expect(await shown(graph, true)).toEqual(["yes"]);
  });
});
