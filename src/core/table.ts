import type { BlockNode, Cell, InlineNode } from "./tree.ts";

type Table = Extract<BlockNode, { type: "table" }>;

/** How many columns of a monospace font a character takes. */
export type EastAsianWidth = (codePoint: number) => 1 | 2;

export type DrawnTable = {
  readonly text: string;
  /** Of the widest line. */
  readonly columns: number;
  /** Units of the heading and the line below it, with their line ends. */
  readonly head: number;
};

/** A table in lines of equal width for a monospace font; `read` says what a cell holds. */
export function drawTable(
  table: Table,
  read: (inline: readonly InlineNode[]) => string,
  widthOf: EastAsianWidth,
): DrawnTable {
  const texts = [table.header, ...table.rows].map((row) =>
    row.map((cell) => read(cell.inline).replaceAll(/\s+/g, " ").trim()),
  );
  const columns = table.header.map((cell, column) => ({
    align: cell.align ?? "left",
    width: texts.reduce((most, row) => Math.max(most, displayWidth(row[column] ?? "", widthOf)), 1),
  }));
  const draw = (row: readonly string[]): string =>
    columns
      .map(({ align, width }, column) => pad(row[column] ?? "", width, align, widthOf))
      .join(" | ")
      .trimEnd();
  const line = columns.map(({ width }) => "-".repeat(width)).join("-|-");
  const [header = [], ...rows] = texts;
  const head = `${draw(header)}\n${line}`;
  return {
    text: [head, ...rows.map(draw)].join("\n"),
    columns: line.length,
    head: rows.length > 0 ? head.length + 1 : 0,
  };
}

/** A table as "key: value" lines, a paragraph for each row: what a narrow screen has room for. */
export function tableLines(table: Table): readonly BlockNode[] {
  if (table.rows.length === 0) return paragraph(table.header.map(({ inline }) => inline).filter(isSaid));
  // A heading that no row has a value for would be lost with it.
  const named = table.header.map((_, column) => !table.rows.some((row) => isSaid(row[column]?.inline ?? [])));
  return table.rows.flatMap((row, index) =>
    paragraph(
      table.header.flatMap((key, column): readonly (readonly InlineNode[])[] => {
        const value = row[column]?.inline ?? [];
        if (!isSaid(key.inline)) return isSaid(value) ? [value] : [];
        if (!isSaid(value)) return index === 0 && named[column] ? [keyed(key, [])] : [];
        return [keyed(key, value)];
      }),
    ),
  );
}

function paragraph(lines: readonly (readonly InlineNode[])[]): readonly BlockNode[] {
  const inline = lines.flatMap((line, at) => (at === 0 ? line : [{ type: "break" } as const, ...line]));
  return inline.length > 0 ? [{ type: "paragraph", inline }] : [];
}

function keyed({ inline }: Cell, value: readonly InlineNode[]): readonly InlineNode[] {
  const colon: InlineNode = { type: "text", text: value.length > 0 ? ": " : ":" };
  return [{ type: "bold", inline }, colon, ...value];
}

function isSaid(inline: readonly InlineNode[]): boolean {
  return inline.length > 0;
}

function pad(
  text: string,
  width: number,
  align: NonNullable<Cell["align"]>,
  widthOf: EastAsianWidth,
): string {
  const room = width - displayWidth(text, widthOf);
  const before = align === "right" ? room : align === "center" ? Math.floor(room / 2) : 0;
  return " ".repeat(before) + text + " ".repeat(room - before);
}

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });

const EMOJI = /^\p{Emoji_Presentation}|^\p{Regional_Indicator}|\ufe0f/u;
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** No screen is so wide, however its signs are counted, and counting them takes more than its share of time. */
const MOST_COUNTED = 1_000;

/** Columns of a monospace font: what is drawn as one sign counts once, whatever it is made of. */
function displayWidth(text: string, widthOf: EastAsianWidth): number {
  if (text.length > MOST_COUNTED || /^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    if (NO_WIDTH.test(segment)) continue;
    width += EMOJI.test(segment) ? 2 : widthOf(segment.codePointAt(0) ?? 0);
  }
  return width;
}
