import { systemClock } from "../../src/core/clock.ts";
import type { Role } from "../../src/core/role.ts";
import { cluster, type TestCluster } from "./cluster.ts";
import type { Json } from "./models/server.ts";
import type { Running } from "./perch-process.ts";

export type ChaosSize = {
  readonly chats: number;
  readonly each: number;
  readonly workers: number;
  /** A process is ended with SIGKILL so often, and begun again. */
  readonly killEveryMs: number;
  /** Redis ends after this, and PostgreSQL as long after that. */
  readonly breakAfterMs: number;
  /** No more than so many in all. */
  readonly mostKills: number;
  readonly seed: number;
};

export type ChaosCounts = {
  readonly seed: number;
  readonly messages: number;
  readonly kills: { readonly channels: number; readonly workers: number };
  readonly restarts: { readonly redis: number; readonly postgres: number };
  /** Messages whose answer stands nowhere. */
  readonly lost: readonly string[];
  /** Messages whose answer stands there more than once, unless it says itself that it may. */
  readonly twice: readonly string[];
  /** Answers that went once more and say so, because nobody could find out whether the first had arrived. */
  readonly again: number;
  /** Chats whose answers are not in the order of their messages. */
  readonly disordered: readonly number[];
  /** Answers to several messages at once. */
  readonly together: number;
  /** Times that a model was called for, and how many of them a tool. */
  readonly calls: number;
  readonly tools: number;
  readonly seconds: number;
};

const TOKEN = /q\d+-\d+/g;
/** What nothing has come of for so long does not come. */
const PATIENCE_MS = 180_000;
const MODEL_MS = 100;

/** People write while processes are killed, and Redis and PostgreSQL go away and come back; what they see at the end. */
export async function chaosRun({
  chats,
  each,
  workers,
  killEveryMs,
  mostKills,
  breakAfterMs,
  seed,
}: ChaosSize): Promise<ChaosCounts> {
  const random = mulberry(seed);
  const people = Array.from({ length: chats }, (_, at) => 900_001 + at);
  let calls = 0;
  let tools = 0;
  const at = await cluster({
    channel: "open: true, acknowledge: allow-arbitrary-senders, turnsPerHour: 10000, waitingSign: off",
    // Few enough that the machine does not make them slow: whoever is ended takes with it what it is at.
    root: "turns: { concurrent: 4 }",
    says(request) {
      calls += 1;
      const { tokens, acted } = asked(request.body);
      // A tool now and then, so that some of what is said meanwhile is seen at the next call.
      if (!acted && tokens.length > 0 && numberOf(tokens[0]) % 7 === 3) {
        tools += 1;
        return { toolCalls: [{ name: "ls", args: { path: "/" } }], delayMs: MODEL_MS };
      }
      return { text: `re ${tokens.map((token) => `end of ${token}.`).join(" ")}`, delayMs: MODEL_MS };
    },
  });
  const began = systemClock.now();
  const cast = new Cast(at, workers, random);
  try {
    await cast.begin();
    const stands = standing(at);
    const done = Promise.all(people.map((person) => converse(at, person, each, random, stands)));
    let over = false;
    const killing = cast.killEvery(killEveryMs, mostKills, () => over);
    const breaking = breakThings(at, () => over, breakAfterMs);
    await done;
    over = true;
    await Promise.all([killing, breaking]);
    const restarts = await breaking;
    return {
      seed,
      messages: chats * each,
      kills: cast.kills,
      restarts,
      ...countOf(at, people, each),
      calls,
      tools,
      seconds: Math.round((systemClock.now() - began) / 1_000),
    };
  } finally {
    await at.close();
  }
}

/** One process that is the channels, and workers: whoever ends is begun again. */
class Cast {
  readonly kills = { channels: 0, workers: 0 };
  readonly #at: TestCluster;
  readonly #roles: readonly Role[];
  readonly #random: () => number;
  readonly #running: Running[] = [];
  #over = false;

  constructor(at: TestCluster, workers: number, random: () => number) {
    this.#at = at;
    this.#roles = ["channels", ...Array.from({ length: workers }, () => "workers" as const)];
    this.#random = random;
  }

  async begin(): Promise<void> {
    for (const [place, role] of this.#roles.entries())
      this.#running[place] = await this.#at.join(role, { PERCH_LOG: "error" });
    for (const place of this.#roles.keys()) void this.#keep(place);
  }

  /** Also what ends by itself, as an init system would. */
  async #keep(place: number): Promise<void> {
    while (!this.#over) {
      await this.#running[place]?.ended;
      if (this.#over) return;
      await pause(200);
      this.#running[place] = this.#at.spawn({ PERCH_LOG: "error" }, [
        "start",
        "--role",
        this.#roles[place] ?? "workers",
      ]);
    }
  }

