import { tableLines } from "../core/table.ts";
import type { BlockNode, InlineNode, MarkdownTree, Rendered } from "../core/tree.ts";

/**
 * Renders a tree in as many parts as it takes for each to have at most `length` UTF-16 units: for channels whose text
 * is markup, which must not be cut itself. Lists go on with their numbers, tables with their heading; what cannot be
 * halved any more is given as it is.
 */
export function renderParts(
  tree: MarkdownTree,
  length: number,
  render: (tree: MarkdownTree) => Rendered,
): readonly Rendered[] {
  const rendered = render(tree);
  if (rendered.text.length <= length) return rendered.text === "" ? [] : [rendered];
  const halves = halved(tree.blocks);
  return halves ? halves.flatMap((blocks) => renderParts({ blocks }, length, render)) : [rendered];
}

type Halves<T> = readonly [readonly T[], readonly T[]] | undefined;

function halved(blocks: readonly BlockNode[]): Halves<BlockNode> {
  const [only] = blocks;
  return blocks.length > 1 ? inTwo(blocks) : only && halvedBlock(only);
}

function halvedBlock(block: BlockNode): Halves<BlockNode> {
  switch (block.type) {
    case "paragraph":
    case "heading":
      return each(halvedInline(block.inline), (inline) => ({ ...block, inline }));
    case "code":
    case "math":
      return each(halvedText(block.text, "\n"), ([text = ""]) => ({ ...block, text }));
    case "quote":
      return each(halved(block.blocks), (blocks) => ({ ...block, blocks }));
    case "list":
      return halvedList(block);
    case "table":
      // A single row that is too long is no table any more.
      return block.rows.length > 1
        ? each(inTwo(block.rows), (rows) => ({ ...block, rows }))
        : halved(tableLines(block));
    case "rule":
      return undefined;
  }
}

function halvedList(list: Extract<BlockNode, { type: "list" }>): Halves<BlockNode> {
  const [only] = list.items;
  if (list.items.length > 1) {
    const [first, second] = inTwo(list.items);
    const start = list.start === undefined ? {} : { start: list.start + first.length };
    return [[{ ...list, items: first }], [{ ...list, ...start, items: second }]];
  }
  const halves = only && halved(only.blocks);
  // What is left of an item is no item of its own.
  return halves && [[{ ...list, items: [{ ...only, blocks: halves[0] }] }], halves[1]];
}

function halvedInline(inline: readonly InlineNode[]): Halves<InlineNode> {
  const [only] = inline;
  if (inline.length > 1) return inTwo(inline);
  switch (only?.type) {
    case "text":
    case "code":
      return each(halvedText(only.text, " "), ([text = ""]) => ({ ...only, text }));
    case "bold":
    case "italic":
    case "strike":
      return each(halvedInline(only.inline), (children) => ({ ...only, inline: children }));
    case "link":
      // Not halved as one: each half would have all of the address.
      return halvedInline([...only.inline, { type: "text", text: ` (${only.url})` }]);
    case "break":
    case "image":
    case undefined:
      return undefined;
  }
}

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });

// Far enough to see where the grapheme in the middle begins.
const LOOK_BACK = 256;

/** At the last `separator` before the middle, which goes with the cut, or else between two graphemes. */
function halvedText(text: string, separator: string): Halves<string> {
  const middle = Math.ceil(text.length / 2);
  const at = text.lastIndexOf(separator, middle);
  if (at > 0 && at < text.length - 1) return [[text.slice(0, at)], [text.slice(at + 1)]];
  const from = Math.max(0, middle - LOOK_BACK);
  const index = graphemes.segment(text.slice(from)).containing(middle - from)?.index ?? 0;
  const cut = from + index;
  return cut > 0 && cut < text.length ? [[text.slice(0, cut)], [text.slice(cut)]] : undefined;
}

function inTwo<T>(items: readonly T[]): readonly [readonly T[], readonly T[]] {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)];
}

function each<T, U>(halves: Halves<T>, of: (half: readonly T[]) => U): Halves<U> {
  return halves && [[of(halves[0])], [of(halves[1])]];
}
