import type { BlockNode, Cell, InlineNode, ListItem, MarkdownTree } from "../core/tree.ts";
import { tidy } from "./tree.ts";

/** A stretch of the answer, or a file that it refers to. `alt` is the caption; it may be empty. */
export type ReplyPart =
  | { readonly kind: "text"; readonly tree: MarkdownTree }
  | { readonly kind: "media"; readonly path: string; readonly alt: string };

type MediaPart = Extract<ReplyPart, { kind: "media" }>;

/**
 * Cuts an answer at its media references, in the order of the text: a block's media follow it, or go before it where
 * it begins with them; a paragraph is cut where media have a line of their own. Lists, quotes and tables stay whole.
 * What nothing is left of disappears. Pictures with an address on the net stay in the text; code is never looked into.
 */
export function takeMedia(tree: MarkdownTree): { readonly parts: readonly ReplyPart[] } {
  const parts: ReplyPart[] = [];
  const text: BlockNode[] = [];
  const flush = (): void => {
    const blocks = text.splice(0);
    if (blocks.length > 0) parts.push({ kind: "text", tree: { blocks } });
  };
  for (const block of tree.blocks.flatMap(cutAtMediaLines)) {
    const { before, rest, after } = takeFromBlock(block);
    if (before.length > 0) flush();
    parts.push(...before);
    if (rest) text.push(rest);
    if (after.length > 0) flush();
    parts.push(...after);
  }
  flush();
  return { parts };
}

/**
 * Whether an image names a file rather than an address: no scheme, no `//host`. `file:` is one, so that its refusal
 * is told instead of its path being shown.
 */
export function isMediaPath(url: string): boolean {
  return url !== "" && !url.startsWith("//") && (!/^[a-z][a-z0-9+.-]*:/i.test(url) || /^file:/i.test(url));
}

function cutAtMediaLines(block: BlockNode): readonly BlockNode[] {
  if (block.type !== "paragraph") return [block];
  const pieces: InlineNode[][] = [[]];
  let wasMedia = false;
  for (const line of splitLines(block.inline)) {
    const counts = line.map(mediaAlone);
    const media = counts.some((count) => count !== 0) && !counts.includes(undefined);
    const last = pieces.at(-1) ?? [];
    if (last.length > 0 && (media || wasMedia)) pieces.push([...line]);
    else last.push(...(last.length > 0 ? [{ type: "break" } as const] : []), ...line);
    wasMedia = media;
  }
  return pieces.map((inline) => ({ type: "paragraph", inline }));
}

function splitLines(inline: readonly InlineNode[]): readonly (readonly InlineNode[])[] {
  const lines: InlineNode[][] = [[]];
  for (const node of inline) {
    if (node.type === "break") lines.push([]);
    else lines.at(-1)?.push(node);
  }
  return lines;
}

function takeFromBlock(block: BlockNode): {
  readonly before: readonly MediaPart[];
  readonly rest: BlockNode | undefined;
  readonly after: readonly MediaPart[];
} {
  const taken: MediaPart[] = [];
  const rest = withoutMedia(block, taken);
  const leading = block.type === "paragraph" || block.type === "heading" ? leadingMedia(block.inline) : 0;
  return { before: taken.slice(0, leading), rest, after: taken.slice(leading) };
}

function leadingMedia(inline: readonly InlineNode[]): number {
  let count = 0;
  for (const node of inline) {
    const media = mediaAlone(node);
    if (media === undefined) break;
    count += media;
  }
  return count;
}

/** How many media a node is, if nothing is left of it without them; undefined where something is. */
function mediaAlone(node: InlineNode): number | undefined {
  switch (node.type) {
    case "image":
      return isMediaPath(node.url) ? 1 : undefined;
    case "break":
      return 0;
    case "text":
      return node.text.trim() === "" ? 0 : undefined;
    case "bold":
    case "italic":
    case "strike": {
      const counts = node.inline.map(mediaAlone);
      return counts.includes(undefined)
        ? undefined
        : counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
    }
    case "code":
    case "link":
      return undefined;
  }
}

