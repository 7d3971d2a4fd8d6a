import type { Message } from "grammy/types";
import type { StormCounts } from "./telegram/storm.ts";
import { world, type World } from "./telegram-perch.ts";

export type FloodCounts = {
  readonly messages: number;
  /** Messages whose answer stands nowhere, though the outcome of a send was known. */
  readonly lost: readonly string[];
  /** Those of which both sends broke, and more ids of others lay between than are looked through. */
  readonly unknown: readonly string[];
  /** Messages whose answer stands there more than once, none of them marked as sent again. */
  readonly twice: readonly string[];
  /** Those whose answer stands there marked, because the first outcome stayed unknown. */
  readonly again: number;
  /** Messages that were answered minutes later, because the outcome of a send and of its copy stayed unknown. */
  readonly late: readonly string[];
  /** Chats whose answers are not in the order of their messages. */
  readonly disordered: readonly number[];
  /** Edits that showed a half answer when the whole one stood there already. */
  readonly lateEdits: number;
  /** Half answers that nobody took away. */
  readonly leftovers: number;
  readonly edits: number;
  readonly drafts: number;
  readonly storm: Readonly<StormCounts>;
};

/** A wait of 40 s for a send is 5 s here. */
const RATE = 8;
const WORDS = 30;
const WORD_MS = 80;
const TOKEN = /q\d+-\d+/;

/** Chats of all kinds at once, answered word by word, while the Bot API refuses and breaks; what people see at the end. */
export async function floodRun(size: {
  readonly chats: number;
  readonly each: number;
}): Promise<FloodCounts> {
  const chats = Array.from({ length: size.chats }, (_, at) => chatOf(at));
  const editing = chats.filter(({ kind }) => kind === "edited").map(({ id }) => `"${id}": { live: edit }`);
  const groups = chats.filter(({ kind }) => kind === "group").map(({ id }) => `"${id}": { when: all }`);
  const people = chats.map(({ person }) => `"${person}"`);
  const at = await world({
    channel: `allow: [${people.join(", ")}], chats: { ${[...editing, ...groups].join(", ")} }`,
    root: "turns: { concurrent: 50 }",
    rate: RATE,
    says: (request) => ({ text: answerTo(JSON.stringify(request.body["messages"])), wordMs: WORD_MS }),
  });
  try {
    await at.start({ PERCH_LOG: "error" });
    const storm = at.telegram.storm({
      seed: 7,
      rateLimit: { oneIn: 5, seconds: [1, 40] },
      reset: { oneIn: 20 },
      hits: ({ method }) => /^(?:send|edit|delete)/.test(method),
    });
    const late = (await Promise.all(chats.map((chat) => converse(at, chat, size.each)))).flat();
    const counts = storm.counts();
    storm.end();
    // What was refused or lost while it was taken away is tried again until it is gone.
    await at.telegram
      .until(() => chats.every(({ id }) => halvesIn(at, id).length === 0), "no half answer left")
      .catch(() => {});
    return { ...countOf(at, chats, size.each, late), late, storm: counts };
  } finally {
    await at.close();
  }
}

type Chat = {
  readonly kind: "drafted" | "edited" | "group";
  readonly id: number;
  readonly person: number;
};

function chatOf(at: number): Chat {
  const person = 1_001 + at;
  if (at % 3 === 2) return { kind: "group", id: -1_000_000_001_000 - at, person };
  return { kind: at % 3 === 0 ? "drafted" : "edited", id: person, person };
}

/** As long as a person waits for an answer before they write again. */
const PATIENCE_MS = 3 * 60_000;
/** What they write when something was not answered in all that time: whatever is sent then clears that up. */
const MOST_MORE = 3;

