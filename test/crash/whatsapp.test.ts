import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CRASH_POINTS, type CrashPoint, CrashRun } from "../support/whatsapp/crash-run.ts";

const SIZE = process.env["PERCH_LONG"]
  ? { people: 20, groups: 3, messages: 500, kills: 6 }
  : { people: 3, groups: 1, messages: 4, kills: 1 };

/** Where a message has been written that is not known as taken: it goes once more, under the id of before. */
const GOES_AGAIN: ReadonlySet<CrashPoint> = new Set(["sent", "taken", "acknowledged"]);

let run: CrashRun;
beforeAll(async () => {
  run = await CrashRun.start(SIZE);
}, 60_000);
afterAll(() => run.close());

describe(`kill -9 over WhatsApp, ${SIZE.messages} messages from ${SIZE.people} people and ${SIZE.groups} groups`, () => {
  it.each(CRASH_POINTS)(
    "“%s”: nothing is lost, nothing is answered twice, order is kept",
    { timeout: 600_000 },
    async (point) => {
      const counts = await run.at(point);
      if (process.env["PERCH_COUNTS"]) console.log(JSON.stringify({ point, ...counts }));
      expect(counts).toMatchObject({ kills: SIZE.kills, lost: [], twice: [], strays: [], disordered: [] });
      if (GOES_AGAIN.has(point)) expect(counts.resent).toBeGreaterThan(0);
    },
  );
});
