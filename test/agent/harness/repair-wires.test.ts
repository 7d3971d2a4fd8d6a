import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { convertMessagesToResponsesInput } from "@langchain/openai";
import { afterEach, describe, expect, it } from "vitest";
import { inPlainWords } from "../../../src/agent/harness/foreign.ts";
import { repair } from "../../../src/agent/harness/repair.ts";
import { loadModel } from "../../../src/agent/models.ts";
import { closeServers, served, WIRES, type WireName } from "../model-servers.ts";
import { memoryBlobs } from "../set-up.ts";

afterEach(closeServers);

const WIRE_NAMES = Object.keys(WIRES) as readonly WireName[]; // of a literal
const human = (text: string): HumanMessage => new HumanMessage(text);
const call = (id: string, name = "look") => ({ id, name, args: {} });
const result = (id: string): ToolMessage =>
  new ToolMessage({ content: "seen", tool_call_id: id, name: "look" });
const calls = (...made: readonly unknown[]): AIMessage =>
  new AIMessage({ content: "", tool_calls: made as NonNullable<AIMessage["tool_calls"]> }); // damaged on purpose

/** What a thread may hold after a crash, a stop, or a model that writes badly. */
const DAMAGED: Readonly<Record<string, readonly BaseMessage[]>> = {
  "a call without a result, at the end": [human("a"), calls(call("1"))],
  "a call without a result, far back": [
    human("a"),
    calls(call("1")),
    human("b"),
    new AIMessage("c"),
    human("d"),
  ],
  "one result of two": [human("a"), calls(call("1"), call("2")), result("2"), human("b")],
  "a result without a call": [human("a"), result("9"), human("b")],
  "a result at the very beginning": [result("9"), human("a")],
  "two results of one call": [human("a"), calls(call("1")), result("1"), result("1"), human("b")],
  "a result behind another message": [human("a"), calls(call("1")), human("b"), result("1"), human("c")],
  "the same id twice in one message": [human("a"), calls(call("1"), call("1")), result("1"), human("b")],
  "the same id in two messages": [
    human("a"),
    calls(call("1")),
    result("1"),
    calls(call("1")),
    result("1"),
    human("b"),
  ],
  "a call without an id": [human("a"), calls({ name: "look", args: {} }), human("b")],
  "a call without a name": [human("a"), calls({ id: "1", name: "", args: {} }), human("b")],
  "a call with a name that none may have": [human("a"), calls(call("1", "functions.look: it")), human("b")],
  "arguments that are a list": [human("a"), calls({ ...call("1"), args: ["x"] }), human("b")],
  "arguments that are nothing": [human("a"), calls({ ...call("1"), args: null }), result("1"), human("b")],
  "arguments that could not be read": [
    human("a"),
    new AIMessage({
      content: "I look.",
      invalid_tool_calls: [{ id: "1", name: "look", args: "{", error: "no JSON" }],
      additional_kwargs: {
        tool_calls: [{ id: "1", type: "function", function: { name: "look", arguments: "{" } }],
      },
    }),
    human("b"),
  ],
  "an answer that says nothing": [human("a"), new AIMessage(" "), human("b")],
};

describe.each(WIRE_NAMES)("a damaged thread by the protocol of %s", (wire) => {
  it.each(Object.keys(DAMAGED))("is taken: %s", async (kind) => {
    const { agent, server } = await served(wire);
    const model = await loadModel(agent.model, memoryBlobs());
    const sent = inPlainWords(repair(DAMAGED[kind] ?? []), agent.model);
    expect((await model.invoke([...sent])).text).toBe("seen");
    expect(server.requests).toHaveLength(1);
  });
});

describe("what the tests' servers refuse", () => {
  it.each([
    ["openai", "a call without a result, far back"],
    ["openai", "a call with a name that none may have"],
    ["openai", "arguments that are a list"],
    ["anthropic", "one result of two"],
    ["anthropic", "the same id in two messages"],
    ["anthropic", "arguments that are a list"],
    ["responses", "a result without a call"],
    ["responses", "a call without a result, at the end"],
    ["google", "one result of two"],
    ["google", "two results of one call"],
  ] as const)("by the protocol of %s: %s, were it not repaired", async (wire, kind) => {
    const { agent } = await served(wire);
    const model = await loadModel(agent.model, memoryBlobs());
    await expect(model.invoke([...(DAMAGED[kind] ?? [])])).rejects.toMatchObject({ status: 400 });
  });
});

it("sends repaired calls over OpenAI's Responses, where LangChain keeps what a model wrote", () => {
  const said = (...made: readonly { readonly id: string; readonly name: string }[]): AIMessage =>
    new AIMessage({
      content: [],
      tool_calls: made.map((each) => ({ ...each, args: {} })),
      response_metadata: {
        model_provider: "openai",
        output: made.map(({ id, name }) => ({ type: "function_call", call_id: id, name, arguments: "{}" })),
      },
    });
  const thread = [
    human("a"),
    said(call("x")),
    result("x"),
    said(call("x"), call("x:y", "functions.look")),
    result("x"),
    human("b"),
  ];
  const sent = inPlainWords(repair(thread), { provider: "openai", name: "gpt-5-codex" });
  const items = convertMessagesToResponsesInput({
    messages: [...sent],
    zdrEnabled: false,
    model: "gpt-5-codex",
  });
  const named = items.flatMap((item) => ("call_id" in item ? [[item.type, item.call_id]] : []));
  expect(named).toEqual([
    ["function_call", "x"],
    ["function_call_output", "x"],
    ["function_call", "x-2"],
    ["function_call", "x_y"],
    ["function_call_output", "x-2"],
    ["function_call_output", "x_y"],
  ]);
});
