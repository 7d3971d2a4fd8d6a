import type { Mark, Rendered } from "../core/tree.ts";

/**
 * Splits what a channel rendered into pieces of at most `textLength`, by the channel's own count (UTF-16 units without
 * one): at an empty line where it can, else at a line's end, after a sentence, at a blank, and only then between two
 * graphemes. Marks that a cut goes through continue in the next piece with their url and language, and a table with its
 * heading. Pieces are trimmed; nothing else is lost. An empty or invisible text gives no pieces.
 */
export function splitRendered(
  rendered: Rendered,
  textLength: number,
  lengthOf: (piece: Rendered) => number = ({ text }) => text.length,
): readonly Rendered[] {
  const { text } = rendered;
  const marks = rendered.marks.toSorted(
    (one, other) => one.offset - other.offset || other.length - one.length,
  );
  const code = marks.filter(({ type }) => BLOCKS.has(type));
  const pieces: Rendered[] = [];
  let start = skipBlank(text, code, 0);
  let open = 0; // no mark before this one reaches as far as `start`
  while (start < text.length) {
    while (open < marks.length && endOf(marks[open] as Mark) <= start) open++; // within the length
    const near = within(marks, open, start, start + textLength);
    const head = headAt(text, near, start, textLength);
    let room = Math.min(text.length, start + textLength - head.length, endOfMarks(near, start));
    for (;;) {
      const end = room === text.length ? room : findCut(text, near, start, room);
      const piece = under(head, cutOut(text, near, start, end));
      const length = lengthOf(piece);
      if (length <= textLength || end <= start + 2) {
        if (!INVISIBLE.test(piece.text)) pieces.push(piece);
        start = skipBlank(text, code, end);
        break;
      }
      // The signs take room from the text: as much as they have now, or their share of it where they are everywhere.
      const share = start + Math.floor(((end - start) * textLength) / length);
      room = Math.max(start + 2, end - (length - textLength), share);
    }
  }
  return pieces;
}

/** How channels call a block of code; its lines and their indentation are kept. */
const BLOCKS: ReadonlySet<string> = new Set(["pre", "block"]);

/** The marks from index `first` on that touch the text between `start` and `end`. */
function within(marks: readonly Mark[], first: number, start: number, end: number): readonly Mark[] {
  const near: Mark[] = [];
  for (let index = first; index < marks.length; index++) {
    const mark = marks[index] as Mark; // within the length
    if (mark.offset >= end) break;
    if (endOf(mark) > start) near.push(mark);
  }
  return near;
}

/** What is said again before a piece that begins in the middle of a table; not where it would fill half of it. */
function headAt(text: string, near: readonly Mark[], start: number, textLength: number): string {
  const table = near.find(
    ({ offset, head = 0 }) => head > 0 && offset + head <= start && head <= textLength / 2,
  );
  return table ? text.slice(table.offset, table.offset + (table.head ?? 0)) : "";
}

/** The piece below its heading, which belongs to the mark that the piece begins with. */
function under(head: string, { text, marks }: Rendered): Rendered {
  if (head === "") return { text, marks };
  return {
    text: head + text,
    // A mark that the piece begins in goes on from the piece before: the table's own, or a quote around it.
    marks: marks.map((mark) =>
      mark.offset === 0
        ? { ...mark, length: mark.length + head.length }
        : { ...mark, offset: mark.offset + head.length },
    ),
  };
}

const MOST_MARKS = 100; // Bot API: further entities of a message are dropped in silence
const MOST_MARK_BYTES = 9_000; // ENTITIES_TOO_LONG comes at about 9,500 serialised bytes
const MARK_BYTES = 24; // type, offset and length of one, rounded up

// What Telegram does not count as visible; a message of nothing else is refused.
const INVISIBLE = /^[\s\u00a0\u2000-\u200f\u202f\u2800\u3000\ufeff\ufffc\u{e0000}-\u{e007f}]*$/u;

/** How far a piece from `start` may go for the marks that it would hold. */
function endOfMarks(marks: readonly Mark[], start: number): number {
  let count = 0;
  let bytes = 0;
  for (const mark of marks) {
    count++;
    bytes += MARK_BYTES + Buffer.byteLength(`${mark.url ?? ""}${mark.language ?? ""}`);
    if ((count > MOST_MARKS || bytes > MOST_MARK_BYTES) && mark.offset > start) return mark.offset;
  }
  return Infinity;
}

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });

// A grapheme that reaches over the end of the window has to be seen whole; longer ones are cut anyway.
const LOOK_AHEAD = 128;