function withoutMedia(block: BlockNode, taken: MediaPart[]): BlockNode | undefined {
  const already = taken.length;
  switch (block.type) {
    case "paragraph":
    case "heading": {
      const inline = takeInline(block.inline, taken);
      return inline.length > 0 ? { ...block, inline } : undefined;
    }
    case "quote": {
      const blocks = block.blocks.flatMap((child) => withoutMedia(child, taken) ?? []);
      return blocks.length > 0 || taken.length === already ? { ...block, blocks } : undefined;
    }
    case "list":
      return listWithoutMedia(block, taken);
    case "table": {
      const cells = (row: readonly Cell[]): readonly Cell[] =>
        row.map((cell) => ({ ...cell, inline: takeInline(cell.inline, taken) }));
      const table = { ...block, header: cells(block.header), rows: block.rows.map(cells) };
      const said = [table.header, ...table.rows].flat().some((cell) => cell.inline.length > 0);
      return said || taken.length === already ? table : undefined;
    }
    case "code":
    case "math":
    case "rule":
      return block;
  }
}

function listWithoutMedia(
  list: Extract<BlockNode, { type: "list" }>,
  taken: MediaPart[],
): BlockNode | undefined {
  const kept = list.items.flatMap((item): readonly { item: ListItem; emptied: boolean }[] => {
    const already = taken.length;
    const blocks = item.blocks.flatMap((child) => withoutMedia(child, taken) ?? []);
    const emptied = blocks.length === 0 && taken.length > already && item.checked === undefined;
    // A numbered step stays even when it was a picture alone: the numbers after it are spoken of.
    return emptied && list.start === undefined ? [] : [{ item: { ...item, blocks }, emptied }];
  });
  if (kept.every(({ emptied }) => emptied) && list.items.length > 0) return undefined;
  return { ...list, items: kept.map(({ item }) => item) };
}

function takeInline(inline: readonly InlineNode[], taken: MediaPart[]): readonly InlineNode[] {
  const nodes: InlineNode[] = [];
  let gap = false;
  for (const node of inline) {
    if (node.type === "image" && isMediaPath(node.url)) {
      taken.push({ kind: "media", path: node.url, alt: node.alt });
      gap = true;
      continue;
    }
    const rest = "inline" in node ? spanWithoutMedia(node, taken) : [node];
    if (rest.length === 0) gap = true;
    for (const kept of rest) {
      if (gap) closeGap(nodes, kept);
      nodes.push(
        gap && kept.type === "text" ? { type: "text", text: afterGap(nodes.at(-1), kept.text) } : kept,
      );
      gap = false;
    }
  }
  return tidy(nodes);
}

function spanWithoutMedia(
  node: Extract<InlineNode, { inline: unknown }>,
  taken: MediaPart[],
): readonly InlineNode[] {
  const already = taken.length;
  const inline = takeInline(node.inline, taken);
  if (inline.length > 0) return [taken.length > already ? { ...node, inline } : node];
  if (taken.length === already) return [node];
  // A link around a picture still leads somewhere.
  return node.type === "link" ? [{ ...node, inline: [{ type: "text", text: node.url }] }] : [];
}

// "see ![a](b) , then" reads "see, then": a picture takes one of the blanks around it along.
function closeGap(nodes: InlineNode[], next: InlineNode): void {
  const last = nodes.at(-1);
  const closes =
    next.type === "break" ||
    (next.type === "text" && /^(?:[ \t]|[.,;:!?)\]}…](?:\s|$|[.,;:!?)]))/.test(next.text));
  if (last?.type === "text" && closes) {
    const text = last.text.replace(/[ \t]$/, "");
    if (text === "") nodes.pop();
    else nodes[nodes.length - 1] = { type: "text", text };
  }
}

function afterGap(last: InlineNode | undefined, text: string): string {
  return last === undefined || last.type === "break" ? text.replace(/^[ \t]+/, "") : text;
}
