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
    ["    a\n\n\n", [{ type: "code", text: "a" }]],
    ["```\na\n\n\n```", [{ type: "code", text: "a\n\n" }]],
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
    ["\ufeff# a", [{ type: "heading", level: 1, inline: [text("a")] }]],
  ])("reads %j", (markdown, expected) => {
    expect(blocks(markdown)).toEqual(expected);
  });
});

describe("a row that has more cells than its table", () => {
  it.each([
    ["| 1 | 2 | 3 |", ["1", "2 | 3"]],
    ["| `a|b` | c |", ["`a", "b` | c"]],
    ["1 | 2 | 3 \\| 4", ["1", "2 | 3 | 4"]],
    ["| 1 | 2 |", ["1", "2"]],
    ["| 1 |", ["1", ""]],
    ["| 1 | 2 | |", ["1", "2"]],
  ])("keeps them: %s", (row, cells) => {
    for (const before of ["", "> ", "- "]) {
      const indent = before === "- " ? "  " : before;
      const [block] = blocks(`${before}| a | b |\n${indent}|---|---|\n${indent}${row}`);
      expect(JSON.stringify(block)).toContain(
        JSON.stringify(cells.map((words) => ({ inline: words === "" ? [] : [text(words)] }))),
      );
    }
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
    [
      "https://a.de/b![c](d.png)",
      [
        { type: "link", url: "https://a.de/b", inline: [text("https://a.de/b")] },
        { type: "image", url: "d.png", alt: "c" },
      ],
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

  it.each<[string, InlineNode[]]>([
    ["2*3*4 and f(*args, **kw), CODE70503***6304", [text("2*3*4 and f(*args, **kw), CODE70503***6304")]],
    ["a*2*b", [text("a"), { type: "italic", inline: [text("2")] }, text("b")]],
    ["my_var __a b__c", [text("my_var __a b__c")]],
    ["a **b.**c", [text("a **b.**c")]],
  ])("takes signs for signs only where they are some: %j", (markdown, expected) => {
    expect(blocks(markdown)).toEqual([paragraph(...expected)]);
  });

  it.each([
    ["**注意：**请看", "", "注意：", "请看"],
    ["これは**「重要」**です", "これは", "「重要」", "です"],
    ["**API (v2)**是", "", "API (v2)", "是"],
    ["他说**“对”**的", "他说", "“对”", "的"],
    ["**중요(필수)**한", "", "중요(필수)", "한"],
    ["**重要。**Next", "", "重要。", "Next"],
    ["中**a**文", "中", "a", "文"],
  ])("finds emphasis also where no blank stands beside it: %s", (markdown, before, bold, after) => {
    const around = (words: string) => (words === "" ? [] : [text(words)]);
    expect(blocks(markdown)).toEqual([
      paragraph(...around(before), { type: "bold", inline: [text(bold)] }, ...around(after)),
    ]);
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
    ["many notes", Array.from({ length: 8_000 }, (_, at) => `[^${at}]: a`).join("\n")],
    ["words of underscores", "_a".repeat(50_000)],
    ["halves of mail addresses", "a@".repeat(50_000)],
    ["addresses with brackets", "https://a.de/(".repeat(7_000)],
    ["addresses in addresses", "![x](y.png) " + "[a](".repeat(25_000) + " )"],
    ["emphasis that CommonMark does not end", "**中。**".repeat(16_000) + "a"],
    ["emphasis with many ends", "***a** b* ".repeat(10_000)],
    ["empty formulas", "$$\n".repeat(30_000) + "a"],
    ["lines that are almost blank", '\n\t\n"'.repeat(8_000) + "a"],
    ["almost notes", "<\n[^a]\n  ".repeat(8_000)],
    ["blanks", `a${" ".repeat(100_000)}b`],
  ])("is read in time, with its words: %s", (_, markdown) => {
    // Of the processor's time: others may be busy on it.
    const before = process.cpuUsage();
    expect(JSON.stringify(blocks(markdown))).toContain("a");
    expect(process.cpuUsage(before).user).toBeLessThan(5_000_000);
  });
});
