import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { correctionMessage, noteMessage } from "../../../src/agent/messages.ts";
import { exceedsLimits, splitForRoom, splitForSummary } from "../../../src/agent/window/plan.ts";

const human = (id: string): BaseMessage => new HumanMessage({ id, content: id });
const ai = (id: string): BaseMessage => new AIMessage({ id, content: id });
const call = (id: string): BaseMessage =>
  new AIMessage({ id, content: "", tool_calls: [{ id: `c${id}`, name: "look", args: {} }] });
const result = (id: string): BaseMessage =>
  new ToolMessage({ id: `r${id}`, content: id, tool_call_id: `c${id}` });
const note = noteMessage("where you are", { lasting: true });
const names = (messages: readonly BaseMessage[]) => messages.map(({ id }) => id ?? "note");

/** Each message takes ten tokens. */
const measure = (window: number, limits = { messages: 100, characters: 10_000 }) => ({
  window,
  limits,
  tokensOf: () => 10,
});

describe("what stays of a thread that is summed up", () => {
  it.each<[string, readonly BaseMessage[], number, readonly string[]]>([
    [
      "the newest tenth of the window",
      [human("1"), ai("2"), human("3"), ai("4"), human("5"), ai("6"), human("7")],
      300,
      ["5", "6", "7"],
    ],
    [
      "the question and the newest batch of a long loop, whole",
      [
        human("1"),
        ai("2"),
        human("3"),
        call("4"),
        result("4"),
        call("5"),
        result("5"),
        call("6"),
        result("6"),
      ],
      300,
      ["3", "6", "r6"],
    ],
    [
      "corrections of the question, and the batch before the newest of them",
      [human("1"), ai("2"), human("3"), call("4"), result("4"), correctionMessage({ id: "e", text: "no" })],
      100,
      ["3", "4", "r4", "e"],
    ],
    ["notes that requests alone have", [note, human("1"), ai("2"), human("3")], 100, ["note", "3"]],
    ["a question alone, however long", [human("1"), ai("2"), human("3")], 10, ["3"]],
    ["all of a thread that fits", [human("1"), ai("2"), human("3")], 1_000, ["1", "2", "3"]],
  ])("is %s", (_what, messages, window, kept) => {
    const parts = splitForSummary(messages, measure(window));
    expect(names(parts.kept)).toEqual(kept);
    expect([...parts.kept, ...parts.dropped].length).toBe(messages.length);
  });

  it("is a quarter of the limits where those are the reason, so that the next summary is not due at once", () => {
    const messages = Array.from({ length: 41 }, (_, n) => (n % 2 === 0 ? human(String(n)) : ai(String(n))));
    const limits = { messages: 40, characters: 10_000 };
    expect(exceedsLimits(messages, limits)).toBe(true);
    expect(splitForSummary(messages, measure(1_000_000, limits)).kept).toHaveLength(9);
    const characters = { messages: 100, characters: 60 };
    expect(exceedsLimits(messages, characters)).toBe(true);
    expect(splitForSummary(messages, measure(1_000_000, characters)).kept).toHaveLength(7);
  });
});

it("leaves room for the prompt and the tools where nothing can be summed up", () => {
  const messages = [human("1"), ai("2"), human("3"), ai("4"), human("5")];
  expect(names(splitForRoom(messages, measure(100), 0).kept)).toEqual(["1", "2", "3", "4", "5"]);
  expect(names(splitForRoom(messages, measure(100), 50).kept)).toEqual(["3", "4", "5"]);
  expect(names(splitForRoom(messages, measure(100), 500).kept)).toEqual(["5"]);
});
