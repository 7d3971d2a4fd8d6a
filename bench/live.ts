import { join } from "node:path";
import { pause, systemClock } from "../src/core/clock.ts";
import { columns, figure, quantile } from "./figures.ts";
import { folderBytes, type Measured, type World } from "./measured.ts";
import { Stage, WINDOW_MS } from "./stage.ts";

const small = process.env["PERCH_BENCH"] === "small";
const SIZE = small
  ? { idleMs: 1_500, warmUp: 3, near: 8, far: 8, floorLoop: 6, loop: 60 }
  : { idleMs: 3_000, warmUp: 10, near: 60, far: 60, floorLoop: 15, loop: 250 };

const CHATS = 50;
const THINK_MS = 200;
const WORD_MS = 25;
/** So that answers end at other places between two requests that show them. */
const WORDS = { least: 40, most: 80 };
/** What Telegram takes for a call when it is not in the same building. */
const FAR_MS = 80;

const WAYS = ["floor", "off", "draft", "edit"] as const;
type Way = (typeof WAYS)[number];
type Ways<T> = Readonly<Record<Way, T>>;

type Bot = { readonly home: string; readonly world: World; readonly process: Measured };
/** Milliseconds; `shown` of answers that are shown before they are sent. */
type Added = { readonly answer: number[]; readonly shown: number[] };
type Row = { readonly what: string; readonly unit: string; readonly of: (way: Way) => number | undefined };

const stage = new Stage();
try {
  console.log(
    `Perch with live: off, draft and edit, and a bare grammY + createAgent + MemorySaver bot; ${stage.machine()}` +
      `${small ? "; the short run, whose figures are rough" : ""}\n`,
  );
  console.log(`${table(await measure())}\n`);
  console.log(notes());
} finally {
  stage.end();
}

/** All run side by side and are talked to in turn, so that what else the machine does meets all. */
async function measure(): Promise<readonly Row[]> {
  const emptyBytes = await emptyData();
  const bots = await eachOf(open);
  await pause(systemClock, SIZE.idleMs);
  await addedBy(bots, SIZE.warmUp);
  await callsOf(bots);

  const near = await addedBy(bots, SIZE.near);
  const calls = await callsOf(bots);
  await eachOf((way) => bots[way].world.telegram.ask("replyAfter", { ms: FAR_MS }));
  const far = await addedBy(bots, SIZE.far);
  await eachOf((way) => bots[way].world.telegram.ask("replyAfter", { ms: 0 }));
  await callsOf(bots);
  const loops = await eachOf((way) => loop(way, bots[way]));
  const loopCalls = await callsOf(bots);

  await pause(systemClock, SIZE.idleMs);
  const memory = await eachOf(async (way) => bots[way].process.memory());
  await eachOf((way) => bots[way].process.stop());
  const bytes = await eachOf(async (way) => folderBytes(join(bots[way].home, "data")) - emptyBytes);
  const answers = SIZE.warmUp + SIZE.near + SIZE.far + SIZE.loop;
  return [
    ...latencies("added latency", "answer", near),
    ...latencies("first of it shown", "shown", near),
    ...latencies(`added latency, Telegram ${FAR_MS} ms away`, "answer", far),
    ...latencies(`first of it shown, ${FAR_MS} ms away`, "shown", far),
    ...callRows("calls per answer", calls, SIZE.near),
    { what: `answers, ${CHATS} chats`, unit: "/s", of: (way) => loops[way].perSecond },
    { what: "CPU per answer", unit: "ms", of: (way) => loops[way].cpuMs },
    ...callRows(`calls per answer, ${CHATS} chats`, loopCalls, SIZE.loop),
    { what: `memory after ${answers} answers`, unit: "MB", of: (way) => memory[way] },
    {
      what: "disk per answer",
      unit: "bytes",
      of: (way) => (way === "floor" ? undefined : bytes[way] / answers),
    },
  ];
}

/** What Perch keeps before anybody has written. */
async function emptyData(): Promise<number> {
  const home = join(stage.folder, "empty");
  await (await stage.start("perch", home, await stage.openWorld(CHATS))).stop();
  return folderBytes(join(home, "data"));
}

async function open(way: Way): Promise<Bot> {
  const home = join(stage.folder, way);
  const world = await stage.openWorld(CHATS);
  const started =
    way === "floor" ? stage.start("floor", home, world) : stage.start("perch", home, world, way);
  return { home, world, process: await started };
}

async function addedBy(bots: Ways<Bot>, answers: number): Promise<Ways<Added>> {
  const added = await eachOf<Added>(async () => ({ answer: [], shown: [] }));
  for (let n = 0; n < answers; n += 1) {
    await speak(n);
    await eachOf((way) => answerOne(way, bots[way], n, added[way]));
  }
  return added;
}

/** One message from being handed over to the requests that answer it, without the model and the window. */
async function answerOne(way: Way, { world }: Bot, n: number, added: Added): Promise<void> {
  const windowMs = way === "floor" ? 0 : WINDOW_MS;
  await stage.model.ask("took");
  const { answerMs, shownMs } = await world.telegram.ask("say", { chat: n % CHATS });
  added.answer.push(answerMs - (await stage.model.ask("took")) - windowMs);
  if (shownMs !== undefined) added.shown.push(shownMs - (await stage.model.ask("firstWord")) - windowMs);
}

