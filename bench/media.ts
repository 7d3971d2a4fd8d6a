import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { type ConverterName, CONVERTERS } from "./converters.ts";
import { columns, figure, median } from "./figures.ts";
import { Helper } from "./helper.ts";
import { type Hold, worst } from "./holds.ts";
import { longAnswers } from "./long-answers.ts";
import { makeMedia, type Sent, type SentSizes } from "./media-files.ts";
import { Family } from "./proc.ts";
import type { Opening, ReadingQuestions } from "./reading-process.ts";
import type { RenderingQuestions } from "./rendering-process.ts";

const small = process.env["PERCH_BENCH"] === "small";
const MEDIA: SentSizes = small
  ? { photo: { width: 1_008, height: 756 }, pdfPages: 20, textBytes: 500_000, voiceSeconds: 180 }
  : { photo: { width: 4_032, height: 3_024 }, pdfPages: 200, textBytes: 5_000_000, voiceSeconds: 1_795 };
const ROUNDS = small ? 1 : 3;
const IDLE = { windows: small ? 3 : 9, ms: 400 };
const ANSWERS = { count: small ? 100 : 1_000, length: 2_000 };
const LONG = small ? 20_000 : 200_000;

type Way = { readonly where: string; readonly workshop: Opening["workshop"]; readonly ready: boolean };

const WAYS: readonly Way[] = [
  { where: "in a new child", workshop: "children", ready: false },
  { where: "in one that waits", workshop: "children", ready: true },
  { where: "without a child", workshop: "here", ready: true },
];

/** What no single hold of the event loop should be over. */
const MOST_MS = 50;

const LONG_FOR = ["Perch, for Telegram", "Perch, for WhatsApp", "Perch, for the web chat"] as const;

const folder = mkdtempSync(join(tmpdir(), "perch-bench-"));
/** Nothing that was begun outlives the bench, however it ends. */
const ends: (() => void)[] = [];
try {
  console.log(
    `Media read and answers rendered by Perch; Node ${process.version}, ${cpus().length} cores, ` +
      `load ${loadavg()[0]?.toFixed(1)}${small ? "; the short run, whose figures are rough" : ""}\n`,
  );
  const idle = await idleHolds();
  console.log(
    `An idle loop is held for ${figure(idle.alone)} ms at the longest in ${IDLE.ms} ms, ` +
      `${figure(idle.besideWork)} ms while another\nprocess works (medians of ${IDLE.windows}). The multiples are of the first.\n`,
  );
  console.log(`${await readingTable(idle.alone)}\n`);
  console.log(`${await renderingTable(idle.alone)}\n`);
  console.log(`${await longTable()}\n`);
  console.log(notes());
} finally {
  for (const end of ends) end();
  rmSync(folder, { recursive: true, force: true });
}

/** What the scheduler and the timers do to a loop that has nothing to do. */
async function idleHolds(): Promise<{ readonly alone: number; readonly besideWork: number }> {
  const idle = reader();
  try {
    const longest = async (): Promise<number> => {
      const holds: number[] = [];
      for (let n = 0; n < IDLE.windows; n += 1) holds.push((await idle.ask("idle", { ms: IDLE.ms })).longest);
      return median(holds);
    };
    const alone = await longest();
    const work = spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" });
    ends.push(() => work.kill("SIGKILL"));
    const besideWork = await longest();
    work.kill("SIGKILL");
    return { alone, besideWork };
  } finally {
    idle.end();
  }
}

type Read = {
  readonly ms: number;
  readonly hold: Hold;
  readonly cpuMs: number;
  readonly grownMb: number;
  readonly childrenMb: number;
};

async function readingTable(idleMs: number): Promise<string> {
  const lines = [
    [
      "reading",
      "",
      "s",
      "CPU s",
      "gateway MB",
      "children MB",
      "hold ms",
      "own",
      "× idle",
      `aim ≤ ${MOST_MS} ms`,
    ],
  ];
  for (const sent of await makeMedia(join(folder, "sent"), MEDIA)) {
    const reads = new Map<Way, Read[]>(WAYS.map((way) => [way, []]));
    // The ways take turns, so that what else the machine does meets all of them.
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const way of WAYS) {
        const read = await readOnce(sent, way, join(folder, `${way.workshop}-${sent.what}-${round}`));
        if (!read) continue;
        reads.get(way)?.push(read);
      }
    }
    for (const [{ where, workshop }, all] of reads) {
      const of = (what: Exclude<keyof Read, "hold">): readonly number[] => all.map((read) => read[what]);
      const hold = worst(all.map((read) => read.hold));
      const first = where === WAYS[0]?.where ? sent.what : "";
      if (all.length === 0) {
        lines.push([first, where, "no ffmpeg here"]);
        continue;
      }
      lines.push([
        first,
        where,
        figure(median(of("ms")) / 1000),
        figure(median(of("cpuMs")) / 1000),
        `+${figure(median(of("grownMb")))}`,
        workshop === "children" ? figure(median(of("childrenMb"))) : "",
        ...held(hold, idleMs),
        workshop === "children" ? verdict(hold) : "",
      ]);
    }
  }
  return columns(lines, [2, 3, 4, 5, 6, 7, 8]);
}

