import { describe, expect, it } from "vitest";
import { notedIn } from "../../src/agent/distil-answer.ts";

const TEA = { content: "likes tea", confidence: Number.NaN, saidAt: Number.NaN, replaces: [] };

describe("the facts in what a model answers", () => {
  it.each([
    ["plain JSON", '{"facts":[{"content":"likes tea"}]}'],
    ["a fence", '```json\n{"facts":[{"content":"likes tea"}]}\n```'],
    ["prose around a fence", 'Here are the facts:\n```json\n{"facts":[{"content":"likes tea"}]}\n```\nDone.'],
    [
      "prose without a fence",
      'Sure! {"facts":[{"content":"likes tea"}]} That is all {I think}.'.replace(" {I think}", ""),
    ],
    ["a bare list", '[{"content":"likes tea"}]'],
    ["a list of texts", '{"facts":["likes tea"]}'],
    ["items that are none", '{"facts":[7,{"content":3},{"content":"likes tea"},null]}'],
  ])("are read out of %s", (_what, answer) => {
    expect(notedIn(answer)).toEqual([TEA]);
  });

  it("have numbers, also as text, and one number where a list is asked for", () => {
    const answer = '{"facts":[{"content":"likes tea","confidence":"0.7","saidAt":"3","replaces":4}]}';
    expect(notedIn(answer)).toEqual([{ content: "likes tea", confidence: 0.7, saidAt: 3, replaces: [4] }]);
  });

  it("can be none", () => {
    expect(notedIn('{"facts":[]}')).toEqual([]);
    expect(notedIn("Nothing to remember.\n```\n[]\n```")).toEqual([]);
  });

  it.each([
    "Sure, I will remember that!",
    "",
    "{}",
    '{"facts":"likes tea"}',
    '{"facts":[{"content":"li',
    "null",
    "[[[[",
    '{"facts":[1,2]}',
  ])("are not read out of %j, which is not the same as none", (answer) => {
    expect(notedIn(answer)).toBeUndefined();
  });
});
