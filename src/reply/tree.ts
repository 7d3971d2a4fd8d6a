import { Marked, type MarkedToken, type Tokens } from "marked";
import type { BlockNode, Cell, InlineNode, ListItem, MarkdownTree } from "../core/tree.ts";
import { maskForEmphasis } from "./emphasis.ts";
import { decodeEntities } from "./entities.ts";
import { lines, paragraph, tidy, words } from "./inline-nodes.ts";
import { bounds } from "./markdown-bounds.ts";
import { extensions, type FootnoteRef, type FootnoteText, type Formula } from "./markdown-extensions.ts";

/**
 * Reads an answer as GitHub's Markdown with footnotes and mathematics.
 * Footnotes become `[n]` and a list at the end; inline formulas become code; raw HTML stays as it is written, but for
 * `<br>`; a line break in the source is a break. Never throws: what the parser cannot take is one literal paragraph.
 */
export function parseMarkdown(markdown: string): MarkdownTree {
  // A NUL is U+FFFD by CommonMark 2.3; left in, the parser would not see the reference that it stands in. Behind a byte
  // order mark it would not see what begins a line.
  const source = markdown
    .toWellFormed()
    .replace(/^\ufeff/, "")
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll("\0", "\ufffd");
  try {
    return new Reader(parser.lexer(source) as unknown as readonly Lexed[]).tree(); // our extensions are its only others
  } catch {
    // Nesting of thousands of levels overruns the parser's stack; the words are worth more than their form.
    return { blocks: paragraph(lines(source.trim(), (line) => line)) };
  }
}

/** The code, formulas, HTML and escaped signs of a text as they are written, in their order. Never throws. */
export function codeIn(markdown: string): readonly string[] {
  const found: string[] = [];
  try {
    // Nothing in it is awaited: it walks at once.
    void parser.walkTokens(parser.lexer(markdown), (token) => {
      if (LITERAL.has(token.type)) found.push(token.raw);
    });
  } catch {
    // As in parseMarkdown: what overruns the parser is read as text.
  }
  return found;
}

const LITERAL: ReadonlySet<string> = new Set(["code", "codespan", "escape", "html", "math"]);

const parser = new Marked({
  gfm: true,
  extensions,
  tokenizer: bounds,
  hooks: { emStrongMask: maskForEmphasis },
});

type Lexed = MarkedToken | FootnoteText | FootnoteRef | Formula;

// What is longer is no language, and would be said again in each piece of a long block.
const LONGEST_LANGUAGE = 40;

// Deeper markup than this is shown as it is written, so that whoever walks the tree needs no guard.
const DEEPEST = 24;

/** Turns the parser's tokens into our tree, and keeps count of footnotes on the way. */
class Reader {
  readonly #tokens: readonly Lexed[];
  readonly #footnotes = new Map<string, FootnoteText>();
  /** By label, in their order. */
  readonly #numbers = new Map<string, number>();

  constructor(tokens: readonly Lexed[]) {
    this.#tokens = tokens;
    this.#collect(tokens, 0);
  }

  tree(): MarkdownTree {
    const blocks = this.#blocks(this.#tokens, 0);
    for (const label of this.#footnotes.keys()) this.#number(label);
    // Notes may name further notes, which join the end of the list while it is walked.
    const notes: (readonly BlockNode[])[] = [];
    for (const [label, number] of this.#numbers) notes.push(this.#note(label, number));
    return { blocks: [...blocks, ...joinNotes(notes)] };
  }

  #collect(tokens: readonly Lexed[], depth: number): void {
    if (depth > DEEPEST) return;
    for (const token of tokens) {
      if (token.type === "footnoteText" && !this.#footnotes.has(token.label)) {
        this.#footnotes.set(token.label, token);
      }
      const children = token.type === "list" ? token.items.flatMap((item) => item.tokens) : inside(token);
      this.#collect(children as readonly Lexed[], depth + 1); // marked types children as any token
    }
  }

  #number(label: string): number {
    const number = this.#numbers.get(label) ?? this.#numbers.size + 1;
    this.#numbers.set(label, number);
    return number;
  }

