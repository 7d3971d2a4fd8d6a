import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it } from "vitest";
import { pause } from "../../src/core/clock.ts";
import type { MessageEvent } from "../../src/core/events.ts";
import { manualClock, type ManualClock } from "../support/clock.ts";
import { testGateway, type TestGateway, textOf } from "../support/gateway.ts";
import { startTelegram } from "../support/telegram/emulator.ts";
import telegram from "../../channels/telegram/index.ts";
import { testHost } from "../support/channel-host.ts";

type Case = { readonly id: string; readonly symptom: string };

const CASES = JSON.parse(
  readFileSync(join(import.meta.dirname, "../fixtures/cases/spine.json"), "utf8"),
) as readonly Case[]; // copied from the collection of public reports

// A long run sends all of them; the small one as many as show that nothing is kept in memory for each.
const DISTINCT = process.env["PERCH_LONG"] ? 200_000 : 5_000;

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function setUp(
  options: Parameters<typeof testGateway>[0] = {},
): Promise<TestGateway & { clock: ManualClock }> {
  const clock = manualClock();
  const gateway = await testGateway({ clock, ...options });
  cleanups.push(gateway.close);
  return { ...gateway, clock };
}

/** What is left when the collector has been. */
function liveHeapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void; // what the flag makes of that name
  collect();
  return process.memoryUsage().heapUsed;
}

const message = (chat: string, id: string, text: string): MessageEvent => ({
  type: "message",
  id,
  ref: id,
  place: { chat, kind: "private" },
  from: { id: "ada", name: "Ada" },
  sentAt: "2026-01-01T00:00:00.000Z",
  content: [{ type: "text", text }],
  addressed: true,
});

const drivers: Readonly<Record<string, () => Promise<void>>> = {
  async "QUE-02"() {
    const { platform, clock, asked } = await setUp();
    for (let round = 0; round < 50; round += 1) {
      const twin = message("c", `wamid.B${round}`, `round ${round}`);
      await Promise.all([platform.deliver([twin]), platform.deliver([twin])]);
      await clock.advance(1_000);
      expect(asked).toHaveLength(round + 1);
    }
  },

  async "QUE-04"() {
    const emulator = await startTelegram({ firstUpdateId: 10 });
    cleanups.push(() => emulator.close());
    const mira = emulator.privateChat({ id: 7, firstName: "Mira" });
    const settings = { token: emulator.token, apiRoot: emulator.apiRoot };
    const first = await testHost({ id: "tg" });
    cleanups.push(() => first.close());
    const channel = await telegram.open(settings, first.host);
    for (let n = 10; n <= 14; n += 1) mira.sendText(`update ${n}`);
    await first.whenAccepted(5);
    await channel.close();
    const second = await testHost({ id: "tg", state: first.host.state });
    cleanups.push(() => second.close());
    const asked = emulator.nextCall((call) => call.method === "getUpdates");
    const again = await telegram.open(settings, second.host);
    cleanups.push(() => again.close());
    expect(Number((await asked).parameters["offset"])).toBe(15);
    expect(second.accepted).toEqual([]);
  },

  async "QUE-05"() {
    const clock = manualClock();
    const { platform, asked } = await setUp({
      clock,
      answer: async () => {
        await pause(clock, 90_000);
        return "at last";
      },
    });
    const slow = message("c", "20", "think");
    await platform.deliver([slow]);
    // The platform goes on asking, and hands the message over again meanwhile.
    for (let second = 0; second < 95; second += 1) {
      await platform.deliver(second % 10 === 0 ? [slow] : []);
      await clock.advance(1_000);
    }
    expect(asked.map(textOf)).toEqual(["think"]);
    expect(platform.textsIn("c")).toEqual(["at last"]);
  },

  async "QUE-06"() {
    const { platform, gateway, database } = await setUp({ rules: { deny: ["bulk"] } });
    const bulk = (n: number): MessageEvent => ({
      ...message("c", `id-${n}`, "x"),
      from: { id: "bulk", name: "" },
    });
    const deliver = async (from: number, to: number): Promise<void> => {
      for (let n = from; n < to; n += 100)
        await platform.deliver(Array.from({ length: 100 }, (_, at) => bulk(n + at)));
    };
    await deliver(0, DISTINCT / 2);
    const half = liveHeapBytes();
    await deliver(DISTINCT / 2, DISTINCT);
    // A set of ids in memory would take some 100 bytes for each; what is kept to work faster is allowed for.
    expect(liveHeapBytes() - half).toBeLessThan(DISTINCT > 100_000 ? 5_000_000 : 20_000_000);
    const count = async (): Promise<number> => {
      const row = await database.db
        .selectFrom("inbox")
        .select((eb) => eb.fn.countAll().as("n"))
        .executeTakeFirstOrThrow();
      return Number(row.n);
    };
    expect(await count()).toBe(DISTINCT);
    await platform.deliver([bulk(DISTINCT - 1), bulk(0)]);
    expect(await count()).toBe(DISTINCT);
    expect(gateway.health().ok).toBe(true);
  },

  async "QUE-07"() {
    const { platform, clock, asked } = await setUp();
    await platform.deliver([
      message("5", "77", "a"),
      message("6", "77", "b"),
      message("whatsapp:1", "77", "c"),
    ]);
    await clock.advance(1_000);
    expect(asked.map(textOf).toSorted()).toEqual(["a", "b", "c"]);
  },
};

describe("public reports that the spine must not repeat", () => {
  it.each(CASES.map((each) => [each.id, each.symptom] as const))(
    "%s: %s",
    { timeout: 300_000 },
    async (id) => {
      const drive = drivers[id];
      expect(drive, `nothing drives ${id}`).toBeDefined();
      await drive?.();
    },
  );
});
