/** Of at least one number. */
export function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5);
}

/** The number below which `share` of all lie, between two of them where it falls there. Of at least one number. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const [below = NaN, above = NaN] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  return below + (above - below) * (place - Math.floor(place));
}

/** One line of what is printed. */
export type Row = {
  readonly what: string;
  readonly unit: string;
  readonly floor?: number;
  readonly perch: number;
  /** The lowest and highest ratio of Perch to floor in single pairs. */
  readonly range?: readonly [number, number];
  readonly aim?: Aim;
};

/** Held against the ratio of Perch to floor, or against Perch's own figure. */
type Aim = { readonly of: "ratio" | "perch" } & ({ readonly atMost: number } | { readonly atLeast: number });

/** The rows as a table in plain text. */
export function table(rows: readonly Row[]): string {
  const head = ["", "floor", "Perch", "", "ratio", "pairs", "aim", ""];
  const cells = rows.map(({ what, unit, floor, perch, range, aim }) => {
    const ratio = floor === undefined ? NaN : perch / floor;
    return [
      what,
      floor === undefined ? "" : figure(floor),
      figure(perch),
      unit,
      floor === undefined ? "" : ratio.toFixed(2),
      range === undefined ? "" : range.map((end) => end.toFixed(2)).join("–"),
      aim === undefined ? "" : "atMost" in aim ? `≤ ${aim.atMost}` : `≥ ${aim.atLeast}`,
      aim === undefined ? "" : isMet(aim, aim.of === "ratio" ? ratio : perch) ? "met" : "MISSED",
    ];
  });
  return columns([head, ...cells], [1, 2, 4]);
}

/** Lines of cells, one column under the other; `right` are the columns whose cells stand to the right. */
export function columns(lines: readonly (readonly string[])[], right: readonly number[]): string {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  return lines
    .map((line) =>
      line
        .map((cell, column) => {
          const width = widths[column] ?? 0;
          return right.includes(column) ? cell.padStart(width) : cell.padEnd(width);
        })
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Three digits that count. */
export function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function isMet(aim: Aim, value: number): boolean {
  return "atMost" in aim ? value <= aim.atMost : value >= aim.atLeast;
}
