import { join } from "node:path";
import { pause, systemClock } from "../src/core/clock.ts";
import { median, quantile, type Row, table } from "./figures.ts";
import { folderBytes, type Kind, type Measured, type World } from "./measured.ts";
import { Stage, WINDOW_MS } from "./stage.ts";

const small = process.env["PERCH_BENCH"] === "small";
const SIZE = small
  ? { starts: 2, idleMs: 1_500, warmUp: 10, latency: 20, floorLoop: 15, messages: 400, rounds: 1 }
  : { starts: 5, idleMs: 3_000, warmUp: 50, latency: 200, floorLoop: 60, messages: 2_000, rounds: 2 };

const CHATS = 50;
const THINK_MS = 200;
/** `turns.concurrent` as it comes. */
const TURNS_AT_ONCE = 16;
/** Messages a second, in all chats together: channels/telegram/pace.ts. */
const PACE = 25;
const KINDS: readonly Kind[] = ["floor", "perch"];

type Both<T> = Record<Kind, T>;

const stage = new Stage();
try {
  console.log(
    `Perch and a bare grammY + createAgent + MemorySaver bot; ${stage.machine()}` +
      `${small ? "; the short run, whose figures are rough" : ""}\n`,
  );
  const starts = await measureStarts();
  const talk = await measureTalk(starts.emptyBytes);
  console.log(`${table([...starts.rows, ...talk.rows])}\n`);
  console.log(notes());
} finally {
  stage.end();
}

/** Each kind is started in turn, a number of times; then it is left alone, and its memory is read. */
async function measureStarts(): Promise<{ rows: readonly Row[]; emptyBytes: number }> {
  const startMs: Both<number[]> = { floor: [], perch: [] };
  const idle: Both<number[]> = { floor: [], perch: [] };
  const worlds = { floor: await stage.openWorld(CHATS), perch: await stage.openWorld(CHATS) };
  const folders = { floor: join(stage.folder, "start-floor"), perch: join(stage.folder, "start-perch") };
  // The first start of each only makes the data folder and brings the files into the page cache.
  for (const kind of KINDS) await (await stage.start(kind, folders[kind], worlds[kind])).stop();
  const emptyBytes = folderBytes(join(folders.perch, "data"));
  for (let pair = 0; pair < SIZE.starts; pair += 1) {
    for (const kind of pair % 2 === 0 ? KINDS : KINDS.toReversed()) {
      const bot = await stage.start(kind, folders[kind], worlds[kind]);
      await pause(systemClock, SIZE.idleMs);
      startMs[kind].push(bot.startMs);
      idle[kind].push(bot.memory());
      await bot.stop();
    }
  }
  const rows: Row[] = [
    {
      what: "start to first getUpdates, median",
      unit: "ms",
      ...pairs(startMs),
      aim: { of: "ratio", atMost: 1 },
    },
    {
      what: `memory idle (${SIZE.idleMs / 1000} s after), median`,
      unit: "MB",
      ...pairs(idle),
      aim: { of: "ratio", atMost: 1.3 },
    },
  ];
  return { rows, emptyBytes };
}

