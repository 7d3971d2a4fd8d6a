import type { Cell, InlineNode } from "../../src/core/tree.ts";

type Table = { readonly header: readonly Cell[]; readonly rows: readonly (readonly Cell[])[] };

/** A table in lines of equal width for a monospace font; `read` says what a cell holds. */
export function drawTable(table: Table, read: (inline: readonly InlineNode[]) => string): string {
  const texts = [table.header, ...table.rows].map((row) =>
    row.map((cell) => read(cell.inline).replaceAll(/\s+/g, " ").trim()),
  );
  const columns = table.header.map((cell, column) => ({
    align: cell.align ?? "left",
    width: Math.max(1, ...texts.map((row) => displayWidth(row[column] ?? ""))),
  }));
  const draw = (row: readonly string[]): string =>
    columns
      .map(({ align, width }, column) => pad(row[column] ?? "", width, align))
      .join(" | ")
      .trimEnd();
  const line = columns.map(({ width }) => "-".repeat(width)).join("-|-");
  const [header = [], ...rows] = texts;
  return [draw(header), line, ...rows.map(draw)].join("\n");
}

function pad(text: string, width: number, align: NonNullable<Cell["align"]>): string {
  const room = width - displayWidth(text);
  const before = align === "right" ? room : align === "center" ? Math.floor(room / 2) : 0;
  return " ".repeat(before) + text + " ".repeat(room - before);
}

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });

// Unicode's East Asian Width W and F, by block; emoji are told by their property.
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
const EMOJI = /^\p{Emoji_Presentation}|^\p{Regional_Indicator}|\ufe0f/u;
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** Columns of a monospace font. */
function displayWidth(text: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    if (NO_WIDTH.test(segment)) continue;
    width += WIDE.test(segment) || EMOJI.test(segment) ? 2 : 1;
  }
  return width;
}
