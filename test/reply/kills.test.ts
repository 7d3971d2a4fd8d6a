import { expect, it } from "vitest";
import type { PieceBody } from "../../src/core/channel.ts";
import { onSqlite } from "../support/database.ts";
import type { ToyAbilities, ToyPlatform } from "../support/toy-channel.ts";
import { delivery, photo, text, TO } from "./delivery.ts";

const MARK = "(sent again)\n";

/** What becomes of the first send, beside the end of the process. */
const FIRST_SENDS: Readonly<Record<string, ReturnType<ToyPlatform["outcome"]>>> = {
  "goes through": "shown",
  "is shown, and its answer is lost": "shown, then lost",
  "never arrives, and nobody is told": new Error("the connection was reset"),
};

const ANSWERS: Readonly<Record<string, readonly PieceBody[]>> = {
  "two texts": [text("one"), text("two")],
  "a picture and a text": [photo("one"), text("two")],
  "a text and a picture": [text("one"), photo("two")],
};

/** At which step a second process ends, after each step of the first. */
const NEVER = Infinity;
const SECOND_KILLS = process.env["PERCH_LONG"]
  ? [NEVER, ...Array.from({ length: 20 }, (_, at) => 1 + at * 3)]
  : [NEVER, 23];

const open = onSqlite();

type Counts = {
  kills: number;
  lost: number;
  twice: number;
  marked: number;
  lateTexts: number;
  lateFiles: number;
};

/** Ends the process at each of its steps in turn, and the next one at a step of its own; counts what people see. */
async function killed(
  abilities: ToyAbilities,
  bodies: readonly PieceBody[],
  first: ReturnType<ToyPlatform["outcome"]>,
  seconds: readonly number[] = SECOND_KILLS,
  others = false,
): Promise<Counts> {
  const counts = { kills: 0, lost: 0, twice: 0, marked: 0, lateTexts: 0, lateFiles: 0 };
  const database = await open();
  for (const second of seconds) {
    for (let step = 1; ; step += 1) {
      for (const table of ["piece", "sent", "inbox"] as const) await database.db.deleteFrom(table).execute();
      const { platform, clock, plan, run, runUntilKilled } = await delivery(database, abilities, others);
      platform.outcome = (_piece, _attempt, send) => (send === 1 ? first : "shown");
      await plan(...bodies);
      if ((await runUntilKilled(step)) === "done") break;
      counts.kills += 1;
      if (second !== NEVER && (await runUntilKilled(second)) === "killed") counts.kills += 1;
      await run();
      // The next answer, behind which everything can be found.
      await clock.advance(1);
      await platform.say(TO.chat, "and?");
      await plan(text("three"));
      await run();
      count(platform, counts);
    }
  }
  if (process.env["PERCH_COUNTS"]) console.log(expect.getState().currentTestName, JSON.stringify(counts));
  return counts;
}

function count({ shown }: ToyPlatform, counts: Counts): void {
  const wanted = ["one", "two", "three"];
  const seen = shown.map(({ text: words, media }) => ({
    marked: words.startsWith(MARK),
    isFile: media.length > 0,
    words: words.replace(MARK, "") + media.join().replace("sha256:", ""),
  }));
  counts.lost += wanted.filter((words) => !seen.some((each) => each.words === words)).length;
  counts.twice += seen.length - new Set(seen.map(({ words }) => words)).size;
  counts.marked += seen.filter(({ marked }) => marked).length;
  let last = 0;
  for (const { words, isFile } of seen) {
    const at = wanted.indexOf(words);
    if (at < last) counts[isFile ? "lateFiles" : "lateTexts"] += 1;
    last = Math.max(last, at);
  }
}

it.each(Object.keys(ANSWERS).flatMap((answer) => Object.keys(FIRST_SENDS).map((first) => [answer, first])))(
  "killed anywhere, where the platform can be searched: of %s whose first send %s nothing is lost, nothing comes twice",
  async (answer = "", first = "") => {
    const counts = await killed({ finds: true }, ANSWERS[answer] ?? [], FIRST_SENDS[first] ?? "shown");
    expect(counts).toMatchObject({ lost: 0, twice: 0 });
    expect(counts.kills).toBeGreaterThan(20);
  },
);

it.each(["goes through", "is shown, and its answer is lost"])(
  "killed anywhere, where the platform can be searched: a text whose first send %s keeps its place",
  async (first) => {
    const counts = await killed({ finds: true }, ANSWERS["two texts"] ?? [], FIRST_SENDS[first] ?? "shown", [
      NEVER,
    ]);
    expect(counts.lateTexts).toBe(0);
  },
);

it.each(["goes through", "is shown, and its answer is lost"])(
  "killed anywhere, where the platform cannot be searched: of texts whose first send %s nothing is lost, and what comes twice is marked",
  async (first) => {
    const counts = await killed({}, ANSWERS["two texts"] ?? [], FIRST_SENDS[first] ?? "shown", [NEVER]);
    expect(counts).toMatchObject({ lost: 0, lateTexts: 0 });
    expect(counts.twice).toBeLessThanOrEqual(counts.marked);
  },
);

it.each(["goes through", "is shown, and its answer is lost"])(
  "killed anywhere, where several processes send: of texts whose first send %s nothing is lost, and what comes twice is marked",
  async (first) => {
    const bodies = ANSWERS["two texts"] ?? [];
    const counts = await killed({}, bodies, FIRST_SENDS[first] ?? "shown", [NEVER], true);
    expect(counts).toMatchObject({ lost: 0, lateTexts: 0 });
    expect(counts.twice).toBeLessThanOrEqual(counts.marked);
    expect(counts.kills).toBeGreaterThan(10);
  },
);
