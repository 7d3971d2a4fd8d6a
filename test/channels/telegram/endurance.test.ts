import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it } from "vitest";
import { memoryState } from "../../support/channel-host.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";
import { startTelegram, type TelegramEmulator } from "../../support/telegram/emulator.ts";
import type { Fault } from "../../support/telegram/faults.ts";
import { random } from "../../reply/documents.ts";
import { type Edge, relay } from "./edges.ts";
import { type Receiving, startReceiving } from "./receiving.ts";

const HOURS = process.env["PERCH_LONG"] ? 12 : 1;
const TIMEOUT_MS = 300_000;

const PEOPLE = [1, 2, 3].map((n) => ({ id: 700_200_000 + n, firstName: `Person ${n}` }));

const FAULTS: readonly Fault[] = [
  { kind: "silence", when: "before" },
  { kind: "silence", when: "after" },
  { kind: "drop", when: "before" },
  { kind: "drop", when: "after" },
  { kind: "html", status: 502, when: "before" },
  { kind: "html", status: 504, when: "after" },
  { kind: "truncate" },
  { kind: "cut" },
  { kind: "stall", afterBytes: 5 },
  { kind: "rateLimit", seconds: 7 },
  { kind: "refuse", code: 500, description: "Internal Server Error: restart" },
  { kind: "refuse", code: 409, description: "Conflict: terminated by other getUpdates request" },
];

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** A bot that is stopped and started, polls or has a webhook, on a bad line, while others use its token too. */
class World {
  readonly clock: ManualClock;
  readonly emulator: TelegramEmulator;
  readonly edge: Edge;
  /** By person, what they have said. */
  readonly said = new Map<number, string[]>(PEOPLE.map(({ id }) => [id, []]));
  /** By person, what came in, each text the first time that it came. */
  readonly heard = new Map<number, string[]>(PEOPLE.map(({ id }) => [id, []]));
  readonly counts = { starts: 0, faults: 0, others: 0, webhooks: 0, repeats: 0 };
  readonly #state = memoryState();
  readonly #chance: () => number;
  #receiving: Receiving | undefined;
  #foreignUntil = 0;

  constructor(parts: { clock: ManualClock; emulator: TelegramEmulator; edge: Edge; chance: () => number }) {
    this.clock = parts.clock;
    this.emulator = parts.emulator;
    this.edge = parts.edge;
    this.#chance = parts.chance;
  }

  async start(): Promise<void> {
    this.counts.starts += 1;
    const isWebhook = this.counts.starts % 2 === 0;
    const receiving = await startReceiving({
      clock: this.clock,
      emulator: this.emulator,
      state: this.#state,
      settings: ({ http }) => ({ apiRoot: this.edge.url, ...(isWebhook ? { webhook: http.origin } : {}) }),
    });
    receiving.host.afterAccept((event) => {
      if (event.type !== "message" || event.content[0]?.type !== "text") return;
      const { text } = event.content[0];
      const heard = this.heard.get(Number(event.place.chat)) ?? [];
      if (heard.includes(text)) this.counts.repeats += 1;
      else heard.push(text);
    });
    this.#receiving = receiving;
  }

  async stop(): Promise<void> {
    await this.#receiving?.stop();
    await this.#receiving?.host.close();
  }

  /** One second, in which something may go wrong. */
  async second(): Promise<void> {
    const happens = (everySeconds: number): boolean => this.#chance() < 1 / everySeconds;
    const one = <T>(of: readonly T[]): T => of[Math.floor(this.#chance() * of.length)] as T; // of is never empty
    if (happens(20)) this.say(one(PEOPLE));
    if (happens(240)) {
      this.counts.faults += 1;
      this.emulator.fault({ method: happens(5) ? "getMe" : "getUpdates" }, one(FAULTS));
    }
    if (happens(900)) await this.#call("getUpdates?timeout=20", "others");
    if (happens(1_500)) {
      await this.#call(`setWebhook?url=${encodeURIComponent("http://127.0.0.1:9/other")}`, "webhooks");
      this.#foreignUntil = this.clock.now() + 300_000;
    }
    if (this.#foreignUntil !== 0 && this.clock.now() > this.#foreignUntil) await this.quiet();
    if (happens(1_200)) {
      await this.stop();
      await this.start();
    }
    await this.clock.advance(1_000);
  }

  /** Whoever has set another webhook takes it away. */
  async quiet(): Promise<void> {
    this.#foreignUntil = 0;
    await this.#call("deleteWebhook", "webhooks");
  }

  say(person: (typeof PEOPLE)[number]): void {
    const said = this.said.get(person.id) ?? [];
    const text = `number ${said.length + 1}`;
    said.push(text);
    this.emulator.privateChat(person).sendText(text);
  }

  /** What another program with the same token does. */
  async #call(path: string, counted: "others" | "webhooks"): Promise<void> {
    this.counts[counted] += 1;
    const answer = fetch(`${this.emulator.apiRoot}/bot${this.emulator.token}/${path}`);
    if (counted === "webhooks") await answer;
    // A fault that was meant for us may hit it.
    else void answer.then((given) => given.text()).catch(() => {});
  }
}

function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void; // there with the flag of the line before
  collect();
  return process.memoryUsage().heapUsed;
}

describe("hours of stalls, conflicts, webhooks of others and restarts", () => {
  it(
    `lose nothing, keep each chat's order and never have two polls at once (${HOURS} h)`,
    async () => {
      const clock = manualClock();
      const emulator = await startTelegram({ clock, antiBusy: true, keepLast: 500 });
      let [polls, mostPolls] = [0, 0];
      const edge = await relay(emulator.apiRoot, ({ url = "" }, response) => {
        if (!url.endsWith("/getUpdates")) return false;
        polls += 1;
        mostPolls = Math.max(mostPolls, polls);
        response.on("close", () => (polls -= 1));
        return false;
      });
      const world = new World({ clock, emulator, edge, chance: random(4) });
      cleanups.push(
        () => emulator.close(),
        () => edge.close(),
        () => world.stop(),
      );
      await world.start();
      let heap = 0;
      for (let second = 0; second < HOURS * 3_600; second += 1) {
        await world.second();
        if (second === Math.floor(HOURS * 900)) heap = heapBytes();
      }
      await world.quiet();
      for (let second = 0; second < 1_800; second += 1) await clock.advance(1_000);
      expect(world.heard).toEqual(world.said);
      expect(emulator.pending()).toEqual([]);
      expect(mostPolls).toBe(1);
      expect(heapBytes() - heap).toBeLessThan(25 * 1024 * 1024);
      const messages = [...world.said.values()].flat().length;
      expect(messages).toBeGreaterThan(HOURS * 100);
      expect(Math.min(...Object.values({ ...world.counts, repeats: 1 }))).toBeGreaterThan(0);
      process.stdout.write(`  ${HOURS} h: ${JSON.stringify({ messages, ...world.counts })}\n`);
    },
    TIMEOUT_MS,
  );
});
