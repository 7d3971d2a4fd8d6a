import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { missingResults, repair } from "../../../src/agent/harness/repair.ts";

const human = new HumanMessage({ id: "h", content: "look" });
const call = (id: string) => ({ id, name: "look", args: {} });
const calls = (...callIds: string[]): AIMessage =>
  new AIMessage({ id: "c", content: "", tool_calls: callIds.map(call) });
const result = (id: string, text = "seen"): ToolMessage =>
  new ToolMessage({ content: text, tool_call_id: id });

const shape = (messages: readonly BaseMessage[]): readonly string[] =>
  messages.map((message) => {
    if (ToolMessage.isInstance(message)) return `tool ${message.tool_call_id}: ${message.text}`;
    if (AIMessage.isInstance(message) && message.tool_calls?.length) {
      return `calls ${message.tool_calls.map((each) => each.id).join(" ")}`;
    }
    return `${message.type}: ${message.text}`;
  });

const INTERRUPTED = "This call was interrupted before it had a result.";

describe("repairing a thread", () => {
  it("leaves a sound thread as it is", () => {
    const sound = [human, calls("1"), result("1"), new AIMessage("done")];
    expect(repair(sound)).toEqual(sound);
  });

  it("gives a call without a result one, before what comes next", () => {
    expect(shape(repair([human, calls("1", "2"), result("2"), new HumanMessage("and now?")]))).toEqual([
      "human: look",
      "calls 1 2",
      `tool 1: ${INTERRUPTED}`,
      "tool 2: seen",
      "human: and now?",
    ]);
  });

  it("leaves out results that nobody called for, and second ones", () => {
    expect(
      shape(repair([result("0"), human, calls("1"), result("1"), result("1", "again"), result("9")])),
    ).toEqual(["human: look", "calls 1", "tool 1: seen"]);
  });

  it("clears calls that could not be read, in every form in which they would be sent again", () => {
    const broken = new AIMessage({
      id: "b",
      content: [
        { type: "text", text: "Let me look." },
        { type: "tool_use", id: "1", name: "look", input: {} },
        { type: "tool_use", id: "x", name: "look", input: "{" },
      ],
      tool_calls: [call("1")],
      invalid_tool_calls: [{ id: "x", name: "look", args: "{", error: "not JSON" }],
      additional_kwargs: {
        tool_calls: [{ id: "x", type: "function", function: { name: "look", arguments: "{" } }],
      },
    });
    const [, repaired] = repair([human, broken, new HumanMessage("again")]) as [unknown, AIMessage]; // the second of three
    expect(repaired.content).toEqual([
      { type: "text", text: "Let me look." },
      { type: "tool_use", id: "1", name: "look", input: {} },
    ]);
    expect(repaired.tool_calls).toEqual([call("1")]);
    expect(repaired.invalid_tool_calls).toEqual([]);
    expect(repaired.additional_kwargs).toEqual({});
  });

  it("leaves out blank text beside calls, which some providers refuse", () => {
    const blank = (content: AIMessage["content"]) => {
      const [, repaired] = repair([human, new AIMessage({ content, tool_calls: [call("1")] }), result("1")]);
      return repaired?.content;
    };
    const use = { type: "tool_use", id: "1", name: "look", input: {} };
    expect(blank([{ type: "text", text: "" }, use])).toEqual([use]);
    expect(blank([{ type: "text", text: " \n" }])).toBe("");
    expect(blank(" \n")).toBe("");
    expect(blank([{ type: "text", text: "Let me look." }, use])).toEqual([
      { type: "text", text: "Let me look." },
      use,
    ]);
  });

  it("leaves out a call that repeats another's id, in every form", () => {
    const use = { type: "tool_use", id: "1", name: "look", input: {} };
    const twice = new AIMessage({ content: [use, use], tool_calls: [call("1"), call("1")] });
    const [, repaired, ...results] = repair([human, twice, result("1"), result("1", "again")]) as [
      unknown,
      AIMessage,
      ...BaseMessage[],
    ]; // the calls stand second
    expect(repaired.tool_calls).toEqual([call("1")]);
    expect(repaired.content).toEqual([use]);
    expect(shape(results)).toEqual(["tool 1: seen"]);
  });

  it("leaves a message out in which nothing remains", () => {
    const broken = new AIMessage({
      content: "",
      invalid_tool_calls: [{ id: "x", name: "look", args: "{", error: "not JSON" }],
    });
    expect(shape(repair([human, broken, new HumanMessage("again")]))).toEqual([
      "human: look",
      "human: again",
    ]);
  });

  it.each([
    ["an empty one", ""],
    ["blanks", " \n"],
    ["thoughts alone", [{ type: "thinking", thinking: "hm" }]],
  ])("leaves out an answer that says nothing, which some providers refuse: %s", (_name, content) => {
    expect(shape(repair([human, new AIMessage({ content }), new HumanMessage("again")]))).toEqual([
      "human: look",
      "human: again",
    ]);
  });

  it("names the results that the end of a thread still lacks", () => {
    expect(shape(missingResults([human, calls("1", "2"), result("1")]))).toEqual([`tool 2: ${INTERRUPTED}`]);
    expect(missingResults([human, calls("1"), result("1")])).toEqual([]);
    expect(missingResults([human])).toEqual([]);
    expect(missingResults([])).toEqual([]);
  });
});
