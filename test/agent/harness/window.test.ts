import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { newest } from "../../../src/agent/harness/window.ts";

const human = (id: string, text = id): BaseMessage => new HumanMessage({ id, content: text });
const ai = (id: string, text = id): BaseMessage => new AIMessage({ id, content: text });
const calls = (id: string, ...callIds: string[]): BaseMessage =>
  new AIMessage({
    id,
    content: "",
    tool_calls: callIds.map((call) => ({ id: call, name: "look", args: {} })),
  });
const result = (call: string, text = call): BaseMessage =>
  new ToolMessage({ id: `r-${call}`, content: text, tool_call_id: call });

const ids = (messages: readonly BaseMessage[]): readonly (string | undefined)[] => messages.map((m) => m.id);
const many = { messages: 100, characters: 100_000 };

describe("the window on a thread", () => {
  it.each<[string, readonly BaseMessage[], { messages: number; characters: number }, readonly string[]]>([
    ["keeps a short thread whole", [human("h1"), ai("a1"), human("h2")], many, ["h1", "a1", "h2"]],
    [
      "keeps the newest messages and begins with a person",
      [human("h1"), ai("a1"), human("h2"), ai("a2"), human("h3")],
      { messages: 4, characters: 1000 },
      ["h2", "a2", "h3"],
    ],
    [
      "counts characters as well",
      [human("h1", "x".repeat(50)), ai("a1"), human("h2", "x".repeat(40)), ai("a2"), human("h3")],
      { messages: 100, characters: 60 },
      ["h2", "a2", "h3"],
    ],
    [
      "keeps the newest human message whole even where it alone breaks the limits",
      [human("h1"), ai("a1"), human("h2", "x".repeat(500))],
      { messages: 1, characters: 10 },
      ["h2"],
    ],
    [
      "keeps calls and their results together or leaves both out",
      [human("h1"), calls("c1", "1", "2"), result("1"), result("2"), ai("a1"), human("h2")],
      { messages: 4, characters: 1000 },
      ["h2"],
    ],
    [
      "keeps what was asked while a long tool loop runs, and the newest batches",
      [
        human("h1"),
        ai("a1"),
        human("h2"),
        calls("c1", "1"),
        result("1"),
        calls("c2", "2"),
        result("2"),
        calls("c3", "3"),
        result("3"),
      ],
      { messages: 5, characters: 1000 },
      ["h2", "c2", "r-2", "c3", "r-3"],
    ],
    [
      "keeps the newest batch even where it breaks the limits",
      [human("h1"), calls("c1", "1"), result("1", "x".repeat(500))],
      { messages: 2, characters: 100 },
      ["h1", "c1", "r-1"],
    ],
    [
      "gives the newest messages of a thread without a person",
      [ai("a1"), ai("a2")],
      { messages: 1, characters: 100 },
      ["a2"],
    ],
    ["gives nothing for nothing", [], many, []],
  ])("%s", (_what, messages, limits, expected) => {
    expect(ids(newest(messages, limits))).toEqual(expected);
  });

  it("sends no more from a thread of a thousand messages than from one of a hundred", () => {
    const thread = Array.from({ length: 1000 }, (_, at) => (at % 2 ? ai(`a${at}`) : human(`h${at}`)));
    const sent = newest([...thread, human("last")], { messages: 20, characters: 1000 });
    expect(sent.length).toBeLessThanOrEqual(20);
    expect(sent.at(-1)?.id).toBe("last");
  });
});