/** Says the next thing once the last was answered, or patience has ended. Gives what it ended with. */
async function converse(
  { telegram, clock }: World,
  { kind, id, person }: Chat,
  each: number,
): Promise<readonly string[]> {
  const late: string[] = [];
  const who = { id: person, firstName: `P${person}` };
  const voice =
    kind === "group" ? telegram.supergroup({ id, title: `G${person}` }).as(who) : telegram.privateChat(who);
  const stands = (token: string): boolean =>
    telegram.shown(id).some(({ text = "" }) => text.includes(endOf(token)));
  for (let n = 1; n <= each + MOST_MORE; n += 1) {
    if (n > each && late.every(stands)) break;
    const token = `q${person}-${n}`;
    const until = clock.now() + PATIENCE_MS;
    voice.sendText(token);
    const isEnough = (): boolean => stands(token) || clock.now() > until;
    while (!isEnough()) await telegram.until(isEnough, `an answer to ${token}`).catch(() => {});
    if (!stands(token)) late.push(token);
  }
  return late;
}

function answerTo(messages: string): string {
  const token = messages.match(new RegExp(TOKEN.source, "g"))?.at(-1) ?? "";
  const words = Array.from({ length: WORDS }, (_, n) => `w${n}`).join(" ");
  return `re ${token} ${words} ${endOf(token)}`;
}

function endOf(token: string): string {
  return `end of ${token}.`;
}

function isWhole(text: string): boolean {
  return /end of q\d+-\d+\.$/.test(text);
}

function halvesIn({ telegram }: World, chat: number): readonly Message[] {
  return telegram.shown(chat).filter(({ text = "" }) => text.includes("re q") && !isWhole(text));
}

/** How often the whole answer was sent, whatever came of it. */
function sendsOf({ telegram }: World, token: string): number {
  return telegram.calls.filter(
    ({ method, parameters }) => method === "sendMessage" && String(parameters["text"]).endsWith(endOf(token)),
  ).length;
}

function countOf(
  at: World,
  chats: readonly Chat[],
  each: number,
  late: readonly string[],
): Omit<FloodCounts, "storm" | "late"> {
  const { telegram } = at;
  const lost: string[] = [];
  const unknown: string[] = [];
  const twice: string[] = [];
  const disordered: number[] = [];
  let again = 0;
  let lateEdits = 0;
  for (const { id, person } of chats) {
    const whole = telegram.shown(id).filter(({ text = "" }) => isWhole(text));
    const tokens = Array.from({ length: each }, (_, n) => `q${person}-${n + 1}`);
    for (const token of tokens) {
      const answers = whole.filter(({ text = "" }) => text.includes(endOf(token)));
      const marked = answers.filter(({ text = "" }) => text.startsWith("("));
      if (answers.length === 0) (sendsOf(at, token) > 1 ? unknown : lost).push(token);
      if (answers.length - marked.length > 1) twice.push(token);
      if (marked.length > 0) again += 1;
    }
    const order = whole
      .map(({ text = "" }) => TOKEN.exec(text)?.[0] ?? "")
      .filter((token) => !late.includes(token))
      .map((token) => Number(token.split("-")[1]));
    if (order.some((n, place) => n < (order[place - 1] ?? 0))) disordered.push(id);
    const firstWhole = new Map<string, number>();
    for (const { text = "", at: when } of telegram.sentTo(id)) {
      const token = isWhole(text) ? TOKEN.exec(text)?.[0] : undefined;
      if (token !== undefined && !firstWhole.has(token)) firstWhole.set(token, when);
    }
    lateEdits += telegram.edits.filter(
      ({ chatId, text = "", at: when }) =>
        chatId === id && !isWhole(text) && when > (firstWhole.get(TOKEN.exec(text)?.[0] ?? "") ?? Infinity),
    ).length;
  }
  return {
    messages: chats.length * each,
    lost,
    unknown,
    twice,
    again,
    disordered,
    lateEdits,
    leftovers: chats.reduce((sum, { id }) => sum + halvesIn(at, id).length, 0),
    edits: telegram.edits.length,
    drafts: telegram.drafts.length,
  };
}
