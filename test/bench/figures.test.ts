import { describe, expect, it } from "vitest";
import { median, quantile, table } from "../../bench/figures.ts";

describe("the figures of the bench", () => {
  it.each([
    [[3], 0.95, 3],
    [[4, 1, 3, 2], 0.5, 2.5],
    [[5, 1, 4, 2, 3], 0.5, 3],
    [Array.from({ length: 101 }, (_, n) => n), 0.95, 95],
  ])("finds of %j the quantile %d", (numbers, share, expected) => {
    expect(quantile(numbers, share)).toBeCloseTo(expected, 9);
  });

  it("takes the middle as the median, whatever the order", () => {
    expect(median([900, 1, 5])).toBe(5);
  });

  it("says of each aim whether it is met, by the ratio or by Perch's own figure", () => {
    const lines = table([
      {
        what: "start",
        unit: "ms",
        floor: 800,
        perch: 600,
        range: [0.7, 0.8],
        aim: { of: "ratio", atMost: 1 },
      },
      { what: "answers", unit: "/s", floor: 5, perch: 14, aim: { of: "ratio", atLeast: 3 } },
      { what: "memory ÷ idle", unit: "×", floor: 4, perch: 1.3, aim: { of: "perch", atMost: 1.2 } },
      { what: "disk", unit: "bytes", perch: 3490 },
    ]).split("\n");
    expect(lines).toEqual([
      "               floor  Perch         ratio  pairs      aim",
      "start            800    600  ms      0.75  0.70–0.80  ≤ 1    met",
      "answers         5.00   14.0  /s      2.80             ≥ 3    MISSED",
      "memory ÷ idle   4.00   1.30  ×       0.33             ≤ 1.2  MISSED",
      "disk                   3490  bytes",
    ]);
  });
});
