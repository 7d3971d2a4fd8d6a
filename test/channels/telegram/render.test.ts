import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { render } from "../../../channels/telegram/render.ts";
import type { Mark } from "../../../src/core/tree.ts";
import { splitRendered } from "../../../src/reply/split.ts";
import { parseMarkdown } from "../../../src/reply/tree.ts";

type Case = {
  readonly name: string;
  readonly markdown: string;
  readonly expected_plain_text: string;
  readonly expected_entities: readonly (Mark & { readonly text: string })[];
  readonly limit?: number;
};

const fixture = new URL("../../fixtures/cases/telegram-markdown.json", import.meta.url);
const cases = JSON.parse(readFileSync(fixture, "utf8")) as readonly Case[]; // a fixture of ours

const shown = (markdown: string) => render(parseMarkdown(markdown));

describe("the cases of telegram-markdown.json", () => {
  it("are all here", () => {
    expect(cases).toHaveLength(13);
  });

  it.each(cases)("renders $name", ({ markdown, expected_plain_text, expected_entities }) => {
    const { text, marks } = shown(markdown);
    // The last case's texts are shortened in the file; that its marks lie where they should is in their offsets.
    const [whole] = splitRendered({ text, marks }, 1_000_000); // takes the heading of a table off its mark
    const said = (whole?.marks ?? []).map((mark) => ({
      ...mark,
      text: text.slice(mark.offset, mark.offset + mark.length),
    }));
    const shorten = (words: string) =>
      words.length > 1000 ? `${words.slice(0, 60)}…(${words.length} units)` : words;

    expect(text).toEqual(expected_plain_text);
    expect(said.map((mark) => ({ ...mark, text: shorten(mark.text) }))).toEqual(expected_entities);
  });

  it("splits code over the limit at line ends, and every piece with code says its language", () => {
    const {
      markdown,
      expected_plain_text,
      limit = 0,
    } = cases.find((one) => one.limit !== undefined) ?? cases[0]!; // twelve others stand in the file
    const pieces = splitRendered(shown(markdown), limit);

    expect(pieces.map(({ text }) => text.length)).toEqual([4053, 4058, 1337]);
    expect(pieces.map(({ marks }) => marks)).toEqual([
      [{ type: "pre", offset: 8, length: 4045, language: "python" }],
      [{ type: "pre", offset: 0, length: 4058, language: "python" }],
      [
        { type: "pre", offset: 0, length: 1324, language: "python" },
        { type: "bold", offset: 1332, length: 4 },
      ],
    ]);
    const bare = (text: string) => text.replaceAll(/\s/g, "");
    expect(bare(pieces.map(({ text }) => text).join(""))).toBe(bare(expected_plain_text));
  });
});

describe("what Telegram has no mark for", () => {
  it.each([
    ["# Title\n\ntext", "Title\n\ntext"],
    ["- a\n  - b\n    - c\n- d", "• a\n  • b\n    • c\n• d"],
    ["3. a\n4. b", "3. a\n4. b"],
    ["- [ ] open\n- [x] done", "☐ open\n☑ done"],
    ["a\n\n---\n\nb", "a\n\n──────────\n\nb"],
    ["> a\n> > b\n> > c", "a\n\n> b\n> c"],
    ["a\nb  \nc<br>d", "a\nb\nc\nd"],
    ["x <b>y</b> <!-- z -->", "x <b>y</b> <!-- z -->"],
    ["a[^1] and[^n].\n\n[^n]: Second.\n[^1]: First.", "a[1] and[2].\n\n[1] First.\n[2] Second."],
    ["a[^missing]", "a[^missing]"],
    ["\ta\n\n\tb", "a\n\nb"],
    ["a\tb", "a    b"],
  ])("writes %j as text", (markdown, text) => {
    expect(shown(markdown).text).toBe(text);
  });

  it("marks a heading as bold once, also where it is bold by itself", () => {
    expect(shown("# **a** b")).toEqual({ text: "a b", marks: [{ type: "bold", offset: 0, length: 3 }] });
  });

  it("keeps marks on their words in lists, quotes and both", () => {
    const { text, marks } = shown("1. a\n   > **b**\n   > *c*\n2. `d`");
    expect(marks.map((mark) => [mark.type, text.slice(mark.offset, mark.offset + mark.length)])).toEqual([
      ["blockquote", "b\n   c"],
      ["bold", "b"],
      ["italic", "c"],
      ["code", "d"],
    ]);
  });

  it("does not indent the lines of code in a list", () => {
    const { text, marks } = shown("- a\n  ```\n  x\n  y\n  ```");
    expect(text).toBe("• a\n  x\n  y".replace("\n  y", "\ny"));
    expect(marks).toEqual([{ type: "pre", offset: 6, length: 3 }]);
  });
});

