import type { Mark } from "../../src/core/tree.ts";

// How WhatsApp reads a text, after what is known of it: signs touch what they mark, at the edge of a word, within one
// line; backticks win; "> " quotes a line. U+200B counts as a blank.

export type Read = { readonly text: string; readonly marks: readonly Mark[] };

const STYLES: Readonly<Record<string, string>> = { "*": "bold", _: "italic", "~": "strike" };
const LETTER = /[\p{L}\p{N}\p{M}]/u;
const BLANK = /[\s\u200b]/;

/** The text without its signs, and what they mark. */
export function readSigns(source: string): Read {
  let text = "";
  const marks: Mark[] = [];
  for (const [at, part] of source.split("```").entries()) {
    const isCode = at % 2 === 1;
    if (isCode) {
      const code = part.replace(/^\n|\n$/g, "");
      marks.push({ type: part.includes("\n") ? "block" : "code", offset: text.length, length: code.length });
      text += code;
      continue;
    }
    part.split("\n").forEach((line, index) => {
      if (index > 0) text += "\n";
      const isWhole = index > 0 || text === "";
      const quoted = isWhole && line.startsWith("> ");
      const from = text.length;
      const read = readLine(quoted ? line.slice(2) : line);
      text += read.text;
      if (quoted) marks.push({ type: "quote", offset: from, length: read.text.length });
      for (const mark of read.marks) marks.push({ ...mark, offset: mark.offset + from });
    });
  }
  return { text, marks };
}

type Found = { readonly type: string; readonly from: number; readonly to: number };

function readLine(line: string): Read {
  const signs = Array.from(line);
  const before = (at: number): string => signs[at - 1] ?? " ";
  const after = (at: number): string => signs[at + 1] ?? " ";
  const opens = (at: number): boolean => !LETTER.test(before(at)) && !BLANK.test(after(at));
  const closes = (at: number): boolean => !LETTER.test(after(at)) && !BLANK.test(before(at));
  const address = addressesIn(signs);
  const found: Found[] = [];
  const used = new Set<number>();
  const isFree = (at: number): boolean =>
    !used.has(at) &&
    !address.has(at) &&
    !found.some(({ type, from, to }) => type === "code" && from < at && at < to);
  for (const sign of ["`", "*", "_", "~"]) {
    for (let at = 0; at < signs.length; at++) {
      if (signs[at] !== sign || !isFree(at) || !opens(at)) continue;
      const end = signs.findIndex(
        (other, index) => index > at + 1 && other === sign && isFree(index) && closes(index),
      );
      if (end < 0) continue;
      found.push({ type: STYLES[sign] ?? "code", from: at, to: end });
      used.add(at).add(end);
    }
  }
  let text = "";
  const places: number[] = [];
  for (const [at, sign] of signs.entries()) {
    places.push(text.length);
    if (!used.has(at)) text += sign;
  }
  const marks = found.map(({ type, from, to }) => ({
    type,
    offset: places[from] ?? 0,
    length: (places[to] ?? text.length) - (places[from] ?? 0),
  }));
  return { text, marks };
}

/** Clients look for addresses first: what is in one is no sign. */
function addressesIn(signs: readonly string[]): ReadonlySet<number> {
  const places = signs.flatMap((sign, at) => Array.from({ length: sign.length }, () => at));
  return new Set(
    Array.from(
      signs.join("").matchAll(/(?:https?:\/\/|www\.)[^\s<>`\u200b]*[^\s<>\u200b()[\]*_~`.,:;!?'"]/g),
      ({ index, 0: { length } }) => places.slice(index, index + length),
    ).flat(),
  );
}
