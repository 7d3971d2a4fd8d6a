import type { TokenizerAndRendererExtension, Tokens } from "marked";
import { LOOK_AHEAD } from "./markdown-bounds.ts";

/** `$…$` or `$$…$$`; `block` where it stands in lines of its own. */
export type Formula = { type: "math"; raw: string; text: string; block: boolean };

/** `[^label]`; without a definition it is ordinary text. */
export type FootnoteRef = { type: "footnoteRef"; raw: string; label: string };

/** `[^label]: …` with the blocks of the note. */
export type FootnoteText = { type: "footnoteText"; raw: string; label: string; tokens: Tokens.Generic[] };

// Pandoc's tex_math_dollars: no blank inside the dollars, no digit after the closing one. A backtick ends the search,
// so that a dollar within a code span closes nothing.
const INLINE_MATH = /^\$(?![\s$])((?:\\[^]|[^\\$`])+)\$(?!\d)/;
const DISPLAY_MATH_INLINE = /^\$\$(?!\$)((?:\\[^]|[^\\$`])+)\$\$/;
const BLOCK_MATH = /^ {0,3}\$\$(?!\$)(?=\s*[^\s$])((?:[^$\n]|\$(?!\$)|\n(?![ \t]*\n))+)\$\$[ \t]*(?:\n+|$)/;
const BLANK_LINE = /\n[ \t]*\n/;

const NOTE_START = String.raw`\[\^[^\]\s]+\]:`;
// What follows a note without a blank line belongs to it unless it starts a block of its own.
const NOTE = new RegExp(
  String.raw`^ {0,3}\[\^([^\]\s]+)\]:[ \t]*` +
    String.raw`([^\n]*(?:\n(?! {0,3}(?:${NOTE_START}|#{1,6}\s|>|[-*+]\s|\d+[.)]\s|` +
    "```|~~~" +
    String.raw`|\$\$))(?=[ \t]*\S)[^\n]+)*(?:\n+(?: {4}|\t)[^\n]*)*)(?:\n+|$)`,
);
const NOTE_REF = /^\[\^([^\]\s]+)\](?![([:])/;

export const extensions: TokenizerAndRendererExtension[] = [
  {
    name: "math",
    level: "block",
    start: (source) => startIn(source, "\n$$", BLOCK_MATH),
    tokenizer(source): Formula | undefined {
      const [raw, text = ""] = BLOCK_MATH.exec(source) ?? [];
      return raw === undefined ? undefined : { type: "math", raw, text: text.trim(), block: true };
    },
  },
  {
    name: "math",
    level: "inline",
    // The parser stops by itself at the other signs; looking beyond them would cost the square of the length.
    start: (source) => {
      const next = source.slice(0, LOOK_AHEAD).search(/[$\\<![`*~_]/);
      return source[next] === "$" ? next : undefined;
    },
    tokenizer(source): Formula | undefined {
      const [raw, text = ""] = DISPLAY_MATH_INLINE.exec(source) ?? INLINE_MATH.exec(source) ?? [];
      if (raw === undefined || text.trim() === "" || BLANK_LINE.test(text)) return undefined;
      if (!raw.startsWith("$$") && /\s$/.test(text)) return undefined;
      return { type: "math", raw, text: text.trim().replaceAll("\n", " "), block: false };
    },
  },
  {
    name: "footnoteText",
    level: "block",
    start: (source) => startIn(source, "\n[^", NOTE),
    tokenizer(source): FootnoteText | undefined {
      const [raw, label, text = ""] = NOTE.exec(source) ?? [];
      if (raw === undefined || label === undefined) return undefined;
      const tokens = this.lexer.blockTokens(text.replaceAll(/\n(?: {4}|\t)/g, "\n"), []);
      return { type: "footnoteText", raw, label: label.toLowerCase(), tokens };
    },
  },
  {
    name: "footnoteRef",
    level: "inline",
    tokenizer(source): FootnoteRef | undefined {
      const [raw, label] = NOTE_REF.exec(source) ?? [];
      return raw === undefined || label === undefined
        ? undefined
        : { type: "footnoteRef", raw, label: label.toLowerCase() };
    },
  },
];

/**
 * Where a block of ours ends the paragraph. Only where there is one: a paragraph that is cut for nothing is put together
 * again piece by piece.
 */
function startIn(source: string, sign: string, block: RegExp): number | undefined {
  const end = source.search(BLANK_LINE);
  const at = (end < 0 ? source : source.slice(0, end)).indexOf(sign);
  return at >= 0 && block.test(source.slice(at + 1)) ? at : undefined;
}
