import type { MediaBlock } from "../core/blocks.ts";
import { bytesWords, durationWords, inQuotes } from "../core/words.ts";

/**
 * One line that says what a medium is, for a thread and for a model, whether it is shown the medium or not. The path is
 * only told where the agent has tools that can open it.
 */
export function mediaWords(block: MediaBlock, { paths }: { readonly paths: boolean }): string {
  return [
    // A quote in the name must not end it.
    `${block.quoted ? "quoted " : ""}${block.type}${block.filename === undefined ? "" : ` ${inQuotes(block.filename)}`}`,
    block.mimeType,
    ...(block.width !== undefined && block.height !== undefined
      ? [`${block.width} × ${block.height} px`]
      : []),
    ...(block.durationSeconds === undefined ? [] : [durationWords(block.durationSeconds)]),
    bytesWords(block.bytes),
    ...(block.note === undefined ? [] : [block.note]),
    ...(paths && block.path !== undefined ? [`at ${pathWords(block.path)}`] : []),
  ].join(", ");
}

/** A path as it is where it can be told from the words around it, else in quotes. */
export function pathWords(path: string): string {
  return /^[\p{L}\p{N}_./-]+$/u.test(path) ? path : inQuotes(path);
}

/** How a sentence names a medium. */
export function nameOf({ type, filename }: MediaBlock): string {
  return filename ?? `the ${type}`;
}

/** Text as databases and providers take it: without halves of characters and without control characters, but for tabs and ends of lines. */
export function plainText(text: string): string {
  return text.replaceAll(NO_TEXT, "\u{FFFD}").toWellFormed();
}

// oxlint-disable-next-line no-control-regex -- it is these that are meant
const NO_TEXT = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F]/g;

/** Of the line, for each word: what has no blanks is no word. */
const WORD_CHARACTERS = 20;

/** The first `count` words in one line, with an ellipsis where something was left out. */
export function firstWords(text: string, count: number): string {
  const words = text.trim().split(/\s+/);
  const first = words.slice(0, count).join(" ");
  const shown = first.slice(0, count * WORD_CHARACTERS).toWellFormed();
  return words.length > count || shown.length < first.length ? `${shown} …` : shown;
}
