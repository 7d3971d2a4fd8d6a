import { expect, it } from "vitest";
import { titleOf } from "../../src/agent/title.ts";

it.each([
  ["What is the weather in Berlin like today?", "What is the weather in Berlin …"],
  ["\n  Hello  \nmore", "Hello"],
  ["[from Ada (1)]\n> quoted\nthe ships", "the ships"],
  // In a group the agent is named first.
  ["@perch_bot, what now?", "what now?"],
  ["@perch_bot\n@other: the ships", "the ships"],
  ["ask @ada first", "ask @ada first"],
  ["ada@example.org wrote", "ada@example.org wrote"],
  ["@perch_bot", ""],
])("of %j is %j", (text, title) => {
  expect(titleOf([{ type: "text", text }])).toBe(title);
});

it("is cut where the first words are long", () => {
  const title = titleOf([{ type: "text", text: "🚢".repeat(100) }]);
  expect(title.length).toBeLessThanOrEqual(60);
  expect(title).toBe(title.toWellFormed());
});
