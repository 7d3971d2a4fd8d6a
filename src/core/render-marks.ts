import { finish, join, type MarkKind, over, plainText, prefix } from "./rendered.ts";
import { drawTable, type EastAsianWidth, tableLines } from "./table.ts";
import type { BlockNode, InlineNode, ListItem, MarkdownTree, Rendered } from "./tree.ts";

/** What a platform whose texts are words and marks has for Markdown. */
export type Dialect = {
  /** Text the way that the platform keeps it, so that it changes nothing itself. */
  readonly clean: (text: string) => string;
  /** The types of its marks, by what they mean. */
  readonly marks: Readonly<Record<"bold" | "italic" | "strike" | "code" | "block" | "quote", string>>;
  readonly bullet: string;
  readonly rule: string;
  /** Whether blocks of code say their language. */
  readonly languages: boolean;
  /** The mark that makes words lead to an address, where it is one that the platform takes. */
  readonly link: (url: string) => MarkKind | undefined;
  /** A wider table is told as "key: value" lines. */
  readonly tableColumns: number;
  readonly widthOf: EastAsianWidth;
};

/**
 * The tree as text and marks. Headings are bold lines, formulas are code, rules are drawn; an address that cannot be a
 * mark stands behind its words. Nothing stands inside code; quotes do not nest, an inner one is written with "> ".
 */
export function renderMarks(tree: MarkdownTree, dialect: Dialect): Rendered {
  return finish(new Writer(dialect).stack(tree.blocks, "\n\n", NOWHERE));
}

/** Which marks are open around a node: the same one is not opened again. */
type Around = ReadonlySet<string>;
const NOWHERE: Around = new Set();

type Links = "all" | "words";

class Writer {
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  stack(blocks: readonly BlockNode[], separator: string, around: Around): Rendered {
    const parts = blocks.map((block) => this.#block(block, around));
    return join(
      parts.filter(({ text }) => text !== ""),
      separator,
    );
  }

  #block(block: BlockNode, around: Around): Rendered {
    const { marks, rule } = this.#dialect;
    switch (block.type) {
      case "paragraph":
        return this.#inline(block.inline, around);
      case "heading":
        return marked(marks.bold, around, (inner) => this.#inline(block.inline, inner));
      case "code":
        return this.#code(block.text, block.language);
      case "math":
        return this.#code(block.text, "latex");
      case "quote":
        return around.has(marks.quote)
          ? this.#prefixed(this.stack(block.blocks, "\n\n", around), "> ", "> ")
          : marked(marks.quote, around, (inner) => this.stack(block.blocks, "\n\n", inner));
      case "list":
        return this.#list(block, around);
      case "table":
        return this.#table(block, around);
      case "rule":
        return plainText(rule);
    }
  }

  #code(text: string, language: string | undefined): Rendered {
    const { marks, languages, clean } = this.#dialect;
    const named = languages && language !== undefined && language !== "";
    return this.#whole({ type: marks.block, ...(named ? { language: clean(language) } : {}) }, text);
  }

  #list(list: Extract<BlockNode, { type: "list" }>, around: Around): Rendered {
    const separator = list.loose ? "\n\n" : "\n";
    const items = list.items.map((item, index) => {
      const sign = this.#sign(item, list.start === undefined ? undefined : list.start + index);
      const body = this.stack(item.blocks, separator, around);
      return body.text === ""
        ? plainText(sign.trimEnd())
        : this.#prefixed(body, sign, " ".repeat(sign.length));
    });
    return join(items, separator);
  }

  #sign(item: ListItem, number: number | undefined): string {
    const box = item.checked === undefined ? "" : item.checked ? "☑ " : "☐ ";
    if (number !== undefined) return `${number}. ${box}`;
    return box === "" ? this.#dialect.bullet : box;
  }

  #table(table: Extract<BlockNode, { type: "table" }>, around: Around): Rendered {
    const { marks, tableColumns, widthOf } = this.#dialect;
    const read = (inline: readonly InlineNode[]): string => this.#inline(inline, NOWHERE, "words").text;
    const { text, columns, head } = drawTable(table, read, widthOf);
    return columns > tableColumns
      ? this.stack(tableLines(table), "\n\n", around)
      : over({ type: marks.block, head }, plainText(text));
  }

  /** With `links` "words" an address that cannot be a link is left out: a table cell has no room for it. */
  #inline(nodes: readonly InlineNode[], around: Around, links: Links = "all"): Rendered {
    const { marks, clean } = this.#dialect;
    return join(
      nodes.map((node): Rendered => {
        switch (node.type) {
          case "text":
            return plainText(clean(node.text));
          case "break":
            return plainText("\n");
          case "code":
            return this.#whole({ type: marks.code }, node.text);
          case "bold":
          case "italic":
          case "strike":
            return marked(marks[node.type], around, (inner) => this.#inline(node.inline, inner, links));
          case "link":
            return this.#link(node.url, (inner) => this.#inline(node.inline, inner, links), around, links);
          case "image":
            return this.#link(node.url, () => plainText(clean(node.alt) || "image"), around, links);
        }
      }),
      "",
    );
  }

  #link(url: string, label: (around: Around) => Rendered, around: Around, links: Links): Rendered {
    const said = label(new Set([...around, LINK]));
    const address = this.#dialect.clean(url);
    if (around.has(LINK) || links === "words") return said;
    if (said.text.trim() === "") return plainText(address);
    // Clients find addresses in the text by themselves.
    if (isOwnAddress(address, said.text)) return said;
    const mark = this.#dialect.link(address);
    if (mark !== undefined) return over(mark, said);
    // The contents of a data: address are no use to a reader.
    if (address === "" || /^data:/i.test(address)) return said;
    return join([said, plainText(` (${address})`)], "");
  }

  #whole(mark: MarkKind, text: string): Rendered {
    return over(mark, plainText(this.#dialect.clean(text)));
  }

  #prefixed(body: Rendered, first: string, later: string): Rendered {
    return prefix(body, first, later, this.#dialect.marks.block);
  }
}

/** Stands among the open marks for a link, whether or not it is one on this platform. */
const LINK = "link";

function marked(type: string, around: Around, inside: (around: Around) => Rendered): Rendered {
  return around.has(type) ? inside(around) : over({ type }, inside(new Set([...around, type])));
}

function isOwnAddress(address: string, said: string): boolean {
  return address === said || address === `mailto:${said}` || address === `http://${said}`;
}
