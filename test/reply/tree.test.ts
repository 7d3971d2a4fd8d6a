import { describe, expect, it } from "vitest";
import type { BlockNode, InlineNode } from "../../src/core/tree.ts";
import { parseMarkdown } from "../../src/reply/tree.ts";

const blocks = (markdown: string) => parseMarkdown(markdown).blocks;
const text = (words: string): InlineNode => ({ type: "text", text: words });
const code = (words: string): InlineNode => ({ type: "code", text: words });
const lineEnd: InlineNode = { type: "break" };
const paragraph = (...inline: InlineNode[]): BlockNode => ({ type: "paragraph", inline });

describe("blocks", () => {
  it.each<[string, BlockNode[]]>([
    [
      "# a\n\nb\n===",
      [
        { type: "heading", level: 1, inline: [text("a")] },
        { type: "heading", level: 1, inline: [text("b")] },
      ],
    ],
    ["```ts title=x\n\ta\n```", [{ type: "code", text: "\ta", language: "ts" }]],
    ["~~~\na\n", [{ type: "code", text: "a" }]],
    ["    a\n\n    b", [{ type: "code", text: "a\n\nb" }]],
    ["a\r\n\r\n```\r\nb\r\nc\r\n```", [paragraph(text("a")), { type: "code", text: "b\nc" }]],
    [
      "> a\n> > b",
      [{ type: "quote", blocks: [paragraph(text("a")), { type: "quote", blocks: [paragraph(text("b"))] }] }],
    ],
    [
      "- a\n- b",
      [
        {
          type: "list",
          loose: false,
          items: [{ blocks: [paragraph(text("a"))] }, { blocks: [paragraph(text("b"))] }],
        },
      ],
    ],
    [
      "3. a\n\n4. b",
      [
        {
          type: "list",
          start: 3,
          loose: true,
          items: [{ blocks: [paragraph(text("a"))] }, { blocks: [paragraph(text("b"))] }],
        },
      ],
    ],
    ["0. a", [{ type: "list", start: 0, loose: false, items: [{ blocks: [paragraph(text("a"))] }] }]],
    [
      "- [x] a\n- [ ] b",
      [
        {
          type: "list",
          loose: false,
          items: [
            { checked: true, blocks: [paragraph(text("a"))] },
            { checked: false, blocks: [paragraph(text("b"))] },
          ],
        },
      ],
    ],
    ["***", [{ type: "rule" }]],
    ["<div>\n**a**\n</div>", [paragraph(text("<div>"), lineEnd, text("**a**"), lineEnd, text("</div>"))]],
    [
      "| a | b |\n|:-:|--:|\n| c\\|d | |",
      [
        {
          type: "table",
          header: [
            { align: "center", inline: [text("a")] },
            { align: "right", inline: [text("b")] },
          ],
          rows: [
            [
              { align: "center", inline: [text("c|d")] },
              { align: "right", inline: [] },
            ],
          ],
        },
      ],
    ],
    ["a\n$$\nx\n$$\nb", [paragraph(text("a")), { type: "math", text: "x" }, paragraph(text("b"))]],
    ["$$x + 1$$", [{ type: "math", text: "x + 1" }]],
    [
      "$$\nx\n\ny\n$$",
      [paragraph(text("$$"), lineEnd, text("x")), paragraph(text("y"), lineEnd, text("$$"))],
    ],
    ["", []],
    ["[a]: b", []],
  ])("reads %j", (markdown, expected) => {
    expect(blocks(markdown)).toEqual(expected);
  });
});

