import { describe, expect, it } from "vitest";
import { render } from "../../channels/telegram/render.ts";
import type { Mark, Rendered } from "../../src/core/tree.ts";
import { splitRendered } from "../../src/reply/split.ts";
import { parseMarkdown } from "../../src/reply/tree.ts";

const plain = (text: string): Rendered => ({ text, marks: [] });
const texts = (text: string, limit: number) => splitRendered(plain(text), limit).map((piece) => piece.text);
const answer = (markdown: string, limit = 4096) => splitRendered(render(parseMarkdown(markdown)), limit);

describe("where a text is cut", () => {
  it.each<[string, string, number, string[]]>([
    ["nowhere when it fits", "a b\n\nc", 6, ["a b\n\nc"]],
    ["at an empty line rather than at a later line's end", "aaaaaa\n\nb\nccccc", 10, ["aaaaaa", "b\nccccc"]],
    ["at a line's end rather than after a sentence", "aaaaa\nb. ccccc", 10, ["aaaaa", "b. ccccc"]],
    ["after a sentence rather than at a later blank", "aaaa. b ccccc", 10, ["aaaa.", "b ccccc"]],
    ["after a sentence in Chinese", "一二三。 四五 六七八九", 8, ["一二三。", "四五 六七八九"]],
    ["at a blank", "aaa bbb ccc ddd", 8, ["aaa bbb", "ccc ddd"]],
    ["within a word that has no blank", "aaaaaaaaaaaa", 5, ["aaaaa", "aaaaa", "aa"]],
    ["not at an empty line that would leave little", "a\n\nbbbb bbbb bbbb", 12, ["a\n\nbbbb bbbb", "bbbb"]],
    ["right where the window ends", "aaaaa bbbbb", 5, ["aaaaa", "bbbbb"]],
  ])("%s", (_, text, limit, pieces) => {
    expect(texts(text, limit)).toEqual(pieces);
  });

  it.each([
    ["a family", "👨‍👩‍👧‍👦", 11],
    ["a flag", "🇩🇪", 4],
    ["a skin tone", "👍🏽", 4],
    ["a keycap", "1️⃣", 3],
    ["a pair of surrogates", "🦊", 2],
    ["a letter and its accent", "e\u0301", 2],
  ])("never within %s", (_, grapheme, length) => {
    const pieces = texts(grapheme.repeat(500), 100);
    expect(pieces.join("")).toBe(grapheme.repeat(500));
    expect(pieces.map((piece) => piece.length % length)).toEqual(pieces.map(() => 0));
  });

  it("not at a blank that carries an accent", () => {
    expect(texts("aaaa \u0301bbbb cc", 8)).toEqual(["aaaa \u0301bb", "bb cc"]);
  });

  it("between surrogates never, also in one grapheme longer than a message", () => {
    const zalgo = `🦊${"\u{1d165}".repeat(100)}`;
    const pieces = texts(zalgo, 31);
    expect(pieces.join("")).toBe(zalgo);
    expect(pieces.some((piece) => /\p{Surrogate}/u.test(piece))).toBe(false);
  });

  it("not within a link or inline code that fits into the next piece", () => {
    const marks: Mark[] = [{ type: "text_link", offset: 6, length: 9, url: "https://a.de" }];
    expect(splitRendered({ text: "aa bb cc dd ee ff", marks }, 12).map(({ text }) => text)).toEqual([
      "aa bb",
      "cc dd ee ff",
    ]);
  });

  it("packs as many paragraphs into a message as it holds", () => {
    const pieces = answer(`${"word ".repeat(99)}end.\n\n`.repeat(12));
    expect(pieces.map(({ text }) => text.length)).toEqual([8 * 499 + 7 * 2, 4 * 499 + 3 * 2]);
  });

  it("before a heading, rather than behind it", () => {
    const pieces = answer(`${"a".repeat(70)}\n\n# One\n\n## Two\n\n${"b".repeat(60)}`, 100);
    expect(pieces.map(({ text }) => text.slice(-3))).toEqual(["aaa", "bbb"]);
    expect(pieces[1]?.text.startsWith("One\n\nTwo\n\nb")).toBe(true);
  });

  it("behind a heading where nothing stands before it", () => {
    expect(answer(`# ${"a".repeat(70)}\n\n${"b".repeat(60)}`, 100).map(({ text }) => text)).toEqual([
      "a".repeat(70),
      "b".repeat(60),
    ]);
  });
});