async function speak(n: number): Promise<void> {
  const words = WORDS.least + ((n * 17) % (WORDS.most - WORDS.least + 1));
  await stage.model.ask("speak", { thinkMs: THINK_MS, words, wordMs: WORD_MS });
}

/** Each chat writes again when it is answered. */
async function loop(way: Way, { world, process }: Bot): Promise<{ perSecond: number; cpuMs: number }> {
  await speak(1);
  const asked = way === "floor" ? SIZE.floorLoop : SIZE.loop;
  let before = process.cpuMs();
  const perSecond = asked / (await world.telegram.ask("loop", { chats: CHATS, messages: asked }));
  let counted = asked;
  if (way === "floor") {
    // One by one with a model that takes its time, the floor would take minutes; what it does for a message is the same.
    await stage.model.ask("speak", { thinkMs: 0, words: WORDS.least, wordMs: 0 });
    before = process.cpuMs();
    counted = SIZE.loop - asked;
    await world.telegram.ask("loop", { chats: CHATS, messages: counted });
  }
  return { perSecond, cpuMs: (process.cpuMs() - before) / counted };
}

/** By method, since this was asked last. @throws Error when anything but one answer to each message stands in a chat. */
async function callsOf(bots: Ways<Bot>): Promise<Ways<Readonly<Record<string, number>>>> {
  return await eachOf(async (way) => {
    const { telegram } = bots[way].world;
    await telegram.ask("settled");
    return await telegram.ask("calls");
  });
}

/** One after the other. */
async function eachOf<T>(of: (way: Way) => Promise<T>): Promise<Ways<T>> {
  return { floor: await of("floor"), off: await of("off"), draft: await of("draft"), edit: await of("edit") };
}

function latencies(what: string, which: keyof Added, added: Ways<Added>): readonly Row[] {
  return [0.5, 0.95].map((share) => ({
    what: `${what}, p${share * 100}`,
    unit: "ms",
    of: (way) => (added[way][which].length === 0 ? undefined : quantile(added[way][which], share)),
  }));
}

function callRows(
  what: string,
  calls: Ways<Readonly<Record<string, number>>>,
  answers: number,
): readonly Row[] {
  const methods = [...new Set(WAYS.flatMap((way) => Object.keys(calls[way])))].toSorted();
  return [
    {
      what,
      unit: "",
      of: (way) => Object.values(calls[way]).reduce((sum, count) => sum + count, 0) / answers,
    },
    ...methods.map((method): Row => ({
      what: `  ${method}`,
      unit: "",
      of: (way) => (calls[way][method] ?? 0) / answers,
    })),
  ];
}

function table(rows: readonly Row[]): string {
  const cells = rows.map(({ what, unit, of }) => {
    const [floor, off, draft, edit] = WAYS.map(of);
    const numbers = [floor, off, draft, edit].map((value) => (value === undefined ? "" : figure(value)));
    return [what, ...numbers, unit, ratio(off, floor), ratio(draft, off), ratio(edit, off)];
  });
  const head = ["", ...WAYS, "", "off ÷ floor", "draft ÷ off", "edit ÷ off"];
  return columns([head, ...cells], [1, 2, 3, 4, 6, 7, 8]);
}

function ratio(of: number | undefined, to: number | undefined): string {
  return of === undefined || to === undefined || to === 0 ? "" : (of / to).toFixed(2);
}

function notes(): string {
  const spoken = [WORDS.least, WORDS.most].map((words) => ((THINK_MS + words * WORD_MS) / 1000).toFixed(1));
  return `The model begins after ${THINK_MS} ms and writes a word every ${WORD_MS} ms, ${WORDS.least} to ${WORDS.most} of them: ${spoken.join(" to ")} s, the same for
  all. The floor and "off" ask for the whole answer and wait as long for it. Private chats, one message at a time.
Added latency: from the moment Telegram's answer with the message is written to the moment the request to send the
  answer has arrived there: the message that stays, whatever was shown before. The model's own time is taken off (as
  its server measures it), and for Perch its window of ${WINDOW_MS} ms. ${SIZE.near} answers of each, in turn.
First shown: the same to the first draft or message that shows any of the answer, less the model's time to its first word
  and the window.
${FAR_MS} ms away: Telegram does at once what is asked, and says so ${FAR_MS} ms later; ${SIZE.far} answers of each. What is on its way in a
  chat is waited for before the answer is sent behind it.
Calls: all that reach the Bot API but getUpdates. At the end nothing of the bot's stands in a chat but one answer to
  each message, else the bench fails.
${CHATS} chats: each writes again when it is answered, ${SIZE.loop} answers of ${WORDS.least + 17} words. The floor handles one at a time; its CPU is of a
  model without delay. CPU: user and system time of the process (/proc). Memory: resident set (VmRSS).`;
}
