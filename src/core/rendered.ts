import type { Mark, Rendered } from "./tree.ts";

// How channels put rendered text together; marks move along with their words.

/** What a mark says besides where it is. */
export type MarkKind = Omit<Mark, "offset" | "length">;

export function plainText(text: string): Rendered {
  return { text, marks: [] };
}

/** One mark over the whole. */
export function over(mark: MarkKind, { text, marks }: Rendered): Rendered {
  return { text, marks: [{ ...mark, offset: 0, length: text.length }, ...marks] };
}

export function join(parts: readonly Rendered[], separator: string): Rendered {
  let text = "";
  const marks: Mark[] = [];
  parts.forEach((part, index) => {
    if (index > 0) text += separator;
    const start = text.length;
    text += part.text;
    for (const mark of part.marks) marks.push({ ...mark, offset: mark.offset + start });
  });
  return { text, marks };
}

/**
 * Puts `first` before the text and `later` before each further line, but not before empty lines and not within marks of
 * the type `code`, whose lines are shown as they are.
 */
export function prefix({ text, marks }: Rendered, first: string, later: string, code: string): Rendered {
  const blocks = marks.filter(({ type }) => type === code);
  let out = first;
  let taken = 0;
  const added: { readonly at: number; readonly length: number }[] = [];
  for (const { index } of text.matchAll(/\n(?!\n|$)/g)) {
    const at = index + 1;
    if (blocks.some((mark) => mark.offset < at && at < mark.offset + mark.length)) continue;
    out += text.slice(taken, at) + later;
    taken = at;
    added.push({ at, length: later.length });
  }
  const shift = (position: number, isEnd: boolean): number =>
    first.length +
    position +
    added.reduce(
      (sum, { at, length }) => sum + (at < position || (at === position && !isEnd) ? length : 0),
      0,
    );
  const moved = marks.map((mark) => {
    const offset = shift(mark.offset, false);
    return { ...mark, offset, length: shift(mark.offset + mark.length, true) - offset };
  });
  return { text: out + text.slice(taken), marks: moved };
}

/** Without blanks at the ends but those of a mark, and without marks over nothing; outer marks before inner ones. */
export function finish({ text, marks }: Rendered): Rendered {
  const end = text.trimEnd().length;
  const blank = text.length - text.trimStart().length;
  const start = Math.min(blank, ...marks.map(({ offset }) => offset));
  const kept = marks.flatMap((mark) => {
    const from = Math.max(mark.offset, start);
    const length = Math.min(mark.offset + mark.length, end) - from;
    const visible = length > 0 && text.slice(from, from + length).trim() !== "";
    return visible ? [{ ...mark, offset: from - start, length }] : [];
  });
  return {
    text: text.slice(start, Math.max(start, end)),
    marks: kept.toSorted((one, other) => one.offset - other.offset || other.length - one.length),
  };
}
