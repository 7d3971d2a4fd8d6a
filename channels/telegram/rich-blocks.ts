import type { InputRichBlock, InputRichBlockListItem, RichBlockTableCell, RichText } from "grammy/types";
import { tableLines } from "../../src/core/table.ts";
import type { BlockNode, Cell, InlineNode, ListItem, MarkdownTree } from "../../src/core/tree.ts";
import { acceptableLink } from "./links.ts";
import { clean } from "./normalise.ts";

type List = Extract<BlockNode, { type: "list" }>;
type Table = Extract<BlockNode, { type: "table" }>;

// Bot API "Rich Message Limits". Its 32,768 characters are more than a piece has.
const MOST_BLOCKS = 500;
const MOST_LEVELS = 16;
const MOST_COLUMNS = 20;

/**
 * The tree as blocks of a rich message. Undefined where entities show as much, and where it is more than a rich message
 * holds. Blocks need no escaping, and Telegram's server checks them in code that is public.
 */
export function richBlocks(tree: MarkdownTree): readonly InputRichBlock[] | undefined {
  if (!needsRich(tree.blocks)) return undefined;
  const blocks = blocksOf(tree.blocks);
  const { count, levels } = sizeOf(blocks);
  return count > 0 && count <= MOST_BLOCKS && levels <= MOST_LEVELS ? blocks : undefined;
}

/** Entities have no tables and no formulas, and write every heading alike. */
function needsRich(blocks: readonly BlockNode[]): boolean {
  return blocks.some((block) => {
    switch (block.type) {
      case "table":
      case "math":
      case "heading":
        return true;
      case "quote":
        return needsRich(block.blocks);
      case "list":
        return block.items.some((item) => needsRich(item.blocks));
      case "paragraph":
      case "code":
      case "rule":
        return false;
    }
  });
}

function blocksOf(blocks: readonly BlockNode[]): InputRichBlock[] {
  return blocks.flatMap(blockOf);
}

/** Telegram refuses what has nothing in it. */
function blockOf(block: BlockNode): readonly InputRichBlock[] {
  switch (block.type) {
    case "paragraph":
      // Whether a line end within a paragraph is kept is not documented.
      return lines(block.inline).map((inline) => ({ type: "paragraph", text: textOf(inline) }));
    case "heading":
      return isSaid(block.inline) ? [{ type: "heading", text: textOf(block.inline), size: block.level }] : [];
    case "code": {
      const { language } = block;
      const named = language === undefined || language === "" ? {} : { language: clean(language) };
      return block.text.trim() === "" ? [] : [{ type: "pre", text: clean(block.text), ...named }];
    }
    case "math":
      return block.text.trim() === ""
        ? []
        : [{ type: "mathematical_expression", expression: clean(block.text) }];
    case "quote": {
      const blocks = blocksOf(block.blocks);
      return blocks.length === 0 ? [] : [{ type: "blockquote", blocks }];
    }
    case "list": {
      const items = itemsOf(block);
      return items.length === 0 ? [] : [{ type: "list", items }];
    }
    case "table":
      return tableOf(block);
    case "rule":
      return [{ type: "divider" }];
  }
}

/** Telegram wants all items alike: numbered or not, with boxes or without. */
function itemsOf({ start, items }: List): InputRichBlockListItem[] {
  const boxes = start === undefined && items.every(({ checked }) => checked !== undefined);
  return items.flatMap((item, index): readonly InputRichBlockListItem[] => {
    const blocks = blocksOf(boxes ? item.blocks : withSign(item));
    if (blocks.length === 0) return [];
    // The server numbers by `type`, others by `value`: both are given.
    if (start !== undefined) return [{ blocks, value: start + index, type: "1" }];
    if (!boxes) return [{ blocks }];
    return [{ blocks, has_checkbox: true, ...(item.checked ? { is_checked: true } : {}) }];
  });
}

function withSign({ checked, blocks }: ListItem): readonly BlockNode[] {
  if (checked === undefined) return blocks;
  const sign: InlineNode = { type: "text", text: checked ? "☑ " : "☐ " };
  const [first, ...rest] = blocks;
  return first?.type === "paragraph"
    ? [{ type: "paragraph", inline: [sign, ...first.inline] }, ...rest]
    : [{ type: "paragraph", inline: [sign] }, ...blocks];
}

