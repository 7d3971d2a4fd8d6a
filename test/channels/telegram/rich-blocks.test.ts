import { describe, expect, it } from "vitest";
import { renderRich } from "../../../channels/telegram/render.ts";
import { richBlocks } from "../../../channels/telegram/rich-blocks.ts";
import { parseMarkdown } from "../../../src/reply/tree.ts";
import { readRichMessage } from "../../support/telegram/rich/message.ts";

const blocks = (markdown: string) => richBlocks(parseMarkdown(markdown));

/** The blocks behind a heading, which makes the answer a rich one. */
const behind = (markdown: string) => blocks(`# H\n\n${markdown}`)?.slice(1);

describe("an answer is a rich message", () => {
  it.each([
    ["a table", "| a | b |\n| --- | --- |\n| 1 | 2 |"],
    ["a heading", "# Title"],
    ["a formula", "$$\nx^2\n$$"],
    ["a table in a list", "- see\n\n  | a |\n  | --- |\n  | 1 |"],
    ["a heading in a quote", "> ## Title"],
  ])("with %s", (_what, markdown) => {
    expect(blocks(markdown)).toBeDefined();
  });

  it.each(["**bold** text", "- a\n- b", "> quote", "```js\nx\n```", "---", "[a](https://a.example)", ""])(
    "not for %j, which entities show as well",
    (markdown) => {
      expect(blocks(markdown)).toBeUndefined();
    },
  );

  it("beside its text and marks, which stand where it cannot be one", () => {
    const tree = parseMarkdown("# Title\n\ntext");
    expect(renderRich(tree)).toEqual({
      text: "Title\n\ntext",
      marks: [{ type: "bold", offset: 0, length: 5 }],
      rich: [
        { type: "heading", text: "Title", size: 1 },
        { type: "paragraph", text: "text" },
      ],
    });
    expect(renderRich(parseMarkdown("text"))).toEqual({ text: "text", marks: [] });
  });
});

describe("in blocks", () => {
  it.each<[string, unknown]>([
    ["### Small", [{ type: "heading", text: "Small", size: 3 }]],
    ["$$\nx^2\n$$", [{ type: "mathematical_expression", expression: "x^2" }]],
    ["```py\nx = 1\n```", [{ type: "pre", text: "x = 1", language: "py" }]],
    ["---", [{ type: "divider" }]],
    ["> a\n>\n> > b", [{ type: "blockquote", blocks: [p("a"), { type: "blockquote", blocks: [p("b")] }] }]],
    ["- a\n- b", [{ type: "list", items: [{ blocks: [p("a")] }, { blocks: [p("b")] }] }]],
    [
      "3. a\n4. b",
      [
        {
          type: "list",
          items: [
            { blocks: [p("a")], value: 3, type: "1" },
            { blocks: [p("b")], value: 4, type: "1" },
          ],
        },
      ],
    ],
    [
      "- [ ] a\n- [x] b",
      [
        {
          type: "list",
          items: [
            { blocks: [p("a")], has_checkbox: true },
            { blocks: [p("b")], has_checkbox: true, is_checked: true },
          ],
        },
      ],
    ],
    // Items of one list are alike.
    ["- [x] a\n- b", [{ type: "list", items: [{ blocks: [p(["☑ ", "a"])] }, { blocks: [p("b")] }] }]],
    ["one  \ntwo", [p("one"), p("two")]],
    [
      "**b** *i* ~~s~~ `c`",
      [
        p([
          { type: "bold", text: "b" },
          " ",
          { type: "italic", text: "i" },
          " ",
          { type: "strikethrough", text: "s" },
          " ",
          { type: "code", text: "c" },
        ]),
      ],
    ],
    ["[a](https://a.example)", [p({ type: "url", text: "a", url: "https://a.example" })]],
    ["https://a.example", [p({ type: "url", text: "https://a.example", url: "https://a.example" })]],
    ["[a](http://localhost)", [p(["a", " (http://localhost)"])]],
    ["![a](https://a.example/a.png)", [p({ type: "url", text: "a", url: "https://a.example/a.png" })]],
    ["5 < 6 & $395k … $483k", [p("5 < 6 & $395k … $483k")]],
  ])("%j", (markdown, expected) => {
    expect(behind(markdown)).toEqual(expected);
  });

  it("a table has its head, and cells that are aligned as their column is", () => {
    expect(blocks("| a | b |\n| :-: | --: |\n| **1** | |")).toEqual([
      {
        type: "table",
        is_bordered: true,
        cells: [
          [
            { is_header: true, text: "a", align: "center", valign: "middle" },
            { is_header: true, text: "b", align: "right", valign: "middle" },
          ],
          [
            { text: { type: "bold", text: "1" }, align: "center", valign: "middle" },
            { text: [], align: "right", valign: "middle" },
          ],
        ],
      },
    ]);
  });

  it("a table of more than 20 columns is told in lines", () => {
    const row = (cell: string): string => `| ${Array.from({ length: 21 }, () => cell).join(" | ")} |`;
    const given = blocks(`# T\n\n${row("a")}\n${row("---")}\n${row("1")}`);
    expect(given?.map(({ type }) => type)).toEqual([
      "heading",
      ...Array.from({ length: 21 }, () => "paragraph"),
    ]);
  });

  it.each([
    ["more than 500 blocks", `# T\n\n${"- a\n".repeat(260)}`],
    ["more than 16 levels", `# T\n\n${"> ".repeat(17)}deep`],
    ["more than 16 levels of formatting", `# T\n\n${"> ".repeat(15)}***~~deep~~***`],
  ])("%s are no rich message", (_what, markdown) => {
    expect(blocks(markdown)).toBeUndefined();
  });

  it.each([
    ["nothing but a heading without words", "#"],
    ["an item of a list without words", "# T\n\n- a\n-\n- b"],
    ["a quote without words", "# T\n\n>\n\ntext"],
    ["500 blocks", `# T\n\n${"- a\n".repeat(249)}`],
    ["a table with everything", "# T\n\n| [a](https://a.example) | `b` |\n| --- | --- |\n| ***x*** | |"],
    ["signs that Telegram would change", "# A\u030a\n\na\tb\u2028c"],
  ])("Telegram takes %s", (_what, markdown) => {
    const given = blocks(markdown);
    const read = (): unknown =>
      given && readRichMessage({ blocks: given }, { inDraft: false, takesMarkup: false, media: () => ({}) });
    expect(read).not.toThrow();
  });
});

function p(text: unknown): object {
  return { type: "paragraph", text };
}
