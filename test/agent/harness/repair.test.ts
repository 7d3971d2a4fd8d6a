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

  const UNREADABLE =
    "The arguments of this call could not be read, so it was not made; make it again with valid ones.";

  it("answers calls that could not be read, and sends nothing of them, in whatever form", () => {
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
    const [, repaired, ...results] = repair([human, broken, result("1"), new HumanMessage("again")]) as [
      unknown,
      AIMessage,
      ...BaseMessage[],
    ]; // the calls stand second
    expect(repaired.content).toEqual([
      { type: "text", text: "Let me look." },
      { type: "tool_use", id: "1", name: "look", input: {} },
      { type: "tool_use", id: "x", name: "look", input: {} },
    ]);
    expect(repaired.tool_calls?.map(({ id, args }) => ({ id, args }))).toEqual([
      { id: "1", args: {} },
      { id: "x", args: {} },
    ]);
    expect(repaired.invalid_tool_calls).toEqual([]);
    expect(repaired.additional_kwargs).toEqual({});
    expect(shape(results)).toEqual(["tool 1: seen", `tool x: ${UNREADABLE}`, "human: again"]);
  });

  it("answers a call whose arguments are no object as one that could not be read, unless it was made", () => {
    const odd = (args: unknown) =>
      new AIMessage({ content: "", tool_calls: [{ ...call("1"), args: args as Record<string, unknown> }] });
    for (const args of [["a"], "a", 7, null]) {
      const [, repaired, answer] = repair([human, odd(args)]) as [unknown, AIMessage, ToolMessage]; // as is repaired
      expect(repaired.tool_calls?.[0]?.args).toEqual({});
      expect(answer.text).toBe(UNREADABLE);
    }
    expect(shape(repair([human, odd(["a"]), result("1")]))).toEqual([
      "human: look",
      "calls 1",
      "tool 1: seen",
    ]);
  });

  it("gives a call without an id one, and its result too", () => {
    const nameless = new AIMessage({
      content: "",
      tool_calls: [
        { name: "look", args: {} },
        { name: "look", args: {} },
      ],
    });
    expect(shape(repair([human, nameless, result("", "first"), result("", "second")]))).toEqual([
      "human: look",
      "calls call-1-0 call-1-1",
      "tool call-1-0: first",
      "tool call-1-1: second",
    ]);
  });

  it.each([
    ["", "unnamed"],
    ["functions.look", "functions_look"],
    ["look at/it", "look_at_it"],
    ["x".repeat(80), "x".repeat(64)],
  ])("gives a call named %j the name %j, and its result too", (name, sound) => {
    const odd = new AIMessage({ content: "", tool_calls: [{ ...call("1"), name }] });
    const seen = new ToolMessage({ content: "seen", tool_call_id: "1", name });
    const [, repaired, answer] = repair([human, odd, seen]) as [unknown, AIMessage, ToolMessage]; // as is repaired
    expect([repaired.tool_calls?.[0]?.name, answer.name]).toEqual([sound, sound]);
    expect(answer.text).toBe("seen");
  });

  it("gives an id that an earlier call has another, and its result and blocks too", () => {
    const use = { type: "tool_use", id: "1", name: "look", input: {} };
    const again = new AIMessage({ content: [use], tool_calls: [call("1")] });
    const repaired = repair([human, calls("1"), result("1", "a"), human, again, result("1", "b")]);
    expect(shape(repaired).slice(1)).toEqual([
      "calls 1",
      "tool 1: a",
      "human: look",
      "calls 1-2",
      "tool 1-2: b",
    ]);
    expect(repaired[4]?.content).toEqual([{ ...use, id: "1-2" }]);
  });

  it("gives a call an id of letters that all providers take, and its result too", () => {
    const odd = "functions.look:0";
    expect(shape(repair([human, calls(odd), result(odd)]))).toEqual([
      "human: look",
      "calls functions_look_0",
      "tool functions_look_0: seen",
    ]);
  });

  it("finds a result that stands behind what was said meanwhile", () => {
    expect(shape(repair([human, calls("1"), new HumanMessage("hurry"), result("1")]))).toEqual([
      "human: look",
      "calls 1",
      "tool 1: seen",
      "human: hurry",
    ]);
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
