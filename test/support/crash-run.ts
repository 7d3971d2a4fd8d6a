import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { scaledClock } from "../../src/core/clock.ts";
import { operatorFolder, spawnPerch } from "./perch-process.ts";
import { startOpenAi } from "./models/openai.ts";
import type { Json } from "./models/server.ts";
import { jpeg } from "./telegram/pictures.ts";
import { startTelegram, type TelegramEmulator } from "./telegram/emulator.ts";
import type { Call } from "./telegram/request.ts";

/** Where the process is to end, and how that moment is known. */
export type CrashPoint =
  | { readonly at: "poll" | "download" | "model" }
  /** A call of the Bot API that has arrived, is about to change something, or has changed it. */
  | {
      readonly at: "call";
      readonly method: string;
      readonly event: "received" | "beforeCommit" | "afterCommit";
      /** Each send is shown and not acknowledged, so that there is something to look for. */
      readonly loses?: true;
    }
  | { readonly at: "commit"; readonly of: string };

export type CrashCounts = {
  readonly messages: number;
  readonly kills: number;
  /** Messages that no answer speaks of. */
  readonly lost: readonly string[];
  /** Messages that two answers speak of, neither of them marked. */
  readonly twice: readonly string[];
  /** Chats whose answers are not in the order of their messages. */
  readonly disordered: readonly string[];
  /** Answers that came marked, because the first outcome was unknown; seen twice by the person, or only so. */
  readonly again: { readonly seenTwice: number; readonly seenOnce: number };
  /** Sends whose answers were lost without the end of the process. */
  readonly answersLost: number;
  /** Messages that were taken back, because the first one was found. */
  readonly takenBack: number;
};

const PRELOAD = pathToFileURL(join(import.meta.dirname, "crash-preload.mjs")).href;
const TOKEN = /m\d+-\d+/g;
const MARK = "(sent again)";
// Time runs faster, for Perch, the emulator and the model alike: windows and waits are most of a run.
const RATE = 4;

/** Sends messages in many chats, ends the process `kills` times at one point, and counts what people see at the end. */
export async function crashRun(
  point: CrashPoint,
  size: { readonly chats: number; readonly each: number; readonly kills: number },
): Promise<CrashCounts> {
  const origin = Date.now();
  const clock = scaledClock(RATE, origin);
  const telegram = await startTelegram({ clock });
  const model = await startOpenAi({
    clock,
    otherwise: (request) => ({ text: answerTo(request.body), wordMs: 20 }),
  });
  const people = Array.from({ length: size.chats }, (_, at) => 1_001 + at);
  const folder = await operatorFolder({
    "config/perch.yaml": [
      `channels: { tg: { kind: telegram, token: "\${TOKEN}", apiRoot: "${telegram.apiRoot}", agent: helper, allow: ${JSON.stringify(people.map(String))} } }`,
      "agents: { folder: ../agents }",
      "http: { port: 0 }",
    ].join("\n"),
    "agents/helper.md": `---\nmodel: openai:test\nbaseUrl: ${model.url}\napiKey: \${KEY}\n---\nBe brief.\n`,
  });
  let kills = 0;
  let child: ReturnType<typeof spawnPerch> | undefined;
  // What was in flight at two crashes is run alone and would rightly be set aside at a third. So the process ends twice in
  // a row, and then again only when everything that was said before has been answered.
  let first: readonly string[] = [];
  const answered = new Set<string>();
  const mayEnd = (): boolean => kills < size.kills && first.every((token) => answered.has(token));
  const armed = join(folder.path, "armed");
  const arm = (): void => (mayEnd() ? writeFileSync(armed, "") : rmSync(armed, { force: true }));
  const environment = (): Record<string, string> => ({
    TOKEN: telegram.token,
    KEY: "none",
    PERCH_LOG: "warn",
    PERCH_CLOCK: `${RATE}@${origin}`,
    ...(point.at === "commit" ? { PERCH_CRASH_AFTER: point.of, PERCH_CRASH_IF: armed } : {}),
  });
  const killNow = (): void => {
    if (mayEnd()) child?.child.kill("SIGKILL");
  };
  if (point.at === "poll")
    telegram.on("pollAnswered", ({ updates }) => (updates.length > 0 ? killNow() : undefined));
  if (point.at === "download") telegram.on("fileRequested", killNow);
  if (point.at === "call") onCall(telegram, point, killNow);
  if (point.at === "model") model.on("request", killNow);
  const losses = point.at === "call" && point.loses ? loseAnswers(telegram) : NO_LOSSES;

  const sendsPhotos = point.at === "download" || (point.at === "commit" && point.of.includes('"attachment"'));
  const speaking = new Map(
    people.map((person) => [person, telegram.privateChat({ id: person, firstName: `P${person}` })]),
  );
  const say = (person: number, n: number): void => {
    const voice = speaking.get(person);
    const token = `m${person}-${n}`;
    if (sendsPhotos) voice?.sendPhoto(jpeg(64, 64), { caption: token });
    else voice?.sendText(token);
  };
  const tokens = people.flatMap((person) =>
    Array.from({ length: size.each }, (_, n) => `m${person}-${n + 1}`),
  );

  // Each person says the next thing once the last was answered.
  const spoken = new Map(people.map((person) => [person, 1]));
  const wasSaid = (token: string): boolean => {
    const [person = 0, n = 0] = token.slice(1).split("-").map(Number);
    return n <= (spoken.get(person) ?? 0);
  };
  const run = { done: false };
  const keepRunning = (async () => {
    while (!run.done) {
      arm();
      child = spawnPerch({ folder: folder.path, env: environment(), node: ["--import", PRELOAD] });
      const code = await child.ended;
      if (run.done) return;
      if (code !== null) throw new Error(`perch ended by itself with ${code}:\n${child.output()}`);
      kills += 1;
      // A second send may have been lost with the process: it is looked for once something is said.
      losses.open.clear();
      if (kills % 2 === 0) first = tokens.filter((token) => wasSaid(token));
    }
  })();
  for (const person of people) say(person, 1);
  let changed = (): void => {};
  telegram.on("afterCommit", () => changed());
  const allAnswered = (async () => {
    for (;;) {
      const next = new Promise<void>((resolve) => (changed = resolve));
      for (const { text } of telegram.sent) for (const token of text?.match(TOKEN) ?? []) answered.add(token);
      arm();
      for (const [person, n] of spoken) {
        const waits = losses.open.has(String(person)) || (kills < size.kills && !mayEnd());
        if (n === size.each || !answered.has(`m${person}-${n}`) || waits) continue;
        spoken.set(person, n + 1);
        say(person, n + 1);
      }
      if (tokens.every((token) => answered.has(token)) && losses.open.size === 0) return;
      await next;
    }
  })();
  await Promise.race([allAnswered, keepRunning]);
  run.done = true;
  child?.child.kill("SIGTERM");
  await keepRunning;
  const counts = { ...countOf(telegram, people, tokens, kills), answersLost: losses.texts.size };
  await telegram.close();
  await model.close();
  await folder.remove();
  return counts;
}