describe("marks at a cut", () => {
  it("go on in the next piece with url and language", () => {
    const text = "aaaaa bbbbb";
    const marks: Mark[] = [
      { type: "bold", offset: 0, length: 11 },
      { type: "text_link", offset: 2, length: 9, url: "https://a.de" },
    ];
    expect(splitRendered({ text, marks }, 8)).toEqual([
      {
        text: "aaaaa",
        marks: [
          { type: "bold", offset: 0, length: 5 },
          { type: "text_link", offset: 2, length: 3, url: "https://a.de" },
        ],
      },
      {
        text: "bbbbb",
        marks: [
          { type: "bold", offset: 0, length: 5 },
          { type: "text_link", offset: 0, length: 5, url: "https://a.de" },
        ],
      },
    ]);
  });

  it("keep every line of code whole, once, with its indentation and language", () => {
    const lines = Array.from(
      { length: 300 },
      (_, n) => `${"  ".repeat(n % 4)}value_${n} = compute(1234)  # note`,
    );
    const pieces = answer(`Intro.\n\n\`\`\`python\n${lines.join("\n")}\n\`\`\`\n\nOutro.`);
    const code = pieces.map(({ text, marks }) =>
      marks.map(({ language, offset, length }) => [language, text.slice(offset, offset + length)]),
    );
    expect(code.every((marks) => marks.length === 1 && marks[0]?.[0] === "python")).toBe(true);
    expect(code.flatMap((marks) => marks.flatMap((mark) => mark[1]?.split("\n")))).toEqual(lines);
  });

  it("are at most 100 in a piece, and quoted lines stay quoted", () => {
    const pieces = answer("> **x**\n".repeat(1250));
    expect(pieces.every(({ marks }) => marks.length <= 100 && marks[0]?.type === "blockquote")).toBe(true);
    expect(pieces.map(({ text }) => text).join("\n")).toBe(
      Array.from({ length: 1250 }, () => "x").join("\n"),
    );
    expect(pieces).toHaveLength(13);
  });

  it("with long addresses are fewer, as the server takes 9,500 bytes of them", () => {
    const links = `[a](https://a.de/${"x".repeat(500)}) `.repeat(40);
    for (const { marks } of answer(links)) {
      expect(marks.reduce((sum, { url = "" }) => sum + url.length, 0)).toBeLessThan(9_500);
    }
  });
});

describe("pieces", () => {
  it("are trimmed, with their marks moved along", () => {
    const rendered = { text: "\n  a b \n", marks: [{ type: "bold", offset: 1, length: 8 }] };
    expect(splitRendered(rendered, 100)).toEqual([
      { text: "a b", marks: [{ type: "bold", offset: 0, length: 3 }] },
    ]);
  });

  it("are none for a text in which nothing can be seen", () => {
    for (const text of ["", " \n\t", "\u00a0\u200b\ufeff", "\u2800\u3000", "\u{e0041}"]) {
      expect(splitRendered(plain(text), 4096)).toEqual([]);
    }
  });

  it("lose no word of a text in which nothing fits", () => {
    expect(texts("ab cd", 1)).toEqual(["a", "b", "c", "d"]);
  });

  it("of a long text are there in no time", () => {
    const started = performance.now();
    const pieces = answer("**word** [a](https://a.de) `b`, c. ".repeat(20_000));
    expect(pieces.length).toBeGreaterThan(50);
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