describe("inline text", () => {
  it.each<[string, InlineNode[]]>([
    [
      "a\n  b  \nc\\\nd<br>e<BR/>f",
      [
        text("a"),
        lineEnd,
        text("b"),
        lineEnd,
        text("c"),
        lineEnd,
        text("d"),
        lineEnd,
        text("e"),
        lineEnd,
        text("f"),
      ],
    ],
    ["**a *b***", [{ type: "bold", inline: [text("a "), { type: "italic", inline: [text("b")] }] }]],
    ["~~a~~", [{ type: "strike", inline: [text("a")] }]],
    ["`` a`b ``", [code("a`b")]],
    ["`&amp;` &amp; \\&amp; &nope; &#0; &#x1F600;", [code("&amp;"), text(" & &amp; &nope; \ufffd 😀")]],
    ["\\*a\\* 2\\. \\a", [text("*a* 2. \\a")]],
    ["[a](<b c> 'd')", [{ type: "link", url: "b c", inline: [text("a")] }]],
    [
      "[a][b] [c]\n\n[b]: /x&amp;y\n[c]: /z",
      [
        { type: "link", url: "/x&y", inline: [text("a")] },
        text(" "),
        { type: "link", url: "/z", inline: [text("c")] },
      ],
    ],
    [
      "<https://a.de/?x&amp;y>",
      [{ type: "link", url: "https://a.de/?x&amp;y", inline: [text("https://a.de/?x&amp;y")] }],
    ],
    ["![*a* `b`\nc](d.png)", [{ type: "image", url: "d.png", alt: "a b c" }]],
    ["a <b>c</b> &lt;d&gt;", [text("a <b>c</b> <d>")]],
    ["$5 and $10 or $a$5", [text("$5 and $10 or $a$5")]],
    [
      "$a*b$ and *c $d*e$ f*",
      [code("a*b"), text(" and "), { type: "italic", inline: [text("c "), code("d*e"), text(" f")] }],
    ],
    ["the $n$th, \\$x\\$, $ y $, `$z$`", [text("the "), code("n"), text("th, $x$, $ y $, "), code("$z$")]],
    ["$HOME is `$HOME`", [text("$HOME is "), code("$HOME")]],
    ["a $$x$$ b", [text("a "), code("x"), text(" b")]],
    ["a\u0000b", [text("a\ufffdb")]],
  ])("reads %j", (markdown, expected) => {
    expect(blocks(markdown)).toEqual([paragraph(...expected)]);
  });
});

describe("footnotes", () => {
  it("are numbered as they are first named, and listed at the end", () => {
    expect(blocks("a[^z] b[^y] c[^z]\n\n[^y]: Y\n    more\n[^z]: Z\n\nd")).toEqual([
      paragraph(text("a[1] b[2] c[1]")),
      paragraph(text("d")),
      paragraph(text("[1] Z"), lineEnd, text("[2] Y"), lineEnd, text("more")),
    ]);
  });

  it("keep the blocks of a longer note, and a note that nobody names", () => {
    expect(blocks("a[^1]\n\n[^1]: b\n\n    - c\n\n[^2]: d")).toEqual([
      paragraph(text("a[1]")),
      paragraph(text("[1] b")),
      { type: "list", loose: false, items: [{ blocks: [paragraph(text("c"))] }] },
      paragraph(text("[2] d")),
    ]);
  });

  it("may name each other, also in a ring", () => {
    expect(blocks("a[^1]\n\n[^1]: b[^2]\n[^2]: c[^1]")).toEqual([
      paragraph(text("a[1]")),
      paragraph(text("[1] b[2]"), lineEnd, text("[2] c[1]")),
    ]);
  });

  it("are ordinary text without a definition", () => {
    expect(blocks("a[^1] `[^1]`")).toEqual([paragraph(text("a[^1] "), code("[^1]"))]);
  });

  it("do not swallow the list or the code that follows", () => {
    expect(blocks("[^1]: a\n- b\n\n[^2]: c\n```\nd\n```").map(({ type }) => type)).toEqual([
      "list",
      "code",
      "paragraph",
    ]);
  });
});

describe("an answer that is out to break the parser", () => {
  it.each([
    ["quotes", ">".repeat(20_000) + "a"],
    ["lists", Array.from({ length: 300 }, (_, depth) => `${" ".repeat(2 * depth)}- a`).join("\n")],
    ["emphasis", "*a **b ".repeat(3_000)],
    ["brackets", "[".repeat(5_000) + "a" + "](b)".repeat(5_000)],
    ["dollars", "$a ".repeat(10_000)],
    ["notes", "[^a".repeat(5_000)],
    ["quoted notes", "[^a]: ".repeat(3_000) + "[^a]"],
  ])("is read in time, with its words: %s", (_, markdown) => {
    const started = performance.now();
    expect(JSON.stringify(blocks(markdown))).toContain("a");
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});