function onCall(
  telegram: TelegramEmulator,
  { method, event }: Extract<CrashPoint, { readonly at: "call" }>,
  act: () => void,
): void {
  if (event !== "received") {
    telegram.on(event, (call) => (call.method === method ? act() : undefined));
    return;
  }
  // It is asked of each call that arrives whether it is to fail.
  const when = (): boolean => {
    act();
    return false;
  };
  telegram.fault({ method, when }, { kind: "silence", when: "before" });
}

/** Chats that show what was not acknowledged, until it was sent again and that taken back; and all that was lost so. */
type Losses = { readonly open: Set<string>; readonly texts: ReadonlySet<string> };
const NO_LOSSES: Losses = { open: new Set(), texts: new Set() };

/** Each answer is shown and not acknowledged. Nothing must be said in its chat meanwhile, behind which it could be found. */
function loseAnswers(telegram: TelegramEmulator): Losses {
  const open = new Set<string>();
  const texts = new Set<string>();
  const isLost = ({ parameters }: Call): boolean => {
    const [chat, text] = [String(parameters["chat_id"]), String(parameters["text"])];
    if (text.startsWith(MARK) || texts.has(text)) return false;
    texts.add(text);
    open.add(chat);
    return true;
  };
  telegram.fault({ method: "sendMessage", when: isLost, times: Infinity }, { kind: "drop", when: "after" });
  telegram.on("afterCommit", ({ method, parameters }) => {
    if (method === "deleteMessages") open.delete(String(parameters["chat_id"]));
  });
  return { open, texts };
}

/** Names every message that the last thing the person said speaks of. */
function answerTo(body: Json): string {
  const messages = body["messages"] as readonly { readonly role: string; readonly content: unknown }[]; // the protocol's own shape
  const last = messages.findLast((message) => message.role === "user");
  return `re ${[...new Set(JSON.stringify(last?.content).match(TOKEN) ?? [])].join(" ")} and some more words after that`;
}

function countOf(
  telegram: TelegramEmulator,
  people: readonly number[],
  tokens: readonly string[],
  kills: number,
): Omit<CrashCounts, "answersLost"> {
  const plain: string[] = [];
  const marked: string[] = [];
  const disordered: string[] = [];
  let takenBack = 0;
  for (const person of people) {
    const inOrder: number[] = [];
    for (const { messageId } of telegram.sentTo(person)) {
      const message = telegram.message(person, messageId);
      if (!message) takenBack += 1;
      const text = message?.text ?? "";
      const found = text.match(TOKEN) ?? [];
      (text.startsWith(MARK) ? marked : plain).push(...found);
      if (!text.startsWith(MARK)) inOrder.push(...found.map((token) => Number(token.split("-")[1])));
    }
    if (inOrder.some((n, at) => at > 0 && n < (inOrder[at - 1] ?? 0)))
      disordered.push(`chat of ${person}: ${inOrder.join(" ")}`);
  }
  return {
    messages: tokens.length,
    kills,
    lost: tokens.filter((token) => !plain.includes(token) && !marked.includes(token)),
    twice: [...new Set(plain.filter((token, at) => plain.indexOf(token) !== at))],
    disordered,
    again: {
      seenTwice: marked.filter((token) => plain.includes(token)).length,
      seenOnce: marked.filter((token) => !plain.includes(token)).length,
    },
    takenBack,
  };
}