describe("links", () => {
  it.each([
    ["[a](http://localhost/x)", "a (http://localhost/x)"],
    ["[a](javascript:alert(1))", "a (javascript:alert(1))"],
    ["[a](mailto:b@c.de)", "a (mailto:b@c.de)"],
    ["[a](tel:+491234)", "a (tel:+491234)"],
    ["[a](./b.md)", "a (./b.md)"],
    ["[a](http://[::1]/)", "a (http://[::1]/)"],
    ["[a](http://a..b/)", "a (http://a..b/)"],
    ["[a](tg://)", "a (tg://)"],
    ["[a](tg://b.de/c)", "a (tg://b.de/c)"],
    ["[a](https://1.2.3/)", "a (https://1.2.3/)"],
    ["[a](https://0x7f.1/)", "a (https://0x7f.1/)"],
    ["[a](https://b.de\\c)", "a (https://b.de\\c)"],
    ["[a](https://b.c/)", "a (https://b.c/)"],
    ["[](https://a.de/x)", "https://a.de/x"],
    [`[a](https://b.de/${"c".repeat(5_000)})`, `a (https://b.de/${"c".repeat(5_000)})`],
    ["![x](data:image/png;base64,AAAA)", "x"],
    ["www.example.com and a@example.com", "www.example.com and a@example.com"],
  ])("that Telegram would refuse are written out: %s", (markdown, text) => {
    expect(shown(markdown)).toEqual({ text, marks: [] });
  });

  it.each([
    ["[a](https://b.de/(x)?y=1#z)", "https://b.de/(x)?y=1#z"],
    ["[a](tg://resolve?domain=b)", "tg://resolve?domain=b"],
    ["[a](https://192.0.2.1:8080/b)", "https://192.0.2.1:8080/b"],
    ["[a](https://münchen.de)", "https://münchen.de"],
    ["[a](https://me:pw@b.de?x)", "https://me:pw@b.de?x"],
    ["[a](<https://b.de/x y>)", "https://b.de/x%20y"],
    ["[a](https://b.de/?x&amp;y)", "https://b.de/?x&y"],
    ["[a][r]\n\n[r]: https://b.de 'title'", "https://b.de"],
    ["[![a](https://b.de/i.png)](https://b.de/full)", "https://b.de/full"],
  ])("that it takes are marks: %s", (markdown, url) => {
    expect(shown(markdown)).toEqual({ text: "a", marks: [{ type: "text_link", offset: 0, length: 1, url }] });
  });
});

describe("complaints about formatting", () => {
  it("complaint 43: keeps a fence after a list, and a fence within a longer one", () => {
    expect(shown("1. Foo:\n\n```\nBar\n```")).toEqual({
      text: "1. Foo:\n\nBar",
      marks: [{ type: "pre", offset: 9, length: 3 }],
    });
    const inner = "```js\na\n```";
    expect(shown("````md\n" + inner + "\n````")).toEqual({
      text: inner,
      marks: [{ type: "pre", offset: 0, length: inner.length, language: "md" }],
    });
  });

  it("complaint 45: splits a table of many rows of & and < within the limit, at line ends, and repeats its heading", () => {
    const rows = Array.from({ length: 160 }, (_, n) => `| **a & b < ${n}** | ${"x<&".repeat(7)} |`);
    const pieces = splitRendered(shown(["| a | b |", "|---|---|", ...rows].join("\n")), 4096);

    expect(pieces.every(({ text }) => text.length <= 4096)).toBe(true);
    expect(pieces.map(({ marks }) => marks)).toEqual(
      pieces.map(({ text }) => [{ type: "pre", offset: 0, length: text.length }]),
    );
    const [first, second] = pieces.map(({ text }) => text.split("\n"));
    expect(second?.slice(0, 2)).toEqual(first?.slice(0, 2));
    const lines = pieces.flatMap(({ text }) => text.split("\n").slice(2));
    expect(lines.map((line) => /^a & b < (\d+) +\| (?:x<&){7}$/.exec(line)?.[1])).toEqual(
      rows.map((_, n) => String(n)),
    );
  });

  it("tells a table that is too wide for a phone as lines of key and value", () => {
    const wide = "a long sentence about it, with a [link](https://a.de)";
    expect(shown(`| Name | Notes | |\n|---|---|---|\n| Ada | ${wide} | x |\n| **Bob** | | |`)).toEqual({
      text: "Name: Ada\nNotes: a long sentence about it, with a link\nx\n\nName: Bob",
      marks: [
        { type: "bold", offset: 0, length: 4 },
        { type: "bold", offset: 10, length: 5 },
        { type: "text_link", offset: 50, length: 4, url: "https://a.de" },
        { type: "bold", offset: 58, length: 4 },
        { type: "bold", offset: 64, length: 3 },
      ],
    });
  });

  it("has no language that is none: a monstrous info line would be said again in each piece", () => {
    const { marks } = shown(`\`\`\`${"x".repeat(5_000)} y\na\n\`\`\``);
    expect(marks).toEqual([{ type: "pre", offset: 0, length: 1 }]);
  });

  it("complaint 47: shows signs of HTML as they are, escaped nowhere", () => {
    expect(shown("a < b && **c**").text).toBe("a < b && c");
  });

  it("complaint 51: leaves the stars of a payment code alone, outside of code and inside", () => {
    expect(shown("CODE70503***6304 `CODE70503***6304`").text).toBe("CODE70503***6304 CODE70503***6304");
  });

  it("complaint 49: gives no pieces for an answer that says nothing", () => {
    for (const nothing of ["", " \n ", "&nbsp;", "\u200b\u2060".slice(0, 1), "[a]: b"]) {
      expect(splitRendered(shown(nothing), 4096)).toEqual([]);
    }
  });
});

describe("text as the server stores it", () => {
  it.each([
    ["A\u030a", "\u00c5"],
    ["a\u202eb\u202cc", "abc"],
    ["a\u0007b", "a b"],
    ["a\u200e\u200fb", "a\u200c\u200fb"],
    ["x\u030a", "x"],
    ["a\ud800b", "a\ufffdb"],
  ])("is %j already", (markdown, text) => {
    expect(shown(markdown).text).toBe(text);
  });
});
