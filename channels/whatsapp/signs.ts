import type { Mark, Rendered } from "../../src/core/tree.ts";

/**
 * Text and marks as WhatsApp reads them: `*bold*`, `_italic_`, `~strike~`, backticks, "> " before each quoted line.
 * There is no way to escape a sign, so one of the text that would pair up gets an invisible blank beside it; a mark that
 * WhatsApp would not see, within a word or over a line's end, is left out or closed and opened again. Code is kept to
 * the letter but for a run of three backticks in it.
 */
export function inSigns({ text, marks }: Rendered): string {
  const blocks = marks.filter(({ type }) => type === "block");
  let out = "";
  let at = 0;
  for (const block of blocks) {
    out += inLines(text, at, block.offset, marks) + codeBlock(text.slice(block.offset, endOf(block)));
    at = endOf(block);
  }
  return out + inLines(text, at, text.length, marks);
}

/** U+200B ZERO WIDTH SPACE: a blank to WhatsApp, nothing to a reader. */
const BREAK = "\u200b";
const SIGNS: Readonly<Record<string, string>> = { bold: "*", italic: "_", strike: "~" };

function codeBlock(code: string): string {
  return `\`\`\`\n${apart(code)}\n\`\`\``;
}

/** One backtick where it would be seen, three where it would not: beside letters and blanks, around a backtick. */
function inlineCode(text: string, from: number, to: number): string {
  const code = text.slice(from, to);
  if (isPlain(text, from, to)) return `\`${code}\``;
  const before = code.startsWith("`") ? BREAK : "";
  const after = code.endsWith("`") ? BREAK : "";
  return `\`\`\`${before}${apart(code)}${after}\`\`\``;
}

function isPlain(text: string, from: number, to: number): boolean {
  const isApart = !letterBefore(text, from) && !letterAfter(text, to);
  return isApart && !/`|^\s|\s$/.test(text.slice(from, to));
}

/** No three backticks beside one another, which would end a block of code. */
function apart(code: string): string {
  return code.replaceAll(/`(?=``)/g, `\`${BREAK}`);
}

/** The text from `from` to `to`, line by line: marks of a line neither begin before it nor end behind it. */
function inLines(text: string, from: number, to: number, marks: readonly Mark[]): string {
  let out = "";
  for (let start = from; start < to;) {
    const lineEnd = text.indexOf("\n", start);
    const end = lineEnd < 0 || lineEnd >= to ? to : lineEnd;
    const near = marks.filter((mark) => mark.offset < Math.max(end, start + 1) && endOf(mark) > start);
    // What is left of a line behind a block of code is no beginning of one.
    const begins = from === 0 || start > from;
    const quoted = near.some(({ type }) => type === "quote");
    if (begins && quoted) out += "> ";
    // Also of the text itself, which quotes nothing.
    else if (begins && text.startsWith("> ", start)) out += BREAK;
    out += oneLine(text, start, end, near);
    if (end < to) out += "\n";
    start = end + 1;
  }
  return out;
}

function oneLine(text: string, start: number, end: number, near: readonly Mark[]): string {
  const code = near.filter(({ type, offset }) => type === "code" && offset >= start);
  const addresses = Array.from(text.slice(start, end).matchAll(ADDRESS), ({ index, 0: { length } }) => ({
    offset: start + index,
    length,
  })).filter((span) => !code.some((other) => other.offset < endOf(span) && span.offset < endOf(other)));
  const line: Line = { text, start, end, code, addresses };
  const styles = near.flatMap((mark) => styleIn(line, mark));
  const opening = new Map<number, string>();
  const closing = new Map<number, string>();
  for (const { sign, from, to } of styles) {
    opening.set(from, (opening.get(from) ?? "") + sign);
    closing.set(to, sign + (closing.get(to) ?? ""));
  }
  const ofText = signsThatPair(line, styles);
  const codeAt = new Map(code.map((span) => [span.offset, span]));
  // Between these nothing is to be written but the text.
  const stops = [...opening.keys(), ...closing.keys(), ...ofText, ...codeAt.keys(), end].toSorted(
    (a, b) => a - b,
  );
  let out = "";
  for (let at = start, stop = 0; at < end;) {
    while ((stops[stop] ?? end) <= at && stop < stops.length - 1) stop += 1;
    const span = codeAt.get(at);
    const sign = ofText.has(at);
    const next = span ? Math.min(endOf(span), end) : sign ? at + 1 : (stops[stop] ?? end);
    out += opening.get(at) ?? "";
    const said = span
      ? inlineCode(text, at, next)
      : sign
        ? withBlanks(line, at)
        : text.slice(at, next).replaceAll(/`(?=`)/g, `\`${BREAK}`);
    // Backticks of two codes, or of code and of the text, would be counted together.
    out += out.endsWith("`") && said.startsWith("`") ? BREAK + said : said;
    at = next;
    out += closing.get(at) ?? "";
  }
  return out;
}

type Span = { readonly offset: number; readonly length: number };

