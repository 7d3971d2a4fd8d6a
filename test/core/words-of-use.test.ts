import { expect, it } from "vitest";
import { costWords, numberWords, tokenWords } from "../../src/core/words-of-use.ts";

it.each([
  [0, "en", "0"],
  [999, "en", "999"],
  [12_345, "en", "12,345"],
  [1_234_567.4, "de", "1.234.567"],
] as const)("writes %s in %s as %s", (count, language, words) => {
  expect(numberWords(count, language)).toBe(words);
});

it.each([
  [12_345, false, "en", "12,345"],
  [12_345, true, "en", "about 12,000"],
  [12_345, true, "de", "etwa 12.000"],
  [96, true, "en", "about 96"],
  [0, true, "en", "about 0"],
] as const)("tells %s tokens (a guess: %s) in %s as %s", (tokens, estimated, language, words) => {
  expect(tokenWords({ messages: 1, tokens, estimated, window: 1 }, language)).toBe(words);
});

it.each([
  [12, "0.000012"],
  [12_345, "0.0123"],
  [2_500_000, "2.50"],
])("tells %s millionths as %s", (micros, words) => {
  expect(costWords(micros)).toBe(words);
});
