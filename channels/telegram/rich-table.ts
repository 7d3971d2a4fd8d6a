/** A cell and how many columns and rows it covers. */
export type Cell = { readonly words: string; readonly columns: number; readonly rows: number };

const COLUMNS = 20; // Bot API "Rich message limits"

/** Rows as a Markdown table with as many cells in each: what a cell covers beside its first place is left blank. */
export function tableText(rows: readonly (readonly Cell[])[]): string {
  const grid: string[][] = rows.map(() => []);
  for (const [y, cells] of rows.entries())
    for (const cell of cells) {
      const x = firstFree(grid[y] ?? []);
      const below = grid.slice(y, y + Math.max(1, cell.rows));
      for (const [down, row] of below.entries())
        for (let at = x; at < Math.min(COLUMNS, x + Math.max(1, cell.columns)); at += 1)
          row[at] = down === 0 && at === x ? inCell(cell.words) : "";
    }
  const width = Math.max(0, ...grid.map((row) => row.length));
  if (width === 0) return "";
  const blanks = Array.from({ length: width }, () => "");
  const [head = [], ...body] = grid.map((row) => blanks.map((blank, at) => row[at] ?? blank));
  return [head, blanks.map(() => "---"), ...body].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function firstFree(row: readonly string[]): number {
  const hole = row.findIndex((words) => words === undefined);
  return hole === -1 ? row.length : hole;
}

function inCell(words: string): string {
  return words.replaceAll("|", "\\|").replaceAll("\n", " ");
}
