import { describe, expect, it } from "vitest";
import { render } from "../../channels/telegram/render.ts";
import { takeMedia } from "../../src/reply/media-refs.ts";
import { parseMarkdown } from "../../src/reply/tree.ts";

/** Parts in short: a text as a channel shows it, a medium as [path, alt]. */
const parts = (markdown: string) =>
  takeMedia(parseMarkdown(markdown)).parts.map((part) =>
    part.kind === "text" ? render(part.tree).text : [part.path, part.alt],
  );

describe("an answer cut at its media", () => {
  it.each<[string, (string | [string, string])[]]>([
    ["a\n\n![b](c.png)\n\nd", ["a", ["c.png", "b"], "d"]],
    ["![a](b.png)", [["b.png", "a"]]],
    [
      "![a](b.png)\n![c](d.png)\n\n![](e.png)",
      [
        ["b.png", "a"],
        ["d.png", "c"],
        ["e.png", ""],
      ],
    ],
    ["Look:\n![a](b.png)\nand on", ["Look:", ["b.png", "a"], "and on"]],
    ["![a](b.png) shows it", [["b.png", "a"], "shows it"]],
    ["First ![1](a), then ![2](b).\n\nEnd", ["First, then.", ["a", "1"], ["b", "2"], "End"]],
    ["a ![x](b) c", ["a c", ["b", "x"]]],
    ["a (![x](b)) c", ["a c", ["b", "x"]]],
    ["“![x](b)”", [["b", "x"]]],
    [
      "![x](b), ![y](d).",
      [
        ["b", "x"],
        ["d", "y"],
      ],
    ],
    ["![x](b)?", [["b", "x"], "?"]],
    ["- a ![x](b)\n- c", ["• a\n• c", ["b", "x"]]],
    ["**![x](b)** a", [["b", "x"], "a"]],
    ["a **![x](b)** c", ["a c", ["b", "x"]]],
    ["# ![x](b)\n\na", [["b", "x"], "a"]],
    ["- a\n- ![x](b)\n- c ![y](d)", ["• a\n• c", ["b", "x"], ["d", "y"]]],
    [
      "- ![x](b)\n- ![y](d)",
      [
        ["b", "x"],
        ["d", "y"],
      ],
    ],
    ["1. a\n2. ![x](b)\n3. c", ["1. a\n2.\n3. c", ["b", "x"]]],
    ["- [x] ![x](b)", ["☑", ["b", "x"]]],
    ["> a\n>\n> ![x](b)", ["a", ["b", "x"]]],
    ["> ![x](b)", [["b", "x"]]],
    ["| a | b |\n|---|---|\n| ![x](c) | d |", ["a | b\n--|--\n  | d", ["c", "x"]]],
    ["[![x](b)](https://a.de) c", ["https://a.de c", ["b", "x"]]],
    ["![x][r]\n\n[r]: b.png 'title'", [["b.png", "x"]]],
    ["![x](./b%20c.png)", [["./b%20c.png", "x"]]],
    ["![x](file:///b)", [["file:///b", "x"]]],
    ["a[^1]\n\n[^1]: ![x](b)", ["a[1]\n\n[1]", ["b", "x"]]],
  ])("%j", (markdown, expected) => {
    expect(parts(markdown)).toEqual(expected);
  });

  it.each([
    "`![a](b)`",
    "```\n![a](b)\n```",
    "$![a](b)$",
    "<p>\n![a](b)\n</p>",
    "![a](https://b.de/c.png)",
    "![a](data:image/png;base64,AA)",
    "![a](//b.de/c.png)",
    "![a](ftp://b.de/c.png)",
    "![a](C:\\b.png)",
    "![a]()",
    "\\![a](b)",
    "a [b](c.png)",
    "",
  ])("leaves the whole text of %j alone", (markdown) => {
    const tree = parseMarkdown(markdown);
    expect(takeMedia(tree).parts).toEqual(tree.blocks.length > 0 ? [{ kind: "text", tree }] : []);
  });
});
