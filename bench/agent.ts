import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import type { ChatId } from "../src/core/identity.ts";
import { openSqlite } from "../src/store/sqlite.ts";
import { bareInMemory, bareOnSqlite, type Contender, deepOnSqlite, perch } from "./agents.ts";
import { columns, figure, median } from "./figures.ts";

const small = process.env["PERCH_BENCH"] === "small";
const SIZE = small
  ? { fresh: 40, warmUp: 20, growth: 200, floors: 60, each: 20, chats: 1_000 }
  : { fresh: 300, warmUp: 100, growth: 2_000, floors: 150, each: 50, chats: 10_000 };
/** A turn of the script is a question, a call, its result and an answer. */
const MESSAGES_A_TURN = 4;

console.log(
  `What a turn with one tool call costs, with a model without latency${small ? "; the short run, whose figures are rough" : ""}\n`,
);
console.log(`${await costs()}\n`);
console.log(`${await growth()}\n`);
console.log(await idle());

/** Fresh threads, side by side in turn; then one long thread of Perch's alone. */
async function costs(): Promise<string> {
  const both = [bareInMemory(), await perch()] as const;
  const took = both.map((): number[] => []);
  for (let n = 1; n <= SIZE.warmUp + SIZE.fresh; n += 1) {
    for (const [at, contender] of both.entries()) {
      const ms = await timed(() => contender.turn(`1/bench/${n}`, n));
      if (n > SIZE.warmUp) took[at]?.push(ms);
    }
  }
  await Promise.all(both.map((contender) => contender.close()));
  // With the limits that agents have by themselves: what was said earlier is summed up meanwhile, and that is counted too.
  const long = await perch();
  const lines: string[] = [];
  const at = new Map<number, number>();
  const last = 1_000 / MESSAGES_A_TURN + 10; // turns
  const each: number[] = [];
  for (let n = 1; n <= last; n += 1) each.push(await timed(() => long.turn("1/bench/1", n)));
  for (const messages of [50, 1_000]) {
    const turn = Math.round(messages / MESSAGES_A_TURN);
    at.set(messages, mean(each.slice(turn - 10, turn + 10)));
  }
  await long.close();
  const [floor = [], ours = []] = took;
  const ratio = median(ours) / median(floor);
  const grown = (at.get(1_000) ?? NaN) / (at.get(50) ?? NaN);
  lines.push(
    columns(
      [
        ["fresh thread", "ms", "ratio", "aim", ""],
        ["createAgent + MemorySaver", figure(median(floor)), "1", "", ""],
        ["Perch on SQLite", figure(median(ours)), ratio.toFixed(2), "≤ 2.5", verdict(ratio, 2.5)],
        ["", "", "", "", ""],
        ["Perch, a thread of", "ms", "ratio", "aim", ""],
        ["50 messages", figure(at.get(50) ?? NaN), "1", "", ""],
        ["1,000 messages", figure(at.get(1_000) ?? NaN), grown.toFixed(2), "≤ 1.5", verdict(grown, 1.5)],
      ],
      [1, 2],
    ),
  );
  return lines.join("\n");
}

/** One chat that is talked to on and on. The floors are left earlier: each of their turns costs more than the one before. */
async function growth(): Promise<string> {
  const window = { contextTokens: 16_000 };
  const contenders: readonly (readonly [Contender, number])[] = [
    [await perch(window), SIZE.growth],
    [bareOnSqlite(), SIZE.floors],
    [deepOnSqlite(), SIZE.floors],
  ];
  const lines: (readonly string[])[] = [
    ["", "turns", "ms, kB written, prompt characters of a turn at", "", "", "", "at the end ÷ at half"],
  ];
  for (const [contender, turns] of contenders) {
    const took: number[] = [];
    const wrote: number[] = [];
    const sent: number[] = [];
    for (let n = 1; n <= turns; n += 1) {
      const before = written();
      took.push(await timed(() => contender.turn("1/bench/1", n)));
      wrote.push((written() - before) / 1_000);
      sent.push(contender.model.largest());
    }
    await contender.close();
    process.stderr.write(`${contender.name}: ${turns} turns\n`);
    const marks = [SIZE.each, Math.round(turns / 2), turns];
    const shown = marks.map((mark) => {
      const part = (of: readonly number[]): string => figure(mean(of.slice(mark - SIZE.each, mark)));
      return `${mark}: ${part(took)} ms, ${part(wrote)} kB, ${part(sent)}`;
    });
    const grew = (of: readonly number[]): string =>
      (mean(of.slice(-SIZE.each)) / mean(of.slice(turns / 2 - SIZE.each, turns / 2))).toFixed(2);
    lines.push([contender.name, String(turns), ...shown, "", `${grew(took)} ${grew(wrote)} ${grew(sent)}`]);
    if (contender.folder !== undefined) rmSync(contender.folder, { recursive: true });
  }
  return columns(lines, [1]);
}

/** What chats cost that nobody talks in. */
async function idle(): Promise<string> {
  const empty = mkdtempSync(join(tmpdir(), "perch-bench-empty-"));
  const full = mkdtempSync(join(tmpdir(), "perch-bench-idle-"));
  const database = await openSqlite(join(full, "perch.db"));
  await database.db.transaction().execute(async (trx) => {
    for (let n = 1; n <= SIZE.chats; n += 1) {
      const chat = n as ChatId; // given out in this order
      await trx
        .insertInto("chat")
        .values({ channel: "bench", kind: "private", owner: "", epoch: n, until: 0 })
        .execute();
      await trx
        .insertInto("address")
        .values({ channel: "bench", chat: `c${n}`, topic: "", chat_id: chat })
        .execute();
      await trx
        .insertInto("thread_fact")
        .values({
          thread: `${n}/bench/1`,
          chat_id: chat,
          agent: "bench",
          title: "A talk of long ago",
          messages: 40,
          tokens: 4_000,
          estimated: 0,
          window: 128_000,
          at: n,
        })
        .execute();
    }
  });
  await database.close();
  const rows: (readonly string[])[] = [["", "first turn, ms", "heap, MB"]];
  for (const [name, folder] of [
    ["no chats", empty],
    [`${SIZE.chats.toLocaleString("en")} idle chats`, full],
  ] as const) {
    const ms: number[] = [];
    let heap = 0;
    for (let round = 0; round < 5; round += 1) {
      const begun = performance.now();
      const contender = await perch({}, folder);
      await contender.turn("1/bench/1", round);
      ms.push(performance.now() - begun);
      globalThis.gc?.();
      heap = process.memoryUsage().heapUsed / 1e6;
      await contender.close();
    }
    rows.push([name, figure(median(ms)), figure(heap)]);
  }
  for (const folder of [empty, full]) rmSync(folder, { recursive: true });
  return columns(rows, [1, 2]);
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** Bytes that this process has handed to the system to be written. */
function written(): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

function verdict(ratio: number, most: number): string {
  return ratio <= most ? "met" : "MISSED";
}