  #note(label: string, number: number): readonly BlockNode[] {
    const [first, ...rest] = this.#blocks(inside(this.#footnotes.get(label)), 1);
    const mark: InlineNode = { type: "text", text: `[${number}] ` };
    return first?.type === "paragraph"
      ? [{ type: "paragraph", inline: tidy([mark, ...first.inline]) }, ...rest]
      : [{ type: "paragraph", inline: tidy([mark]) }, ...(first ? [first, ...rest] : [])];
  }

  #blocks(tokens: readonly Lexed[], depth: number): readonly BlockNode[] {
    if (depth > DEEPEST) {
      return paragraph(
        lines(
          tokens
            .map((token) => token.raw)
            .join("")
            .trim(),
          (line) => line,
        ),
      );
    }
    return tokens.flatMap((token) => this.#block(token, depth));
  }

  #block(token: Lexed, depth: number): readonly BlockNode[] {
    switch (token.type) {
      case "heading": {
        const level = token.depth as 1 | 2 | 3 | 4 | 5 | 6; // marked matches one to six #
        const inline = tidy(this.#inline(inside(token), depth));
        return inline.length > 0 ? [{ type: "heading", level, inline }] : [];
      }
      case "code": {
        const language = decodeEntities(token.lang ?? "")
          .trim()
          .split(/\s/)[0];
        const named = language && language.length <= LONGEST_LANGUAGE;
        // The last line's end is no line of its own (CommonMark 4.4, 4.5), but the parser leaves it there.
        const text = token.text.replace(token.codeBlockStyle === "indented" ? /\n+$/ : /\n$/, "");
        return [{ type: "code", text, ...(named ? { language } : {}) }];
      }
      case "math":
        return token.block
          ? [{ type: "math", text: token.text }]
          : paragraph([{ type: "code", text: token.text }]);
      case "blockquote":
        return [{ type: "quote", blocks: this.#blocks(inside(token), depth + 1) }];
      case "list":
        return [this.#list(token, depth)];
      case "table":
        return [this.#table(token, depth)];
      case "hr":
        return [{ type: "rule" }];
      case "html":
        return paragraph(lines(token.text.trim(), (line) => line));
      case "space":
      case "def":
      case "checkbox":
      case "footnoteText":
        return [];
      case "list_item":
        return this.#blocks(inside(token), depth + 1);
      case "paragraph":
        return paragraph(this.#inline(inside(token), depth));
      case "text":
        return paragraph(
          token.tokens ? this.#inline(inside(token), depth) : lines(token.text, decodeEntities),
        );
      case "br":
      case "codespan":
      case "del":
      case "em":
      case "escape":
      case "footnoteRef":
      case "image":
      case "link":
      case "strong":
        return paragraph(this.#inline([token], depth));
    }
  }

  #list(token: Tokens.List, depth: number): BlockNode {
    return {
      type: "list",
      ...(token.ordered ? { start: Number(token.start) } : {}),
      loose: token.loose,
      items: token.items.map((item): ListItem => ({
        ...(item.task ? { checked: item.checked === true } : {}),
        blocks: this.#blocks(inside(item), depth + 1),
      })),
    };
  }

  #table(token: Tokens.Table, depth: number): BlockNode {
    const cell = ({ align, tokens }: Tokens.TableCell): Cell => ({
      ...(align ? { align } : {}),
      inline: tidy(this.#inline(tokens as readonly Lexed[], depth)), // marked types children as any token
    });
    const written = token.raw.split("\n").slice(2);
    const rows = token.rows.map((row, at) => withBeyond(row.map(cell), written[at] ?? ""));
    return { type: "table", header: token.header.map(cell), rows };
  }

  #inline(tokens: readonly Lexed[], depth: number): readonly InlineNode[] {
    if (depth > DEEPEST) return lines(tokens.map((token) => token.raw).join(""), (line) => line);
    return tokens.flatMap((token) => this.#span(token, depth));
  }

  #span(token: Lexed, depth: number): readonly InlineNode[] {
    switch (token.type) {
      case "text":
        return lines(token.text, decodeEntities);
      case "escape":
        return [{ type: "text", text: token.text }];
      case "html":
        return lines(token.text, (line) => line);
      case "br":
        return [{ type: "break" }];
      case "codespan":
      case "math":
        return [{ type: "code", text: token.text }];
      case "strong":
        return this.#marked("bold", token, depth);
      case "em":
        return this.#marked("italic", token, depth);
      case "del":
        return this.#marked("strike", token, depth);
      case "link":
        // Character references are not resolved in what is written as an address.
        return token.autolink
          ? [{ type: "link", url: token.href, inline: [{ type: "text", text: token.text }] }]
          : [
              {
                type: "link",
                url: decodeEntities(token.href),
                inline: this.#inline(inside(token), depth + 1),
              },
            ];
      case "image": {
        const alt = words(this.#inline(inside(token), depth + 1)).trim();
        return [{ type: "image", url: decodeEntities(token.href), alt }];
      }
      case "footnoteRef":
        return this.#footnotes.has(token.label)
          ? [{ type: "text", text: `[${this.#number(token.label)}]` }]
          : [{ type: "text", text: token.raw }];
      case "checkbox":
      case "def":
      case "space":
        return [];
      case "blockquote":
      case "code":
      case "footnoteText":
      case "heading":
      case "hr":
      case "list":
      case "list_item":
      case "paragraph":
      case "table":
        return [{ type: "text", text: token.raw }];
    }
  }

  #marked(type: "bold" | "italic" | "strike", token: Lexed, depth: number): readonly InlineNode[] {
    const inline = this.#inline(inside(token), depth + 1);
    return inline.length > 0 ? [{ type, inline }] : [];
  }
}

/** GitHub leaves out what a row has beyond the heading's columns, such as `a|b`; here it stays, in the last one. */
function withBeyond(row: readonly Cell[], written: string): readonly Cell[] {
  const cells = written
    .trim()
    .replace(/^\|/, "")
    .split(/(?<!\\)\|/);
  const beyond = cells.slice(row.length).map((text) => text.trim().replaceAll("\\|", "|"));
  const said = beyond.filter((text) => text !== "");
  const last = row.at(-1);
  if (said.length === 0 || last === undefined) return row;
  const text = ["", ...said].join(" | ");
  return [...row.slice(0, -1), { ...last, inline: tidy([...last.inline, { type: "text", text }]) }];
}

// Notes of one paragraph each stand line under line; longer ones keep their blocks.
function joinNotes(notes: readonly (readonly BlockNode[])[]): readonly BlockNode[] {
  const blocks: BlockNode[] = [];
  let open = false;
  for (const [first, ...rest] of notes) {
    const last = blocks.at(-1);
    if (open && rest.length === 0 && first?.type === "paragraph" && last?.type === "paragraph") {
      blocks[blocks.length - 1] = { ...last, inline: [...last.inline, { type: "break" }, ...first.inline] };
    } else if (first) {
      blocks.push(first, ...rest);
    }
    open = rest.length === 0;
  }
  return blocks;
}

function inside(token: Lexed | undefined): readonly Lexed[] {
  return token !== undefined && "tokens" in token ? ((token.tokens ?? []) as readonly Lexed[]) : []; // marked types children as any token
}