/** Where the piece that begins at `start` ends, at most `room`. */
function findCut(text: string, marks: readonly Mark[], start: number, room: number): number {
  const segments = graphemes.segment(text.slice(start, room + LOOK_AHEAD));
  // A blank that carries a mark is a letter of its own, not a place to cut.
  const isBare = (at: number): boolean => segments.containing(at - start)?.segment === text[at];
  const last = (from: number, accept: (at: number) => boolean): number | undefined => {
    for (let at = room; at >= from && at > start; at--) if (accept(at) && isBare(at)) return at;
    return undefined;
  };
  const share = (part: number): number => start + Math.floor((room - start) * part);
  const isCode = (at: number): boolean => marks.some((mark) => BLOCKS.has(mark.type) && holds(mark, at));
  const isAtom = (at: number): boolean =>
    marks.some((mark) => (mark.url !== undefined || mark.type === "code") && holds(mark, at));

  const lineEnd =
    last(share(0.6), (at) => text.startsWith("\n\n", at) && !isCode(at)) ??
    // Platforms take the blanks at a message's beginning away, and an indented line would lose its own.
    last(share(0.5), (at) => text[at] === "\n" && !isBlank(text[at + 1])) ??
    last(share(0.5), (at) => text[at] === "\n");
  if (lineEnd !== undefined) return beforeHeading(text, marks, start, lineEnd);
  return (
    last(share(0.5), (at) => isBlank(text[at]) && SENTENCE_END.test(text.slice(at - 3, at)) && !isAtom(at)) ??
    last(share(0.5), (at) => isBlank(text[at]) && !isAtom(at)) ??
    last(share(0.25), (at) => isBlank(text[at]) && !isAtom(at)) ??
    last(share(0.25), (at) => isBlank(text[at])) ??
    betweenGraphemes(text, segments, start, room)
  );
}

const SENTENCE_END = /(?:[.!?…]["')\]»”’]?|[。！？])$/;

function betweenGraphemes(text: string, segments: Intl.Segments, start: number, room: number): number {
  const index = segments.containing(room - start)?.index ?? 0;
  if (index > 0) return start + index;
  // One grapheme longer than a message: marks piled on a letter. Only a pair of surrogates is kept together.
  const isPair = /[\ud800-\udbff]/.test(text[room - 1] ?? "") && /[\udc00-\udfff]/.test(text[room] ?? "");
  if (!isPair) return room;
  return room - 1 > start ? room - 1 : room + 1;
}

// A line that is bold as a whole is how channels write headings; more than a few of them are a bold list.
const MOST_HEADINGS = 3;

/** Moves a cut at a line's end before the headings that would be left as last lines, if anything stays before them. */
function beforeHeading(text: string, marks: readonly Mark[], start: number, cut: number): number {
  let end = cut;
  for (let count = 0; count <= MOST_HEADINGS; count++) {
    const shown = start + text.slice(start, end).trimEnd().length;
    const line = Math.max(start, text.lastIndexOf("\n", shown - 1) + 1);
    const bold = marks.some((mark) => mark.type === "bold" && mark.offset <= line && endOf(mark) >= shown);
    if (!bold) return shown > start ? end : cut;
    if (line <= start) return cut;
    end = line - 1;
  }
  return cut;
}

function cutOut(text: string, marks: readonly Mark[], start: number, end: number): Rendered {
  const shown = start + text.slice(start, end).trimEnd().length;
  const kept = marks.flatMap((mark): readonly Mark[] => {
    const from = Math.max(mark.offset, start);
    const to = Math.min(endOf(mark), shown);
    if (text.slice(from, to).trim() === "") return [];
    return [partOf(mark, from - start, to - from)];
  });
  return { text: text.slice(start, shown), marks: kept.slice(0, MOST_MARKS) };
}

/** The mark over a piece's part of it; what its head is for is done by then. */
function partOf({ type, url, language }: Mark, offset: number, length: number): Mark {
  return {
    type,
    offset,
    length,
    ...(url === undefined ? {} : { url }),
    ...(language === undefined ? {} : { language }),
  };
}

/** The first position from `from` on that is not blank; in code, the beginning of its line, for its indentation. */
function skipBlank(text: string, code: readonly Mark[], from: number): number {
  let at = from;
  let line = from;
  while (isBlank(text[at])) {
    if (text[at] === "\n") line = at + 1;
    at++;
  }
  const block = code.find((mark) => mark.offset <= at && at < endOf(mark));
  return block === undefined ? at : Math.max(line, block.offset);
}

function isBlank(sign: string | undefined): boolean {
  return sign === " " || sign === "\n" || sign === "\t" || sign === "\r";
}

function holds(mark: Mark, at: number): boolean {
  return mark.offset < at && at < endOf(mark);
}

function endOf(mark: Mark): number {
  return mark.offset + mark.length;
}
