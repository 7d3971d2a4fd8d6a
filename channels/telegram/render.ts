import type { BlockNode, InlineNode, ListItem, Mark, MarkdownTree, Rendered } from "../../src/core/tree.ts";
import { acceptableLink } from "./links.ts";
import { clean } from "./normalise.ts";
import { drawTable } from "./table.ts";

/**
 * The tree as text and entities, the way that Telegram stores it: nothing here is changed by the server, so offsets
 * hold and an edit can be compared. Headings are bold lines, tables and formulas are `pre`, rules are drawn.
 * Nothing stands inside `pre` and `code`; quotes do not nest, an inner one is written with "> ".
 */
export function render(tree: MarkdownTree): Rendered {
  return finish(stack(tree.blocks, "\n\n", NOWHERE));
}

const RULE = "──────────";

/** Which marks are open around a node: the same one is not opened again. */
type Around = ReadonlySet<string>;
const NOWHERE: Around = new Set();

function stack(blocks: readonly BlockNode[], separator: string, around: Around): Rendered {
  return join(
    blocks.map((block) => renderBlock(block, around)).filter(({ text }) => text !== ""),
    separator,
  );
}

function renderBlock(block: BlockNode, around: Around): Rendered {
  switch (block.type) {
    case "paragraph":
      return renderInline(block.inline, around);
    case "heading":
      return marked("bold", around, (inner) => renderInline(block.inline, inner));
    case "code":
      return whole(
        { type: "pre", ...(block.language ? { language: clean(block.language) } : {}) },
        block.text,
      );
    case "math":
      return whole({ type: "pre", language: "latex" }, block.text);
    case "quote":
      return around.has("blockquote")
        ? prefix(stack(block.blocks, "\n\n", around), "> ", "> ")
        : marked("blockquote", around, (inner) => stack(block.blocks, "\n\n", inner));
    case "list":
      return renderList(block, around);
    case "table":
      return whole(
        { type: "pre" },
        drawTable(block, (inline) => renderInline(inline, NOWHERE, "words").text),
      );
    case "rule":
      return { text: RULE, marks: [] };
  }
}

function renderList(list: Extract<BlockNode, { type: "list" }>, around: Around): Rendered {
  const separator = list.loose ? "\n\n" : "\n";
  const items = list.items.map((item, index) => {
    const sign = marker(item, list.start === undefined ? undefined : list.start + index);
    const body = stack(item.blocks, separator, around);
    return body.text === ""
      ? { text: sign.trimEnd(), marks: [] }
      : prefix(body, sign, " ".repeat(sign.length));
  });
  return join(items, separator);
}

function marker(item: ListItem, number: number | undefined): string {
  const box = item.checked === undefined ? "" : item.checked ? "☑ " : "☐ ";
  if (number !== undefined) return `${number}. ${box}`;
  return box === "" ? "• " : box;
}

/** With `links` "words" an address that cannot be a link is left out: a table cell has no room for it. */
function renderInline(
  nodes: readonly InlineNode[],
  around: Around,
  links: "all" | "words" = "all",
): Rendered {
  return join(
    nodes.map((node): Rendered => {
      switch (node.type) {
        case "text":
          return { text: clean(node.text), marks: [] };
        case "break":
          return { text: "\n", marks: [] };
        case "code":
          return whole({ type: "code" }, node.text);
        case "bold":
        case "italic":
          return marked(node.type, around, (inner) => renderInline(node.inline, inner, links));
        case "strike":
          return marked("strikethrough", around, (inner) => renderInline(node.inline, inner, links));
        case "link":
          return renderLink(node.url, (inner) => renderInline(node.inline, inner, links), around, links);
        case "image": {
          const alt = { text: clean(node.alt) || "image", marks: [] };
          return renderLink(node.url, () => alt, around, links);
        }
      }
    }),
    "",
  );
}

function renderLink(
  url: string,
  label: (around: Around) => Rendered,
  around: Around,
  links: "all" | "words",
): Rendered {
  const said = label(new Set([...around, "text_link"]));
  const address = clean(url);
  if (around.has("text_link") || links === "words") return said;
  if (said.text.trim() === "") return { text: address, marks: [] };
  // The server finds addresses in the text by itself.
  if (isOwnAddress(address, said.text)) return said;
  const link = acceptableLink(address);
  if (link !== undefined) return over({ type: "text_link", url: link }, said);
  // The contents of a data: address are no use to a reader.
  if (address === "" || /^data:/i.test(address)) return said;
  return join([said, { text: ` (${address})`, marks: [] }], "");
}

function isOwnAddress(address: string, said: string): boolean {
  return address === said || address === `mailto:${said}` || address === `http://${said}`;
}

function marked(type: string, around: Around, inside: (around: Around) => Rendered): Rendered {
  return around.has(type) ? inside(around) : over({ type }, inside(new Set([...around, type])));
}

function whole(mark: Pick<Mark, "type" | "language">, text: string): Rendered {
  return over(mark, { text: clean(text), marks: [] });
}

function over(mark: Pick<Mark, "type" | "url" | "language">, { text, marks }: Rendered): Rendered {
  return { text, marks: [{ ...mark, offset: 0, length: text.length }, ...marks] };
}

function join(parts: readonly Rendered[], separator: string): Rendered {
  let text = "";
  const marks: Mark[] = [];
  parts.forEach((part, index) => {
    if (index > 0) text += separator;
    const start = text.length;
    text += part.text;
    for (const mark of part.marks) marks.push({ ...mark, offset: mark.offset + start });
  });
  return { text, marks };
}

/**
 * Puts `first` before the text and `later` before each further line, but not before empty lines and not within `pre`,
 * whose lines are shown as they are.
 */
function prefix({ text, marks }: Rendered, first: string, later: string): Rendered {
  const code = marks.filter(({ type }) => type === "pre");
  let out = first;
  let taken = 0;
  const added: { readonly at: number; readonly length: number }[] = [];
  for (const { index } of text.matchAll(/\n(?!\n|$)/g)) {
    const at = index + 1;
    if (code.some((mark) => mark.offset < at && at < mark.offset + mark.length)) continue;
    out += text.slice(taken, at) + later;
    taken = at;
    added.push({ at, length: later.length });
  }
  const shift = (position: number, isEnd: boolean): number =>
    first.length +
    position +
    added.reduce(
      (sum, { at, length }) => sum + (at < position || (at === position && !isEnd) ? length : 0),
      0,
    );
  const moved = marks.map((mark) => {
    const offset = shift(mark.offset, false);
    return { ...mark, offset, length: shift(mark.offset + mark.length, true) - offset };
  });
  return { text: out + text.slice(taken), marks: moved };
}

/** Trims as the server does, and drops what marks nothing; outer marks come before inner ones. */
function finish({ text, marks }: Rendered): Rendered {
  const end = text.trimEnd().length;
  const blank = text.length - text.trimStart().length;
  const start = Math.min(blank, ...marks.map(({ offset }) => offset));
  const kept = marks.flatMap((mark) => {
    const from = Math.max(mark.offset, start);
    const length = Math.min(mark.offset + mark.length, end) - from;
    const visible = length > 0 && text.slice(from, from + length).trim() !== "";
    return visible ? [{ ...mark, offset: from - start, length }] : [];
  });
  return {
    text: text.slice(start, Math.max(start, end)),
    marks: kept.toSorted((one, other) => one.offset - other.offset || other.length - one.length),
  };
}
