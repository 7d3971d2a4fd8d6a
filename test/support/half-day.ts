import { readFile } from "node:fs/promises";
import { pause } from "../../src/core/clock.ts";
import type { Running } from "./perch-process.ts";
import { world, type World } from "./telegram-perch.ts";

export type HalfDayCounts = {
  readonly hours: number;
  readonly messages: number;
  readonly lost: readonly string[];
  readonly twice: readonly string[];
  readonly again: number;
  readonly troubles: Readonly<Record<string, number>>;
  /** Polls that Telegram refused because of another one while nobody but Perch polled. */
  readonly ownConflicts: number;
  /** MB that the process holds, at each quarter of the time in which it is not started again. */
  readonly memory: readonly number[];
};

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SAID_EVERY_MS = 2 * MINUTE_MS;
const TROUBLE_EVERY_MS = 15 * MINUTE_MS;
const PEOPLE = [1_001, 1_002, 1_003, 1_004];

/**
 * Emulated hours with trouble every quarter of one: in the first half the process is ended and killed as well, in the
 * second it runs on and its memory is looked at.
 */
export async function halfDay(hours: number, rate: number): Promise<HalfDayCounts> {
  const at = await world({
    channel: `allow: [${PEOPLE.map((person) => `"${person}"`).join(", ")}]`,
    says: (request) => {
      const said = JSON.stringify(request.body["messages"]).match(/t\d+/g);
      return `about ${said?.at(-1)}`;
    },
    rate,
    telegram: { keepLast: 5_000 },
  });
  try {
    let perch = await at.start({ PERCH_LOG: "error" });
    const { clock, telegram } = at;
    const begun = clock.now();
    const endAt = begun + hours * HOUR_MS;
    const half = begun + (hours * HOUR_MS) / 2;
    const voices = PEOPLE.map((id) => telegram.privateChat({ id, firstName: `P${id}` }));
    const troubles: Record<string, number> = {};
    const memory: number[] = [];
    let said = 0;
    let ownConflicts = 0;

    const talking = (async () => {
      while (clock.now() < endAt) {
        voices[said % voices.length]?.sendText(`t${(said += 1)}`);
        await pause(clock, SAID_EVERY_MS);
      }
    })();
    const watching = (async () => {
      await pause(clock, half - clock.now());
      for (let quarter = 0; quarter < 4; quarter += 1) {
        await pause(clock, (endAt - half) / 4);
        memory.push(await megabytes(perch));
      }
    })();
    for (let n = 0; clock.now() < endAt - TROUBLE_EVERY_MS; n += 1) {
      const names = clock.now() < half ? [...TROUBLES, ...RESTARTS] : TROUBLES;
      const trouble = names[n % names.length] ?? "silent poll";
      troubles[trouble] = (troubles[trouble] ?? 0) + 1;
      perch = await make(trouble, at, perch);
      // What the trouble leaves behind has ended by then.
      await pause(clock, 5 * MINUTE_MS);
      const before = conflicts(at);
      await pause(clock, TROUBLE_EVERY_MS - 5 * MINUTE_MS);
      ownConflicts += conflicts(at) - before;
    }
    await Promise.all([talking, watching]);
    const answered = (): readonly string[] =>
      PEOPLE.flatMap((person) => telegram.shown(person).map(({ text = "" }) => text)).filter((text) =>
        text.includes("about t"),
      );
    const tokens = Array.from({ length: said }, (_, n) => `t${n + 1}`);
    const countOf = (token: string): readonly string[] =>
      answered().filter((text) => text.endsWith(`about ${token}`));
    await telegram
      .until(() => tokens.every((token) => countOf(token).length > 0), "an answer to everything")
      .catch(() => {});
    return {
      hours,
      messages: said,
      lost: tokens.filter((token) => countOf(token).length === 0),
      twice: tokens.filter((token) => countOf(token).filter((text) => !text.startsWith("(")).length > 1),
      again: answered().filter((text) => text.startsWith("(")).length,
      troubles,
      ownConflicts,
      memory,
    };
  } finally {
    await at.close();
  }
}

const TROUBLES = [
  "silent poll",
  "another poller",
  "somebody's webhook",
  "bad gateway",
  "broken connections",
] as const;
const RESTARTS = ["restart", "kill"] as const;
type Trouble = (typeof TROUBLES)[number] | (typeof RESTARTS)[number];

/** Gives the process that runs afterwards. */
async function make(trouble: Trouble, at: World, perch: Running): Promise<Running> {
  const { telegram, clock } = at;
  const call = (method: string, body: object): Promise<unknown> =>
    fetch(`${telegram.apiRoot}/bot${telegram.token}/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }).then((response) => response.json());
  switch (trouble) {
    case "silent poll":
      telegram.fault({ method: "getUpdates" }, { kind: "silence", when: "before" });
      break;
    case "another poller": {
      const until = clock.now() + MINUTE_MS;
      // It asks from the head and confirms nothing.
      while (clock.now() < until) await call("getUpdates", { timeout: 10 });
      break;
    }
    case "somebody's webhook":
      await call("setWebhook", { url: "https://127.0.0.1:9/hook" });
      await pause(clock, 2 * MINUTE_MS);
      await call("deleteWebhook", {});
      break;
    case "bad gateway":
      telegram.fault({ method: "getUpdates", times: 5 }, { kind: "html", status: 502, when: "before" });
      break;
    case "broken connections":
      telegram.fault({ method: "getUpdates", times: 3 }, { kind: "drop", when: "after" });
      break;
    case "restart":
      await perch.stop();
      return await at.start({ PERCH_LOG: "error" });
    case "kill":
      await perch.kill();
      return await at.start({ PERCH_LOG: "error" });
  }
  return perch;
}

function conflicts({ telegram }: World): number {
  return telegram.outcomes("getUpdates")["409"] ?? 0;
}

async function megabytes({ pid }: Running): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024);
}