function tableOf(table: Table): readonly InputRichBlock[] {
  const { header, rows } = table;
  if (header.length === 0) return [];
  if (header.length > MOST_COLUMNS) return blocksOf(tableLines(table));
  const cellsOf = (row: readonly Cell[], head: { is_header?: true }): RichBlockTableCell[] =>
    header.map((column, at) => ({
      ...head,
      text: textOf(row[at]?.inline ?? []),
      align: column.align ?? "left",
      valign: "middle",
    }));
  const cells = [cellsOf(header, { is_header: true }), ...rows.map((row) => cellsOf(row, {}))];
  return [{ type: "table", cells, is_bordered: true }];
}

function textOf(inline: readonly InlineNode[]): RichText {
  const parts = inline.map(partOf);
  return parts.length === 1 ? (parts[0] ?? "") : parts;
}

function partOf(node: InlineNode): RichText {
  switch (node.type) {
    case "text":
      return clean(node.text);
    case "break":
      return "\n";
    case "code":
      return { type: "code", text: clean(node.text) };
    case "bold":
    case "italic":
      return { type: node.type, text: textOf(node.inline) };
    case "strike":
      return { type: "strikethrough", text: textOf(node.inline) };
    case "link":
      return linkOf(node.url, textOf(node.inline), isSaid(node.inline));
    case "image":
      return linkOf(node.url, clean(node.alt) || "image", true);
  }
}

function linkOf(address: string, said: RichText, isNamed: boolean): RichText {
  const url = acceptableLink(clean(address));
  const words = isNamed ? said : clean(address);
  if (url !== undefined) return { type: "url", text: words, url };
  // An address that Telegram does not take stands behind its words; that of a data: URL is no use to anybody.
  return !isNamed || /^data:/i.test(address) || address === said ? words : [words, ` (${clean(address)})`];
}

/** At the breaks that stand in no mark. */
function lines(inline: readonly InlineNode[]): readonly (readonly InlineNode[])[] {
  const all: InlineNode[][] = [[]];
  for (const node of inline)
    if (node.type === "break") all.push([]);
    else all.at(-1)?.push(node);
  return all.filter(isSaid);
}

function isSaid(inline: readonly InlineNode[]): boolean {
  return inline.some((node) => {
    switch (node.type) {
      case "text":
      case "code":
        return node.text.trim() !== "";
      case "bold":
      case "italic":
      case "strike":
        return isSaid(node.inline);
      case "link":
      case "image":
        return true;
      case "break":
        return false;
    }
  });
}

type Size = { readonly count: number; readonly levels: number };

/** Blocks, list items and rows; and how deep blocks and formatting stand in each other. */
function sizeOf(blocks: readonly InputRichBlock[], level = 1): Size {
  return sum(
    level,
    blocks.map((block): Size => {
      switch (block.type) {
        case "list": {
          const inner = block.items.map((item) => sizeOf(item.blocks, level + 1));
          return sum(level, [...inner, { count: 1 + block.items.length, levels: level }]);
        }
        case "blockquote":
          return sum(level, [sizeOf(block.blocks, level + 1), { count: 1, levels: level }]);
        case "table": {
          const levels = block.cells.flat().map((cell) => levelsIn(cell.text ?? "", level));
          return { count: 1 + block.cells.length, levels: Math.max(level, ...levels) };
        }
        default:
          return { count: 1, levels: "text" in block ? levelsIn(block.text, level) : level };
      }
    }),
  );
}

function sum(level: number, sizes: readonly Size[]): Size {
  return {
    count: sizes.reduce((all, { count }) => all + count, 0),
    levels: Math.max(level, ...sizes.map(({ levels }) => levels)),
  };
}

function levelsIn(text: RichText, level: number): number {
  if (typeof text === "string") return level;
  if (Array.isArray(text)) return Math.max(level, ...text.map((part) => levelsIn(part, level)));
  return "text" in text ? levelsIn(text.text, level + 1) : level + 1;
}
