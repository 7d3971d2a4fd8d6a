import { afterEach, describe, expect, it } from "vitest";
import type { Distilled } from "../../src/core/agent.ts";
import type { ChatId } from "../../src/core/identity.ts";
import type { FactOwner } from "../../src/core/memory.ts";
import { Memory } from "../../src/memory/memory.ts";
import { keyOf } from "../../src/memory/owners.ts";
import type { Database } from "../../src/store/database.ts";
import { openMemory, touch, type Touch } from "../../src/store/memory.ts";
import { factsOf } from "../../src/store/memory-facts.ts";
import { definition } from "../agent/set-up.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import { type ManualClock, manualClock } from "../support/clock.ts";
import { eachDatabase } from "../support/database.ts";
import { endingAt } from "./killed.ts";
import { facts, MEMORY_SETTINGS, remembering, type Remembering } from "./remembering.ts";

const OWNER: FactOwner = { scope: "person", channel: "toy", subject: "ada", agent: "helper" };
const CHAT = 7 as ChatId; // a chat of the test's own
const HELPER = definition({ memory: MEMORY_SETTINGS });

function touchOf(thread: string): Touch {
  return { owner: OWNER, thread, chat: CHAT, signals: [], quietMs: 30_000, mostMs: 300_000 };
}

/** What one process does with what is due: each thread says one thing of its own, and that it has been gone through. */
function memoryOn(
  database: Database,
  clock: ManualClock,
  calls: string[],
  logged: LoggedLine[] = [],
): Memory {
  return new Memory({
    database,
    desk: {
      async distil({ thread, after }): Promise<Distilled> {
        calls.push(`${thread} after "${after}"`);
        const saidAt = new Date(clock.now()).toISOString();
        const drafts = [
          { content: `said on ${thread}`, confidence: 0.9, saidAt, replaces: [] },
          { content: "said on each", confidence: 0.9, saidAt, replaces: [] },
        ];
        return { facts: drafts, upTo: "m9", more: false, uses: [] };
      },
    },
    agent: () => HELPER,
    folder: () => "/nowhere",
    bounded: async () => undefined,
    clock,
    log: memoryLog(logged),
    wake: () => {},
  });
}

eachDatabase("MEM-09: memory is whole", (open) => {
  it("where the process ends at any statement of an update: the old or the new, and in the end one update", async () => {
    const database = await open();
    for (let step = 1; ; step += 1) {
      await database.db.deleteFrom("memory_fact").execute();
      await database.db.deleteFrom("memory_work").execute();
      const clock = manualClock();
      await database.light((trx) => touch(trx, touchOf("7/helper/1"), clock.now()));
      await clock.advance(30_000);
      const dying = endingAt(database, step);
      await memoryOn(dying, clock, []).run(keyOf(CHAT, OWNER.agent));
      const stored = await factsOf(database.db, OWNER);
      expect([0, 2]).toContain(stored.length);
      const done = !dying.ended();
      // The next process finds what is left by the facts alone.
      const calls: string[] = [];
      await clock.advance(300_000);
      const left = await openMemory(database.db);
      if (left.length > 0) await memoryOn(database, clock, calls).run(keyOf(CHAT, OWNER.agent));
      expect((await factsOf(database.db, OWNER)).map(({ content }) => content)).toEqual([
        "said on 7/helper/1",
        "said on each",
      ]);
      expect(await openMemory(database.db)).toEqual([]);
      if (done) {
        expect(step).toBeGreaterThan(5);
        return;
      }
    }
  });

  it("after 20 parallel updates of one person", async () => {
    const database = await open();
    const clock = manualClock();
    const threads = Array.from({ length: 20 }, (_, n) => `7/helper/${n + 1}`);
    for (const thread of threads) await database.light((trx) => touch(trx, touchOf(thread), clock.now()));
    await clock.advance(30_000);
    // As many processes as there are updates, which one process never has for one person.
    await Promise.all(threads.map(() => memoryOn(database, clock, []).run(keyOf(CHAT, OWNER.agent))));
    const stored = await factsOf(database.db, OWNER);
    expect(stored.map(({ content }) => content).toSorted()).toEqual(
      ["said on each", ...threads.map((thread) => `said on ${thread}`)].toSorted(),
    );
    expect(new Set(stored.map(({ id }) => id)).size).toBe(21);
  });
});

const made: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of made.splice(0)) await each.close();
});

async function restarted(first: Remembering): Promise<Remembering> {
  const { folder, platform, server, clock } = first;
  const perch = await remembering({ folder, platform, server, manual: clock });
  made.push(perch, { close: () => server.close() });
  return perch;
}

describe("MEM-22: the end of the process while an update waits", () => {
  it("has it done within the grace", async () => {
    const perch = await remembering();
    perch.note(facts("likes tea"));
    await perch.say("ada", "I like tea");
    await perch.clock.advance(1_000);
    await perch.gateway.stop(10_000);
    expect(await perch.remembered()).toEqual(["likes tea"]);
    await perch.database.close();
    const later = await restarted(perch);
    await later.clock.advance(600_000);
    expect(later.distilled()).toHaveLength(1);
  });

  it("waits for nothing without a grace; it is done after the next start", async () => {
    const perch = await remembering();
    perch.note(facts("likes tea"));
    await perch.say("ada", "I like tea");
    await perch.clock.advance(1_000);
    await perch.gateway.stop(0);
    expect(perch.distilled()).toEqual([]);
    await perch.database.close();
    const later = await restarted(perch);
    later.note(facts("likes tea"));
    await perch.clock.advance(30_000);
    await later.until(async () => (await later.remembered()).length === 1 || later.distilled().length > 0);
    await later.until(() => later.runs() === 1);
    expect(later.distilled()).toHaveLength(1);
  });

  it("waits no longer than the grace for a model that does not answer", async () => {
    const perch = await remembering();
    perch.note({ fault: "silence" });
    await perch.say("ada", "I like tea");
    const stopped = perch.gateway.stop(5_000);
    await perch.until(() => perch.distilled().length === 1);
    await perch.clock.advance(5_000);
    await stopped;
    await perch.database.close();
    const later = await restarted(perch);
    await later.clock.advance(30_000);
    await later.until(() => later.runs() === 1);
    expect(later.distilled()).toHaveLength(2);
  });

  it("gives what runs back, and has it done within the grace", async () => {
    const perch = await remembering();
    perch.note({ fault: "silence" }, facts("likes tea"));
    await perch.say("ada", "I like tea");
    await perch.clock.advance(30_000);
    await perch.until(() => perch.distilled().length === 1);
    await perch.gateway.stop(5_000);
    expect(await perch.remembered()).toEqual(["likes tea"]);
    await perch.database.close();
    await perch.server.close();
  });
});
