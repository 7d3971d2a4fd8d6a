import { expect, it } from "vitest";
import { bytesWords } from "../../src/core/words.ts";

it.each([
  [0, "0 bytes"],
  [1, "1 byte"],
  [999, "999 bytes"],
  [1_000, "1 KB"],
  [999_499, "999 KB"],
  [999_500, "1 MB"],
  [20_000_001, "20 MB"],
])("%i bytes are told as %s", (bytes, words) => expect(bytesWords(bytes)).toBe(words));
