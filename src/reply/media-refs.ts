import type { BlockNode, Cell, InlineNode, ListItem, MarkdownTree } from "../core/tree.ts";
import { tidy } from "./inline-nodes.ts";

/** A stretch of the answer, or a file that it refers to. `alt` is the caption; it may be empty. */
export type ReplyPart =
  | { readonly kind: "text"; readonly tree: MarkdownTree }
  | { readonly kind: "media"; readonly path: string; readonly alt: string };

type MediaPart = Extract<ReplyPart, { kind: "media" }>;

/**
 * Cuts an answer at its media references, in the order of the text: a block's media follow it, or go before it where
 * it begins with them; a paragraph is cut where media have a line of their own. Lists, quotes and tables stay whole.
 * What nothing is left of disappears. `isMedia` says which images are taken: the others stay in the text. Code is never
 * looked into.
 */
export function takeMedia(
  tree: MarkdownTree,
  isMedia: (url: string) => boolean = isMediaPath,
): { readonly parts: readonly ReplyPart[] } {
  const parts: ReplyPart[] = [];
  const text: BlockNode[] = [];
  const flush = (): void => {
    const blocks = text.splice(0);
    if (blocks.length > 0) parts.push({ kind: "text", tree: { blocks } });
  };
  for (const block of tree.blocks.flatMap((whole) => cutAtMediaLines(whole, isMedia))) {
    const { before, rest, after } = takeFromBlock(block, isMedia);
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
 * Whether an image names a file rather than an address: no scheme, no `//host`. `file:` and `sandbox:` are two, so that
 * a refusal is told instead of a path being shown.
 */
export function isMediaPath(url: string): boolean {
  if (url === "" || url.startsWith("//")) return false;
  return !/^[a-z][a-z0-9+.-]*:/i.test(url) || /^(?:file|sandbox):/i.test(url);
}

type IsMedia = (url: string) => boolean;

/** What is taken out on the way through a block. */
type Taking = { readonly isMedia: IsMedia; readonly found: MediaPart[] };

function cutAtMediaLines(block: BlockNode, isMedia: IsMedia): readonly BlockNode[] {
  if (block.type !== "paragraph") return [block];
  const pieces: InlineNode[][] = [[]];
  let wasMedia = false;
  for (const line of splitLines(block.inline)) {
    const counts = line.map((node) => mediaAlone(node, isMedia));
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

function takeFromBlock(
  block: BlockNode,
  isMedia: IsMedia,
): {
  readonly before: readonly MediaPart[];
  readonly rest: BlockNode | undefined;
  readonly after: readonly MediaPart[];
} {
  const taking: Taking = { isMedia, found: [] };
  const rest = withoutMedia(block, taking);
  const leads = block.type === "paragraph" || block.type === "heading";
  const leading = leads ? leadingMedia(block.inline, isMedia) : 0;
  return { before: taking.found.slice(0, leading), rest, after: taking.found.slice(leading) };
}

function leadingMedia(inline: readonly InlineNode[], isMedia: IsMedia): number {
  let count = 0;
  for (const node of inline) {
    const media = mediaAlone(node, isMedia);
    if (media === undefined) break;
    count += media;
  }
  return count;
}

/** How many media a node is, if nothing is left of it without them; undefined where something is. */
function mediaAlone(node: InlineNode, isMedia: IsMedia): number | undefined {
  switch (node.type) {
    case "image":
      return isMedia(node.url) ? 1 : undefined;
    case "break":
      return 0;
    case "text":
      return node.text.trim() === "" ? 0 : undefined;
    case "bold":
    case "italic":
    case "strike": {
      const counts = node.inline.map((child) => mediaAlone(child, isMedia));
      return counts.includes(undefined)
        ? undefined
        : counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
    }
    case "code":
    case "link":
      return undefined;
  }
}

function withoutMedia(block: BlockNode, taking: Taking): BlockNode | undefined {
  const already = taking.found.length;
  switch (block.type) {
    case "paragraph":
    case "heading": {
      const inline = takeInline(block.inline, taking);
      const isEmptied = taking.found.length > already && inline.every(isSeparator);
      return inline.length > 0 && !isEmptied ? { ...block, inline } : undefined;
    }
    case "quote": {
      const blocks = block.blocks.flatMap((child) => withoutMedia(child, taking) ?? []);
      return blocks.length > 0 || taking.found.length === already ? { ...block, blocks } : undefined;
    }
    case "list":
      return listWithoutMedia(block, taking);
    case "table": {
      const cells = (row: readonly Cell[]): readonly Cell[] =>
        row.map((cell) => ({ ...cell, inline: takeInline(cell.inline, taking) }));
      const table = { ...block, header: cells(block.header), rows: block.rows.map(cells) };
      const said = [table.header, ...table.rows].flat().some((cell) => cell.inline.length > 0);
      return said || taking.found.length === already ? table : undefined;
    }
    case "code":
    case "math":
    case "rule":
      return block;
  }
}

function listWithoutMedia(list: Extract<BlockNode, { type: "list" }>, taking: Taking): BlockNode | undefined {
  const kept = list.items.flatMap((item): readonly { item: ListItem; emptied: boolean }[] => {
    const already = taking.found.length;
    const blocks = item.blocks.flatMap((child) => withoutMedia(child, taking) ?? []);
    const emptied = blocks.length === 0 && taking.found.length > already && item.checked === undefined;
    // A numbered step stays even when it was a picture alone: the numbers after it are spoken of.
    return emptied && list.start === undefined ? [] : [{ item: { ...item, blocks }, emptied }];
  });
  if (kept.every(({ emptied }) => emptied) && list.items.length > 0) return undefined;
  return { ...list, items: kept.map(({ item }) => item) };
}

function takeInline(inline: readonly InlineNode[], taking: Taking): readonly InlineNode[] {
  const nodes: InlineNode[] = [];
  let gap = false;
  for (const node of inline) {
    if (node.type === "image" && taking.isMedia(node.url)) {
      taking.found.push({ kind: "media", path: node.url, alt: node.alt });
      gap = true;
      continue;
    }
    const rest = "inline" in node ? spanWithoutMedia(node, taking) : [node];
    if (rest.length === 0) gap = true;
    for (const kept of rest) {
      const next = gap ? withoutEmptyBrackets(nodes, kept) : kept;
      if (gap) closeGap(nodes, next);
      nodes.push(
        gap && next.type === "text" ? { type: "text", text: afterGap(nodes.at(-1), next.text) } : next,
      );
      gap = false;
    }
  }
  const last = nodes.at(-1);
  if (gap && last?.type === "text") nodes[nodes.length - 1] = { type: "text", text: last.text.trimEnd() };
  return tidy(nodes);
}

/** What stood between pictures and means nothing without them. */
function isSeparator(node: InlineNode): boolean {
  return node.type === "break" || (node.type === "text" && /^[\s,;.|/&+·•–—-]*$/.test(node.text));
}

const BRACKETS: ReadonlySet<string> = new Set(["()", "[]", "{}", '""', "“”", "„“", "«»", "（）", "「」"]);

/** "(![a](b))" leaves nothing: both brackets go with the picture. */
function withoutEmptyBrackets(nodes: InlineNode[], next: InlineNode): InlineNode {
  const last = nodes.at(-1);
  if (last?.type !== "text" || next.type !== "text") return next;
  if (!BRACKETS.has(last.text.slice(-1) + next.text.slice(0, 1))) return next;
  nodes[nodes.length - 1] = { type: "text", text: last.text.slice(0, -1) };
  return { type: "text", text: next.text.slice(1) };
}

function spanWithoutMedia(
  node: Extract<InlineNode, { inline: unknown }>,
  taking: Taking,
): readonly InlineNode[] {
  const already = taking.found.length;
  const inline = takeInline(node.inline, taking);
  if (inline.length > 0) return [taking.found.length > already ? { ...node, inline } : node];
  if (taking.found.length === already) return [node];
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
