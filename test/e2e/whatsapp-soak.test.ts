import { expect, it } from "vitest";
import { type Held, soak } from "../support/whatsapp/soak-run.ts";

const LONG = Boolean(process.env["PERCH_LONG"]);
const SIZE = LONG
  ? { warmUp: 3_500, messages: 10_000, batch: 200, betweenBreaksMs: 65_000 }
  : { warmUp: 100, messages: 400, batch: 100, betweenBreaksMs: 0 };
const BREAKS = SIZE.messages / SIZE.batch;

it(
  `holds no more after ${SIZE.messages} messages each way and ${BREAKS} broken connections than before`,
  { timeout: 3_600_000 },
  async () => {
    const { held, ...counts } = await soak(SIZE);
    if (process.env["PERCH_COUNTS"]) console.log(JSON.stringify({ ...counts, ...figuresOf(held) }));
    expect(counts.answered).toBe(SIZE.messages);
    expect(counts.reconnects).toBeGreaterThanOrEqual(BREAKS);

    expect(growthOf(held, ({ heapUsed }) => heapUsed)).toBeLessThanOrEqual(1.1);
    // Over a few hundred messages it says more of when the collector came than of what is held.
    if (LONG) expect(growthOf(held, ({ rss }) => rss)).toBeLessThanOrEqual(1.1);
    const [first] = held;
    expect(held.map(({ listeners }) => listeners)).toEqual(held.map(() => first?.listeners));
    expect(held.map(socketsOf)).toEqual(held.map(() => 1));
    expect(held.map(({ connections }) => connections)).toEqual(held.map(() => 1));
  },
);

/** The second half of a run beside its first. */
function growthOf(held: readonly Held[], of: (held: Held) => number): number {
  const half = held.length / 2;
  return median(held.slice(half).map(of)) / median(held.slice(0, half).map(of));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function socketsOf({ handles }: Held): number {
  return handles["TCPSocketWrap"] ?? 0;
}

function figuresOf(held: readonly Held[]): object {
  const megabytes = (of: (held: Held) => number): readonly number[] =>
    held.map((each) => Math.round(of(each) / 1024 / 1024));
  return {
    heapMb: megabytes(({ heapUsed }) => heapUsed),
    rssMb: megabytes(({ rss }) => rss),
    heapGrowth: growthOf(held, ({ heapUsed }) => heapUsed).toFixed(3),
    rssGrowth: growthOf(held, ({ rss }) => rss).toFixed(3),
    cpuMs: held.map(({ cpuMs }) => cpuMs),
    listeners: held.at(-1)?.listeners,
    handles: held.at(-1)?.handles,
  };
}