/** A stretch of the text without a line's end; signs in code and in addresses are no signs. */
type Line = {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly code: readonly Span[];
  readonly addresses: readonly Span[];
};

// As far as clients make a link of it: what often stands behind one ends it.
const ADDRESS = /(?:https?:\/\/|www\.)[^\s<>`]*[^\s<>()[\]*_~`.,:;!?'"]/g;

type Style = { readonly sign: string; readonly from: number; readonly to: number };

/** The part of a mark that is seen in this line: no blank and no sign of the text at its ends, no letter beside it. */
function styleIn({ text, start, end, code, addresses }: Line, mark: Mark): readonly Style[] {
  const sign = SIGNS[mark.type];
  if (sign === undefined) return [];
  const said = text.slice(Math.max(mark.offset, start), Math.min(endOf(mark), end));
  const first = Math.max(mark.offset, start) + said.length - said.trimStart().length;
  const last = first + said.trim().length;
  // The blanks of code are no blanks around a sign.
  const from = code.find((span) => span.offset < first && first < endOf(span))?.offset ?? first;
  const around = code.find((span) => span.offset < last && last < endOf(span));
  const to = around ? endOf(around) : last;
  const isSign = (at: number): boolean => /[*_~`]/.test(text[at] ?? "") && !isWithin(code, at);
  // A sign within an address is none, and one of the address could end the mark.
  const isCut = addresses.some(
    (span) =>
      (span.offset < from && from < endOf(span)) ||
      (span.offset < to && to < endOf(span)) ||
      (from <= span.offset && endOf(span) <= to && text.slice(span.offset, endOf(span)).includes(sign)),
  );
  const plain = code.every((span) => span.offset >= to || isPlain(text, span.offset, endOf(span)));
  const isSeen = plain && to > from && !letterBefore(text, from) && !letterAfter(text, to) && !isCut;
  return isSeen && !isSign(from) && !isSign(to - 1) ? [{ sign, from, to }] : [];
}

/** A sign in the line: one that is ours, at an end of a mark, or one of the text. */
type Sign = { readonly at: number; readonly opens: boolean; readonly closes: boolean };

/**
 * Where signs of the text would be taken for a mark's. A sign that pairs with nothing stays as it is, and so does one
 * between letters: `2*3`, `snake_case`.
 */
function signsThatPair(line: Line, styles: readonly Style[]): ReadonlySet<number> {
  const { text, start, end, code, addresses } = line;
  const found = new Set<number>();
  // Where a sign of ours stands, it is what is beside the text's.
  const ticks = code.map(({ offset, length }) => ({ sign: "`", from: offset, to: offset + length }));
  const edges = new Set([...styles, ...ticks].flatMap(({ from, to }) => [from, to]));
  for (const sign of ["*", "_", "~", "`"]) {
    const ours = [...styles, ...ticks]
      .filter((style) => style.sign === sign)
      .flatMap(({ from, to }): Sign[] => [
        { at: from, opens: true, closes: false },
        { at: to, opens: false, closes: true },
      ]);
    const ofText: Sign[] = [];
    for (let at = text.indexOf(sign, start); at >= 0 && at < end; at = text.indexOf(sign, at + 1)) {
      if (isWithin(code, at) || isWithin(addresses, at)) continue;
      const opens =
        (edges.has(at) || !letterBefore(text, at)) && (edges.has(at + 1) || !blankAfter(line, at));
      const closes =
        (edges.has(at + 1) || !letterAfter(text, at + 1)) && (edges.has(at) || !blankBefore(line, at));
      if (opens || closes) ofText.push({ at, opens, closes });
    }
    const all = [...ours, ...ofText];
    const firstOpening = Math.min(...all.filter((other) => other.opens).map((other) => other.at));
    const lastClosing = Math.max(...all.filter((other) => other.closes).map((other) => other.at));
    for (const { at, opens, closes } of ofText)
      if ((opens && lastClosing > at) || (closes && firstOpening < at)) found.add(at);
  }
  return found;
}

/** The sign with a blank on both sides, which neither opens nor closes anything. */
function withBlanks(line: Line, at: number): string {
  return `${blankBefore(line, at) ? "" : BREAK}${line.text[at]}${blankAfter(line, at) ? "" : BREAK}`;
}

function blankBefore({ text, start }: Line, at: number): boolean {
  return at <= start || /\s/.test(text[at - 1] ?? "");
}

function blankAfter({ text, end }: Line, at: number): boolean {
  return at + 1 >= end || /\s/.test(text[at + 1] ?? "");
}

function letterBefore(text: string, at: number): boolean {
  return /[\p{L}\p{N}\p{M}]$/u.test(text.slice(Math.max(0, at - 2), at));
}

function letterAfter(text: string, at: number): boolean {
  return /^[\p{L}\p{N}\p{M}]/u.test(text.slice(at, at + 2));
}

function isWithin(spans: readonly Span[], at: number): boolean {
  return spans.some((span) => span.offset <= at && at < endOf(span));
}

function endOf(mark: Span): number {
  return mark.offset + mark.length;
}
