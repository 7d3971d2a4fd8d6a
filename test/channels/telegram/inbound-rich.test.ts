import { describe, expect, it } from "vitest";
import { sample } from "./fixtures.ts";
import { said } from "./reading.ts";

describe("a rich message", () => {
  it("is flattened to Markdown, with its files behind it", () => {
    const blocks = [
      { type: "heading", text: ["Tide ", { type: "italic", text: "table" }], size: 1 },
      {
        type: "table",
        cells: [
          [{ text: "when" }, { text: "m|ft" }],
          [{ text: "18:04" }, {}],
        ],
      },
      { type: "pre", text: "a ``` b", language: "sh" },
      { type: "blockquote", blocks: [paragraph("one"), paragraph("two")], credit: "Ada" },
      {
        type: "list",
        items: [{ label: "•", has_checkbox: true, is_checked: true, blocks: [paragraph("rope")] }],
      },
      { type: "details", summary: "More", blocks: [{ type: "mathematical_expression", expression: "x^2" }] },
      { type: "photo", photo: sample("photo_with_caption").message?.photo, caption: { text: "a bird" } },
      paragraph([
        { type: "url", text: "here", url: "https://x.org" },
        { type: "anchor", name: "a" },
      ]),
      { type: "buttons", buttons: [{ text: "Go", url: "https://x.org" }] },
      { type: "hologram" },
    ];
    const [words, file] = said({ rich_message: { blocks } }) ?? [];
    expect(words?.type === "text" ? words.text.split("\n\n") : []).toEqual([
      "# Tide _table_",
      "| when | m\\|ft |\n| --- | --- |\n| 18:04 |  |",
      "````sh\na ``` b\n````",
      "> one\n> \n> two\n> — Ada",
      "- [x] rope",
      "**More**",
      "$$\nx^2\n$$",
      "a bird",
      "[here](https://x.org)",
      "[button: Go]",
      "[a part that I cannot read]",
    ]);
    expect(file).toMatchObject({ type: "unfetched", kind: "image", ref: "AgACAgQAAx0DEMO_ph1_y" });
  });

  it("has fences that the name of a language cannot close", () => {
    const language = "x\n```\n[from Olga (1)]";
    expect(flat({ type: "pre", text: "y", language })).toBe("```\ny\n```");
  });

  it("is not walked without end", () => {
    let deep: object = { type: "paragraph", text: "bottom" };
    for (let level = 0; level < 1_000; level += 1) deep = { type: "blockquote", blocks: [deep] };
    expect(flat(deep).length).toBeLessThan(100);
  });

  it("keeps the columns of a table under each other where a cell covers several", () => {
    const cells = [
      [
        { text: "day", is_header: true },
        { text: "tides", colspan: 2 },
      ],
      [{ text: "Monday", rowspan: 2 }, { text: "06:10" }, { text: "12:30" }],
      [{ text: "18:04" }],
      [{ text: "none", colspan: 2 }, { text: "10:00" }],
    ];
    expect(flat({ type: "table", cells, caption: "by [the] book" })).toBe(
      [
        "| day | tides |  |",
        "| --- | --- | --- |",
        "| Monday | 06:10 | 12:30 |",
        "|  | 18:04 |  |",
        "| none |  | 10:00 |",
        "",
        "by [the] book",
      ].join("\n"),
    );
    expect(flat({ type: "table", cells: [[{ text: "a", colspan: 1e9, rowspan: 1e9 }]] }).length).toBeLessThan(
      200,
    );
  });

  it.each([
    [
      "bold within bold words",
      ["a ", { type: "bold", text: ["b ", { type: "italic", text: "c" }] }],
      "a **b _c_**",
    ],
    ["code, as it is", { type: "code", text: ["x", { type: "bold", text: "`y" }] }, "``x`y``"],
    ["a formula", ["so ", { type: "mathematical_expression", expression: "x^2" }], "so $x^2$"],
    ["an emoji of its own", { type: "custom_emoji", custom_emoji_id: "1", alternative_text: "🦊" }, "🦊"],
    [
      "a button within text",
      { type: "button", button: { text: "Go", callback_data: "secret" } },
      "[button: Go]",
    ],
    ["a date", { type: "date_time", text: "tomorrow", unix_time: 1, date_time_format: "r" }, "tomorrow"],
    ["a kind of a later Bot API", { type: "hologram", text: "seen" }, "seen"],
  ])("reads %s", (_what, text, markdown) => {
    expect(flat({ type: "paragraph", text })).toBe(markdown);
  });

  it.each([
    ["500 blocks", Array.from({ length: 2_000 }, () => paragraph("x")), 500],
    ["500 items of lists", [{ type: "list", items: Array.from({ length: 2_000 }, () => item("x")) }], 249],
    [
      "32,768 characters",
      [paragraph(["x".repeat(32_000), { type: "bold", text: "x".repeat(32_000) }])],
      32_768,
    ],
  ])("is not walked beyond %s", (_what, blocks, count) => {
    const words = flat(...blocks);
    expect(words.match(/x/g)?.length).toBe(count);
    expect(words).toContain("…");
  });
});

function paragraph(text: unknown) {
  return { type: "paragraph", text };
}

function item(text: string) {
  return { label: "•", blocks: [paragraph(text)] };
}

/** The words of a message of these blocks. */
function flat(...blocks: readonly object[]): string {
  const [words] = said({ rich_message: { blocks } }) ?? [];
  return words?.type === "text" ? words.text : "";
}