  async killEvery(ms: number, most: number, over: () => boolean): Promise<void> {
    while (!over()) {
      await pause(ms);
      if (over() || this.kills.channels + this.kills.workers >= most) continue;
      const place = Math.floor(this.#random() * this.#roles.length);
      this.kills[place === 0 ? "channels" : "workers"] += 1;
      await this.#running[place]?.kill();
    }
    this.#over = true;
  }
}

/** Redis ends and comes back empty; PostgreSQL is ended in the middle and recovers; once each. */
async function breakThings(
  at: TestCluster,
  over: () => boolean,
  afterMs: number,
): Promise<ChaosCounts["restarts"]> {
  const restarts = { redis: 0, postgres: 0 };
  const wait = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0 && !over(); left -= 500) await pause(500);
  };
  await wait(afterMs);
  if (over()) return restarts;
  await at.redis.kill();
  await pause(3_000);
  await at.redis.start();
  restarts.redis += 1;
  await wait(afterMs);
  if (over()) return restarts;
  await at.postgres.kill();
  await pause(3_000);
  await at.postgres.start();
  restarts.postgres += 1;
  return restarts;
}

/** Whether an answer to a token stands in a chat. */
function standing({ telegram }: TestCluster): (person: number, token: string) => boolean {
  return (person, token) => telegram.shown(person).some(({ text = "" }) => text.includes(`end of ${token}.`));
}

/** Says the next thing once the last was answered, or at once, as people do. */
async function converse(
  { telegram }: TestCluster,
  person: number,
  each: number,
  random: () => number,
  stands: (person: number, token: string) => boolean,
): Promise<void> {
  const voice = telegram.privateChat({ id: person, firstName: `P${person}` });
  for (let n = 1; n <= each; n += 1) {
    const token = `q${person}-${n}`;
    voice.sendText(token);
    if (n < each && random() < 0.3) continue;
    const until = systemClock.now() + PATIENCE_MS;
    const isEnough = (): boolean => stands(person, token) || systemClock.now() > until;
    while (!isEnough()) await telegram.until(isEnough, `an answer to ${token}`).catch(() => {});
  }
}

/** What is asked in a request: all since the last answer; whether a tool was called for it. */
function asked(body: Json): { readonly tokens: readonly string[]; readonly acted: boolean } {
  const messages = body["messages"] as readonly {
    readonly role: string;
    readonly content?: unknown;
    readonly tool_calls?: readonly unknown[];
  }[]; // the protocol's shape
  const answered = messages.findLastIndex(
    ({ role, tool_calls: toolCalls }) => role === "assistant" && (toolCalls?.length ?? 0) === 0,
  );
  const since = messages.slice(answered + 1);
  const said = since.filter(({ role }) => role === "user").map(({ content }) => JSON.stringify(content));
  return {
    tokens: [...new Set(said.join(" ").match(TOKEN))],
    acted: since.some(({ role }) => role === "tool"),
  };
}

function countOf(
  { telegram }: TestCluster,
  people: readonly number[],
  each: number,
): Pick<ChaosCounts, "lost" | "twice" | "again" | "disordered" | "together"> {
  const lost: string[] = [];
  const twice: string[] = [];
  const disordered: number[] = [];
  let again = 0;
  let together = 0;
  for (const person of people) {
    const answers = telegram
      .shown(person)
      .flatMap(({ text = "" }) => (text.includes("end of q") ? [text] : []));
    const firsts = answers.filter((text) => !text.startsWith("("));
    again += answers.length - firsts.length;
    together += firsts.filter((text) => (text.match(TOKEN) ?? []).length > 1).length;
    for (let n = 1; n <= each; n += 1) {
      const token = `end of q${person}-${n}.`;
      if (!answers.some((text) => text.includes(token))) lost.push(`q${person}-${n}`);
      if (firsts.filter((text) => text.includes(token)).length > 1) twice.push(`q${person}-${n}`);
    }
    const order = firsts.flatMap((text) => (text.match(TOKEN) ?? []).map(numberOf));
    if (order.some((n, place) => n < (order[place - 1] ?? 0))) disordered.push(person);
  }
  return { lost, twice, again, disordered, together };
}

function numberOf(token = ""): number {
  return Number(token.split("-")[1]);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => systemClock.after(ms, resolve));
}

/** Numbers from 0 to 1 that are the same for a seed: Mulberry32. */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
