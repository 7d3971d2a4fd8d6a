import { describe, expect, it } from "vitest";
import { toMarkdown } from "../../../channels/telegram/markdown.ts";

describe("text and entities as Markdown", () => {
  it.each([
    ["say *x* _y_", [], "say *x* _y_"],
    [
      "bold italic gone",
      [e("bold", 0, 4), e("italic", 5, 6), e("strikethrough", 12, 4)],
      "**bold** _italic_ ~~gone~~",
    ],
    ["bold  and", [e("bold", 0, 6)], "**bold**  and"],
    [
      "👋 a link",
      [{ ...e("text_link", 5, 4), url: "https://x.org/a b(c)" }],
      "👋 a [link](https://x.org/a%20b%28c%29)",
    ],
    ["run ls -l`x", [e("code", 4, 7)], "run ``ls -l`x``"],
    ["see\nx = 1\nok", [{ ...e("pre", 4, 5), language: "python" }], "see\n```python\nx = 1\n```\nok"],
    ["a ``` b", [e("pre", 0, 7)], "````\na ``` b\n````"],
    ["he said\nno\nand I", [e("blockquote", 0, 10)], "> he said\n> no\nand I"],
    ["all bold", [e("bold", 0, 8), e("italic", 4, 4)], "**all _bold_**"],
    ["/new@fern_demo_bot now", [e("bot_command", 0, 18)], "/new now"],
    ["/new@other_bot now", [e("bot_command", 0, 14)], "/new@other_bot now"],
    ["off the end", [e("bold", 4, 400)], "off the end"],
    ["hidden", [e("spoiler", 0, 6)], "hidden"],
    [
      "Tomás 🦊 tomorrow",
      [
        { ...e("text_mention", 0, 5), user: { id: 5, is_bot: false, first_name: "Tomás" } },
        { ...e("custom_emoji", 6, 2), custom_emoji_id: "1" },
        e("date_time", 9, 8),
      ],
      "Tomás 🦊 tomorrow",
    ],
    ["x.org", [{ ...e("text_link", 0, 5), url: "x.org" }], "x.org"],
    [
      "a\u2028b",
      [{ ...e("text_link", 0, 3), url: "https://x.org/\u2028" }],
      "[a\u2028b](https://x.org/%E2%80%A8)",
    ],
    ["bold\n\n", [e("bold", 0, 6)], "**bold**\n\n"],
    ["crossing each", [e("bold", 0, 8), e("italic", 5, 8)], "**cross_ing_** each"],
    ["a b", [e("bold", 0, 0), e("italic", -1, 2)], "a b"],
    ["q\ncode", [e("blockquote", 0, 6), { ...e("pre", 2, 4), language: "a b" }], "> q\n> ```\n> code\n> ```"],
    ["one two", [e("pre", 0, 3), e("blockquote", 4, 3)], "```\none\n```\n \n> two"],
  ] as const)("writes %j", (text, entities, markdown) => {
    // The tuple's literal types say less than the entities' own.
    expect(toMarkdown(text, entities as unknown as Parameters<typeof toMarkdown>[1], "Fern_demo_bot")).toBe(
      markdown,
    );
  });
});

function e(type: string, offset: number, length: number) {
  return { type, offset, length };
}