/** In processes of its own, so that one leaves nothing behind for the next; undefined where ffmpeg is not there. */
async function readOnce(sent: Sent, way: Way, home: string): Promise<Read | undefined> {
  const gateway = reader();
  try {
    const { ffmpeg } = await gateway.ask("open", {
      folder: home,
      workshop: way.workshop,
      ffmpeg: sent.ffmpeg,
    });
    if (sent.ffmpeg && !ffmpeg) return undefined;
    if (way.ready) await gateway.ask("read", sent.small);
    const family = new Family(gateway.pid);
    const { ms, hold } = await gateway.ask("read", sent.unfetched);
    return { ms, hold, ...family.end() };
  } finally {
    await gateway.ask("close");
    gateway.end();
    rmSync(home, { recursive: true, force: true });
  }
}

async function renderingTable(idleMs: number): Promise<string> {
  const names = Object.keys(CONVERTERS) as ConverterName[]; // its keys are these
  const together = renderer();
  await together.ask("load", { names });
  await together.ask("warmUp", ANSWERS);
  const took = await together.ask("turns", ANSWERS);
  together.end();
  const lines = [
    ["rendering", "ms each", "× Perch", "messages", "MB", "hold ms", "own", "× idle", `aim ≤ ${MOST_MS} ms`],
  ];
  const ours = took["Perch, for Telegram"]?.ms ?? NaN;
  for (const name of names) {
    const alone = renderer();
    await alone.ask("load", { names: [name] });
    const family = new Family(alone.pid);
    const hold = await alone.ask("all", ANSWERS);
    const { grownMb } = family.end();
    alone.end();
    const { ms = NaN, messages = NaN } = took[name] ?? {};
    lines.push([
      name,
      figure(ms / ANSWERS.count),
      figure(ms / ours),
      String(messages),
      `+${figure(grownMb)}`,
      ...held(hold, idleMs),
      name.startsWith("Perch") ? verdict(hold) : "",
    ]);
  }
  return columns(lines, [1, 2, 3, 4, 5, 6, 7]);
}

/** How long one answer that is very long holds the loop. */
async function longTable(): Promise<string> {
  const lines = [
    [`own hold ms by one answer of ${LONG.toLocaleString("en")}`, ...LONG_FOR, `aim ≤ ${MOST_MS} ms`],
  ];
  const renderers = LONG_FOR.map(() => renderer());
  for (const [at, name] of LONG_FOR.entries()) {
    await renderers[at]?.ask("load", { names: [name] });
    await renderers[at]?.ask("warmUp", ANSWERS);
  }
  for (const what of Object.keys(longAnswers(0))) {
    const holds: Hold[] = [];
    for (const each of renderers) holds.push(await each.ask("long", { name: what, length: LONG }));
    lines.push([what, ...holds.map(({ own }) => figure(own)), verdict(worst(holds))]);
  }
  for (const each of renderers) each.end();
  return columns(lines, [1, 2, 3]);
}

function held({ longest, own }: Hold, idleMs: number): readonly string[] {
  return [figure(longest), figure(own), figure(longest / idleMs)];
}

function verdict({ longest, own }: Hold): string {
  if (longest <= MOST_MS) return "met";
  return own <= MOST_MS ? "met but for a busy machine" : "MISSED";
}

function reader(): Helper<ReadingQuestions> {
  return started(new Helper<ReadingQuestions>(join(import.meta.dirname, "reading-process.js")));
}

function renderer(): Helper<RenderingQuestions> {
  return started(new Helper<RenderingQuestions>(join(import.meta.dirname, "rendering-process.js")));
}

function started<H extends { end(): void }>(helper: H): H {
  ends.push(() => helper.end());
  return helper;
}

function notes(): string {
  return `Reading: from the announced file to its blocks, bytes from the disk in place of the platform's; each time in a process
  of its own with the settings as they come, medians of ${ROUNDS}. A child that waits has read a small file of the kind before;
  without a child the same work is done in the gateway's own process, which has too, and is not how Perch works.
Gateway MB: how far the peak of its memory (VmHWM) rose. Children MB: the peaks of what lived at the same time, Node
  itself in it (some 50 MB). CPU: all of them together (/proc).
Hold: the longest time between two looks of a timer of 1 ms in the gateway, less that 1 ms, the longest of all rounds.
  Own: the longest for which the gateway worked itself; the rest of a hold it waited for a processor.
Rendering: ${ANSWERS.count.toLocaleString("en")} answers of ${ANSWERS.length.toLocaleString("en")} characters, the same for all, which take turns answer by answer after a warm-up. Perch
  reads the Markdown, looks for media, renders and splits (for the web it sanitises). The others read and write
  MarkdownV2 in one piece and split nothing: compare "unsplit". telegramify-markdown is asked with "escape"; of
  @chat-adapter/telegram it is TelegramFormatConverter, which it exports. MB and hold: each alone in a new process
  that begins cold, one answer a turn of the loop.`;
}
