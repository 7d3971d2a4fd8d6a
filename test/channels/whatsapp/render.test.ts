import { describe, expect, it } from "vitest";
import { render } from "../../../channels/whatsapp/render.ts";
import { inSigns } from "../../../channels/whatsapp/signs.ts";
import { splitRendered } from "../../../src/reply/split.ts";
import { parseMarkdown } from "../../../src/reply/tree.ts";
import { readSigns } from "../../support/whatsapp-text.ts";

const sent = (markdown: string) => inSigns(render(parseMarkdown(markdown)));

describe("what WhatsApp is sent", () => {
  it.each([
    ["**Total:** 5 and *soft* and ~~old~~", "*Total:* 5 and _soft_ and ~old~"],
    ["***a***", "_*a*_"],
    ["# A **b** title\n\ntext", "*A b title*\n\ntext"],
    ["a `b` c", "a `b` c"],
    ["```ts\n**not bold** [a](b)\n  x\n```", "```\n**not bold** [a](b)\n  x\n```"],
    ["Write `**bold**` or `_x_`", "Write `**bold**` or `_x_`"],
    [
      "* **Bold Text 1:** Regular\n* **Bold Text 2:** Regular",
      "- *Bold Text 1:* Regular\n- *Bold Text 2:* Regular",
    ],
    ["1. a\n2. b\n   - c\n     - d", "1. a\n2. b\n   - c\n     - d"],
    ["- [x] done\n- [ ] open", "☑ done\n☐ open"],
    ["> a\n> b\n>\n> > c\n\nd", "> a\n> b\n> \n> > c\n\nd"],
    [
      "[label](https://a.de/x) <https://b.de> [https://c.de](https://c.de)",
      "label (https://a.de/x) https://b.de https://c.de",
    ],
    ["![alt](https://a.de/b.png)", "alt (https://a.de/b.png)"],
    ["a\n\n---\n\nb", "a\n\n———\n\nb"],
    ["x <b>y</b> &amp; z", "x <b>y</b> & z"],
    ["| a | 日本 |\n|---|--:|\n| 1 | 2 |", "```\na | 日本\n--|-----\n1 |    2\n```"],
    [
      `| Name | Notes |\n|---|---|\n| Ada | ${"words ".repeat(6)}|`,
      `*Name*: Ada\n*Notes*: ${"words ".repeat(6).trim()}`,
    ],
    ["a[^1]\n\n[^1]: note", "a[1]\n\n[1] note"],
    ["$x_1$ and $$y$$", "`x_1` and `y`"],
  ])("for %j is %j", (markdown, expected) => {
    expect(sent(markdown)).toBe(expected);
  });
});

describe("the traps of signs", () => {
  it.each([
    // Marks end with their line, and leave blanks outside.
    ["**a\nb**", "*a*\n*b*"],
    ["**a `b` c**", "*a `b` c*"],
    // Within a word they would not be seen.
    ["foo**bar**", "foobar"],
    ["**foo**bar", "foobar"],
    ["(**a**), **b**!", "(*a*), *b*!"],
    ["👍**a**👍", "👍*a*👍"],
    ["日**本**語", "日本語"],
    // Signs of the text pair up only where they could.
    ["2\\*3\\*4 snake_case_name a\\~b\\~c", "2*3*4 snake_case_name a~b~c"],
    ["\\*a\\* \\_b\\_ \\~c\\~", "*\u200ba\u200b* _\u200bb\u200b_ ~\u200bc\u200b~"],
    ["5 \\* 3 \\* 2", "5 * 3 * 2"],
    ["\\*a", "*a"],
    ["\\*a **b**", "*\u200ba *b*"],
    ["CODE70503***6304 `CODE70503***6304`", "CODE70503***6304 `CODE70503***6304`"],
    ["\\`a\\`", "`\u200ba\u200b`"],
    ["\\> no quote", "\u200b> no quote"],
    // Code that holds backticks.
    ["`` a`b ``", "```a`b```"],
    ["````\n```js\nx\n```\n````", "```\n`\u200b``js\nx\n`\u200b``\n```"],
    // Code in a quote stands for itself.
    ["> a\n>\n> ```\n> b\n> c\n> ```\n>\n> d", "> a\n> \n```\nb\nc\n```\n> \n> d"],
  ])("of %j: %j", (markdown, expected) => {
    expect(sent(markdown)).toBe(expected);
  });

  it("are read back as what was rendered, but for the marks within words", () => {
    const rendered = render(
      parseMarkdown("**a *b* c** _d_ `*e*` \\*f\\*\n\n> quoted ~~g~~ h\n\n```\n*i*\n_j_\n```\n\n- **k:** l"),
    );
    const read = readSigns(inSigns(rendered));
    expect(read.text.replaceAll("\u200b", "")).toBe(rendered.text);
    const said = ({ text, marks }: typeof read) =>
      marks.map(({ type, offset, length }) => `${type} ${text.slice(offset, offset + length)}`).toSorted();
    expect(said(read)).toEqual(said(rendered));
  });
});

describe("a long answer on WhatsApp", () => {
  it("is counted with its signs, and every piece has its own", () => {
    const rendered = render(parseMarkdown("**bold** and _italic_ words\n> a quoted line\n\n".repeat(60)));
    const pieces = splitRendered(rendered, 300, (piece) => inSigns(piece).length);
    expect(pieces.every((piece) => inSigns(piece).length <= 300)).toBe(true);
    expect(pieces.map((piece) => inSigns(piece)).join("\n\n")).toBe(inSigns(rendered));
  });

  it("is cut in few pieces where every sign takes blanks", () => {
    const rendered = render(parseMarkdown("\\*\\*a \\*".repeat(1_000)));
    const pieces = splitRendered(rendered, 3_900, (piece) => inSigns(piece).length);
    expect(pieces.length).toBeLessThan(6);
    expect(
      pieces
        .map(({ text }) => text)
        .join("")
        .replaceAll(" ", ""),
    ).toBe(rendered.text.replaceAll(" ", ""));
  });

  it("keeps a block of code a block in each piece", () => {
    const lines = Array.from({ length: 100 }, (_, n) => `${" ".repeat(n % 3)}line ${n}`);
    const rendered = render(parseMarkdown(`\`\`\`py\n${lines.join("\n")}\n\`\`\``));
    const pieces = splitRendered(rendered, 200, (piece) => inSigns(piece).length).map(inSigns);
    expect(pieces.every((piece) => piece.startsWith("```\n") && piece.endsWith("\n```"))).toBe(true);
    expect(pieces.flatMap((piece) => piece.split("\n").slice(1, -1))).toEqual(lines);
  });
});
