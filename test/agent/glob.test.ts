import { describe, expect, it } from "vitest";
import { readGlob } from "../../src/agent/files/glob.ts";

describe("a pattern for paths", () => {
  it.each([
    ["**/*.csv", "a.csv", true],
    ["**/*.csv", "x/y/a.csv", true],
    ["*.csv", "x/a.csv", false],
    ["**", "a/b", true],
    ["/uploads/*", "uploads/a", true],
    ["uploads/**", "outputs/a", false],
    ["**/a/**/b", "a/b", true],
    ["**/a/**/b", "x/a/y/z/b", true],
    ["*.{csv,tsv}", "a.tsv", true],
    ["{uploads,outputs}/**", "outputs/x/y", true],
    ["a?c", "a🦊c", true],
    ["a?c", "ac", false],
    ["*a*b", "xxaxxb", true],
    ["*a*b", "xxbxxa", false],
    ["**/*report*2024*.pdf", "uploads/my report of 2024-01.pdf", true],
    ["notes (2).txt", "notes (2).txt", true],
    ["a.c", "abc", false],
    ["../a", "a", false],
    ["", "a", false],
  ])("%s on %s: %s", (pattern, path, fit) => {
    expect(readGlob(pattern)?.(path)).toBe(fit);
  });

  // With regular expressions, or with all alternatives written out, each of these takes longer than anybody waits.
  it.each([
    [`${"*a".repeat(80)}b`, "a".repeat(250)],
    [`${"**/a/".repeat(40)}b`, `${"a/".repeat(2_000)}c`],
    ["+(a|aa)+(a|aa)+(a|aa)+(a|aa)b", "a".repeat(250)],
    ["{1..100000000}", "x"],
  ])("that is made to take for ever takes no time: %s", (pattern, path) => {
    expect(readGlob(pattern)?.(path)).toBe(false);
  });

  it("with too many alternatives is none", () => {
    expect(readGlob("{a,b}".repeat(22))).toBeUndefined();
  });
});
