import { isMediaPath } from "./media-refs.ts";
import type { MarkdownTree } from "../core/tree.ts";
import { codeIn, parseMarkdown } from "./tree.ts";

// An image of Markdown, whole or as far as it has come; brackets in its words and in its address may be two deep.
const LABEL = String.raw`(?:[^[\]\\]|\\[^]|\[(?:[^[\]]|\[[^[\]]*\])*\])*`;
const ADDRESS = String.raw`<(?:[^<>\\]|\\[^])*>?|(?:[^\s()\\]|\\[^]|\((?:[^\s()\\]|\\[^]|\([^\s()]*\)?)*\)?)*`;
const TITLE = String.raw`"(?:[^"\\]|\\[^])*"?|'(?:[^'\\]|\\[^])*'?|(?:[^()]|\([^()]*\)?)*`;
const TARGET = String.raw`\(\s*(?<url>${ADDRESS})(?:\s+(?:${TITLE})\s*)?(?<end>\)?)|\[[^\]]*\]?`;
const IMAGE = new RegExp(
  String.raw`!\[${LABEL}(?:(?:\[(?:[^[\]]|\[[^[\]]*\]?)*|\\)?$|\](?:${TARGET})?)`,
  "g",
);
// What follows a picture that is all the words of a link.
const LINK_END = /^\](?:\((?:[^()]|\([^()]*\)?)*\)?)?/;
// "[chart]: <a.p" or "[chart]: a.png 'tit" at the end: what a reference is defined as, which is no text once it is whole.
const HALF_DEFINITION =
  /(?:^|\n)[ \t>]*\[[^[\]\n]{1,200}\]:\s*(?:<[^<>\n]*|\S+\s+(?:"[^"\n]*|'[^'\n]*|\([^()\n]*))$/;

/** What is shown of an answer that is still being written; the tree is made when it is asked for. */
export type Draft = { readonly text: string; readonly tree: () => MarkdownTree };

export function draftOf(markdown: string): Draft {
  const text = withoutMedia(markdown);
  return { text, tree: () => parseMarkdown(text) };
}

/**
 * Without the media that it refers to, which come with the answer, and without a reference of which only half is there.
 * Code and pictures of the net stay.
 */
function withoutMedia(markdown: string): string {
  if (!markdown.includes("![") && !markdown.includes("]:")) return markdown;
  const masked = mask(markdown, codeIn(markdown));
  let shown = "";
  let at = 0;
  for (const { index, 0: found, groups } of masked.matchAll(IMAGE)) {
    const address = groups?.["url"] ?? "";
    const isWhole = groups?.["end"] === ")";
    if (index < at || (isWhole && address !== "" && !isMediaPath(address.replace(/^</, "")))) continue;
    const before = markdown.slice(at, index);
    at = index + found.length;
    const linkEnd = before.endsWith("[") ? LINK_END.exec(masked.slice(at))?.[0] : undefined;
    shown += linkEnd === undefined && isWhole ? before : before.replace(/\[$/, "");
    at += linkEnd?.length ?? 0;
    // A line that was a picture alone is gone with it.
    if (shown === "" || shown.endsWith("\n")) at += /^[ \t]*\n*/.exec(markdown.slice(at))?.[0].length ?? 0;
  }
  return shown + markdown.slice(at, Math.max(at, HALF_DEFINITION.exec(masked)?.index ?? markdown.length));
}

/** The text with code written over, at the same length. */
function mask(markdown: string, code: readonly string[]): string {
  let out = "";
  let at = 0;
  // Line by line: within a quote or a list the source has more in each line than the code.
  for (const line of code.flatMap((raw) => raw.split("\n"))) {
    if (line.trim() === "") continue;
    const found = markdown.indexOf(line, at);
    if (found < 0) continue;
    out += markdown.slice(at, found) + "x".repeat(line.length);
    at = found + line.length;
  }
  return out + markdown.slice(at);
}