/** Both run side by side and are talked to in turn, so that what else the machine does meets both. */
async function measureTalk(emptyBytes: number): Promise<{ rows: readonly Row[] }> {
  const worlds: Both<World> = { floor: await stage.openWorld(CHATS), perch: await stage.openWorld(CHATS) };
  const bots: Both<Measured> = {
    floor: await stage.start("floor", join(stage.folder, "talk-floor"), worlds.floor),
    perch: await stage.start("perch", join(stage.folder, "talk-perch"), worlds.perch),
  };
  await pause(systemClock, SIZE.idleMs);
  const idle = each((kind) => bots[kind].memory());

  await stage.model.ask("think", { ms: 0 });
  const first = { floor: await addedMs("floor", 0), perch: await addedMs("perch", 0) };
  for (let n = 1; n < SIZE.warmUp; n += 1) {
    for (const kind of KINDS) await addedMs(kind, n);
  }
  const warm = each((kind) => bots[kind].memory());

  const added: Both<number[]> = { floor: [], perch: [] };
  for (let n = 0; n < SIZE.latency; n += 1) {
    for (const kind of KINDS) added[kind].push(await addedMs(kind, n));
  }

  const rate: Both<number[]> = { floor: [], perch: [] };
  const cpu: Both<number[]> = { floor: [], perch: [] };
  const left = SIZE.messages - SIZE.warmUp - SIZE.latency;
  for (let round = 0; round < SIZE.rounds; round += 1) {
    rate.floor.push(await perSecond("floor", THINK_MS, Math.round(SIZE.floorLoop / SIZE.rounds)));
    const perchCpu = bots.perch.cpuMs();
    rate.perch.push(await perSecond("perch", THINK_MS, Math.round(left / SIZE.rounds)));
    cpu.perch.push((bots.perch.cpuMs() - perchCpu) / Math.round(left / SIZE.rounds));
    // One by one with a model that thinks, the floor would take minutes; what it does for a message is the same.
    const rest = Math.round((left - SIZE.floorLoop) / SIZE.rounds);
    const floorCpu = bots.floor.cpuMs();
    await perSecond("floor", 0, rest);
    cpu.floor.push((bots.floor.cpuMs() - floorCpu) / rest);
  }
  await pause(systemClock, SIZE.idleMs);
  const after = each((kind) => bots[kind].memory());
  for (const kind of KINDS) await bots[kind].stop();
  const data = folderBytes(join(stage.folder, "talk-perch", "data"));

  const count = SIZE.messages.toLocaleString("en");
  const rows: Row[] = [
    { what: "added latency, first message", unit: "ms", ...first },
    { what: "added latency, p50", unit: "ms", ...quantiles(added, 0.5), aim: { of: "ratio", atMost: 1.5 } },
    { what: "added latency, p95", unit: "ms", ...quantiles(added, 0.95), aim: { of: "ratio", atMost: 1.5 } },
    {
      what: `answers, ${CHATS} chats, model ${THINK_MS} ms`,
      unit: "/s",
      ...pairs(rate),
      aim: { of: "ratio", atLeast: 3 },
    },
    { what: "CPU per message", unit: "ms", ...pairs(cpu) },
    { what: `memory after ${SIZE.warmUp} messages`, unit: "MB", ...warm },
    { what: `memory after ${count} messages`, unit: "MB", ...after },
    {
      what: `memory after ${count} ÷ own idle`,
      unit: "×",
      floor: after.floor / idle.floor,
      perch: after.perch / idle.perch,
      aim: { of: "perch", atMost: 1.2 },
    },
    {
      what: `memory after ${count} ÷ own after ${SIZE.warmUp}`,
      unit: "×",
      floor: after.floor / warm.floor,
      perch: after.perch / warm.perch,
    },
    { what: "disk per message", unit: "bytes", perch: (data - emptyBytes) / SIZE.messages },
  ];
  return { rows };

  /** One message from being handed over to the request to send its answer, without the model and the window. */
  async function addedMs(kind: Kind, n: number): Promise<number> {
    await stage.model.ask("took");
    const { answerMs } = await worlds[kind].telegram.ask("say", { chat: n % CHATS });
    const thinkingMs = await stage.model.ask("took");
    return answerMs - thinkingMs - (kind === "perch" ? WINDOW_MS : 0);
  }

  async function perSecond(kind: Kind, thinkMs: number, messages: number): Promise<number> {
    await stage.model.ask("think", { ms: thinkMs });
    return messages / (await worlds[kind].telegram.ask("loop", { chats: CHATS, messages }));
  }
}

function each<T>(of: (kind: Kind) => T): Both<T> {
  return { floor: of("floor"), perch: of("perch") };
}

function pairs({ floor, perch }: Both<readonly number[]>): Pick<Row, "floor" | "perch" | "range"> {
  const ratios = perch.map((value, pair) => value / (floor[pair] ?? NaN));
  return {
    floor: median(floor),
    perch: median(perch),
    range: [Math.min(...ratios), Math.max(...ratios)],
  };
}

function quantiles({ floor, perch }: Both<readonly number[]>, share: number): Pick<Row, "floor" | "perch"> {
  return { floor: quantile(floor, share), perch: quantile(perch, share) };
}

function notes(): string {
  const turns = Math.round(TURNS_AT_ONCE / (THINK_MS / 1000));
  const windows = Math.round(CHATS / ((THINK_MS + WINDOW_MS) / 1000));
  return `Start: from spawning the process to its first getUpdates, on a data folder that is there, files in the page cache.
Memory: resident set (VmRSS). CPU: user and system time of the process (/proc).
Added latency: from the moment Telegram's answer with the message is written to the moment the request to send has
  arrived there; the model's own time is taken off (as its server measures it, with no delay), and for Perch its window
  of ${WINDOW_MS} ms. What Perch commits in between is in it. ${SIZE.latency} messages each, in turn, one at a time.
Window: it is taken off above, but a person waits for it: ${WINDOW_MS} ms that the floor does not take, for one answer instead of
  two to what was written in two messages.
Answers: each chat writes again when it is answered. The floor handles one at a time, as grammY polls: at most
  ${1000 / THINK_MS}/s. Perch runs ${TURNS_AT_ONCE} turns at once as it comes (turns.concurrent): at most ${turns}/s; the window alone would allow ${windows}/s.
  But it writes no faster than Telegram takes it from a bot: ${PACE}/s.
CPU of the floor is of ${CHATS} chats and a model without delay, Perch's of the run above; both of threads of the same lengths.
Memory after: Perch loads LangChain with the first message, so its idle is one without LangChain; the second of the two
  ratios compares what has the same things loaded.`;
}
