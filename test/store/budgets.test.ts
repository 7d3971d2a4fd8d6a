import { expect, it } from "vitest";
import type { BoundNow } from "../../src/core/budget.ts";
import type { Bounded } from "../../src/core/bounds.ts";
import { hasCode } from "../../src/core/errors.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { allowanceOf } from "../../src/store/allowance.ts";
import {
  charge,
  countsOf,
  firstExceeded,
  firstSpent,
  liftBounds,
  markWarned,
  moveUse,
  pruneCounts,
} from "../../src/store/budgets.ts";
import type { Database } from "../../src/store/database.ts";
import { renameChannel } from "../../src/store/rename.ts";
import { manualClock } from "../support/clock.ts";
import { memoryLog } from "../support/channel-host.ts";
import { eachDatabase } from "../support/database.ts";

const DAY_MS = 86_400_000;
const NOW = 20_000 * DAY_MS;

function bound(fields: Partial<BoundNow> = {}): BoundNow {
  const from = NOW;
  return {
    scope: "person",
    channel: "toy",
    subject: "ada",
    measure: "tokens",
    limit: 100,
    from,
    until: from + DAY_MS,
    ...fields,
  };
}

const use = (inputTokens: number, costMicros = 0) => ({
  agent: "helper",
  model: "openai:m",
  inputTokens,
  cachedTokens: 0,
  outputTokens: 0,
  costMicros,
});

async function usedOf(database: Database, ...bounds: readonly BoundNow[]): Promise<readonly number[]> {
  return (await countsOf(database.db, bounds)).map(({ used }) => used);
}

/** Somebody with bounds of their own. */
function bounded(...bounds: readonly BoundNow[]): Bounded {
  const payer = { channel: "toy", chat: 7 as ChatId, place: "7", agent: "helper" };
  return { payer, timeZone: "UTC", warnPercent: 80, at: () => bounds };
}

eachDatabase("what is used", (open) => {
  /** Another worker's connection; SQLite has one process, and one connection. */
  const beside = async (database: Database): Promise<Database> =>
    database.dialect === "postgres" ? await open(database) : database;

  it("is added up for each bound in one statement, and kept apart by whose, what and when it is", async () => {
    const database = await open();
    const all = [
      bound(),
      bound({ subject: "bob" }),
      bound({ channel: "other" }),
      bound({ scope: "chat" }),
      bound({ measure: "cost" }),
      bound({ from: NOW + DAY_MS }),
    ];
    await charge(
      database.db,
      all.map((each, at) => ({ bound: each, amount: at + 1 })),
    );
    const [again] = await charge(database.db, [{ bound: bound(), amount: 10 }]);
    expect(again).toEqual({ bound: bound(), used: 11, warned: false, lifted: false });
    expect(await usedOf(database, ...all)).toEqual([11, 2, 3, 4, 5, 6]);
  });

  it("says nothing and writes nothing where nothing is bounded", async () => {
    const database = await open();
    expect(await charge(database.db, [])).toEqual([]);
    expect(await countsOf(database.db, [])).toEqual([]);
  });

  it("is exact however many add to it at once", async () => {
    const database = await open();
    const others = [database, await beside(database)];
    await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        charge(others[n % 2]!.db, [
          { bound: bound({ scope: n % 2 ? "chat" : "person" }), amount: 1 },
          { bound: bound({ scope: "total" }), amount: 1 },
          { bound: bound({ scope: n % 2 ? "person" : "chat" }), amount: 1 },
        ]),
      ),
    );
    expect(await usedOf(database, bound(), bound({ scope: "chat" }), bound({ scope: "total" }))).toEqual([
      30, 30, 30,
    ]);
  });

  it("lets no more turns in than there are, of many at once", async () => {
    const database = await open();
    const others = [database, await beside(database)];
    const five = bound({ measure: "turns", limit: 5 });
    const letIn = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        others[n % 2]!.light(async (trx) => {
          const spent = firstExceeded(await charge(trx, [{ bound: five, amount: 1 }]));
          if (spent) await charge(trx, [{ bound: five, amount: -1 }]);
          return spent === undefined;
        }),
      ),
    );
    expect(letIn.filter(Boolean)).toHaveLength(5);
    expect(await usedOf(database, five)).toEqual([5]);
  });

  it("is told of once", async () => {
    const database = await open();
    const counted = await charge(database.db, [{ bound: bound(), amount: 80 }]);
    const other = await beside(database);
    const marked = await Promise.all([markWarned(database.db, counted), markWarned(other.db, counted)]);
    expect(marked.flat()).toHaveLength(1);
    expect(await countsOf(database.db, [bound()])).toMatchObject([{ warned: true }]);
  });

  it("stops nobody once it is lifted, until it begins anew", async () => {
    const database = await open();
    const tomorrow = bound({ from: NOW + DAY_MS });
    await charge(database.db, [
      { bound: bound(), amount: 100 },
      { bound: tomorrow, amount: 100 },
    ]);
    expect(firstSpent(await countsOf(database.db, [bound()]))?.scope).toBe("person");
    await liftBounds(database.db, [bound()]);
    expect(firstSpent(await countsOf(database.db, [bound()]))).toBeUndefined();
    expect(await usedOf(database, bound())).toEqual([100]);
    expect(firstSpent(await countsOf(database.db, [tomorrow]))?.from).toBe(NOW + DAY_MS);
  });

  it("takes along what was lifted, and what was told, where somebody has another id", async () => {
    const database = await open();
    const known = bound({ subject: "new" });
    await charge(database.db, [{ bound: known, amount: 1 }]);
    await liftBounds(database.db, [bound()]);
    await markWarned(database.db, await countsOf(database.db, [bound()]));
    await database.light((trx) => moveUse(trx, { scope: "person", channel: "toy", from: "ada", to: "new" }));
    expect(await countsOf(database.db, [known])).toEqual([
      { bound: known, used: 1, warned: true, lifted: true },
    ]);
  });

  it("never has two wait for each other, in whatever order their bounds are named", async () => {
    const database = await open();
    const other = await beside(database);
    const all = (["person", "chat", "agent", "total"] as const).map((scope) => bound({ scope }));
    await charge(
      database.db,
      all.map((each) => ({ bound: each, amount: 1 })),
    );
    // PostgreSQL ends one of two that wait for each other after a second, and that one is tried again: 40 take too long.
    for (let n = 0; n < 40; n += 1) {
      await database.db.updateTable("use_count").set({ warned: 0 }).execute();
      const counted = await countsOf(database.db, all);
      await Promise.all([
        database.light((trx) => markWarned(trx, counted)),
        other.light((trx) => markWarned(trx, counted.toReversed())),
        other.light((trx) =>
          charge(
            trx,
            all.map((each) => ({ bound: each, amount: 1 })),
          ),
        ),
      ]);
    }
    expect(await usedOf(database, ...all)).toEqual([41, 41, 41, 41]);
  });

  it("follows people to another id and channels to another name, and goes when its month is long over", async () => {
    const database = await open();
    await charge(database.db, [
      { bound: bound(), amount: 30 },
      { bound: bound({ subject: "new" }), amount: 12 },
      { bound: bound({ measure: "cost", from: NOW - 40 * DAY_MS }), amount: 1 },
    ]);
    await database.light((trx) => moveUse(trx, { scope: "person", channel: "toy", from: "ada", to: "new" }));
    await renameChannel(database, "toy", "renamed");
    expect(await usedOf(database, bound({ channel: "renamed", subject: "new" }))).toEqual([42]);
    await pruneCounts(database.db, NOW - 10 * DAY_MS);
    expect(await database.db.selectFrom("use_count").selectAll().execute()).toHaveLength(2);
    await pruneCounts(database.db, NOW - 8 * DAY_MS);
    expect(await database.db.selectFrom("use_count").selectAll().execute()).toHaveLength(1);
  });
});

eachDatabase("what requests to models have to be within", (open) => {
  const setUp = async (...bounds: readonly BoundNow[]) => {
    const database = await open();
    const allowance = allowanceOf(database, bounded(...bounds), {
      clock: manualClock(NOW),
      log: memoryLog([]),
    });
    return { database, allowance };
  };

  it("counts a guess before, and what it was after", async () => {
    const cost = bound({ measure: "cost", limit: 1_000 });
    const { database, allowance } = await setUp(bound(), cost);
    const reserved = await allowance.reserve(use(40, 7));
    expect(await usedOf(database, bound(), cost)).toEqual([40, 7]);
    await reserved.settle({ inputTokens: 30, outputTokens: 5, costMicros: 9 });
    expect(await usedOf(database, bound(), cost)).toEqual([35, 9]);
  });

  it("lets a request in as long as anything is left, and counts none that it refuses", async () => {
    const { database, allowance } = await setUp(bound({ scope: "total" }), bound());
    await allowance.reserve(use(99));
    await allowance.reserve(use(500));
    const refused = await allowance.reserve(use(1)).catch((error: unknown) => error);
    expect(hasCode(refused, "budget.spent") && refused.spent).toMatchObject({ scope: "total", limit: 100 });
    expect(await usedOf(database, bound(), bound({ scope: "total" }))).toEqual([599, 599]);
  });

  it("lets in no more of many at once, of several workers, than one after the other", async () => {
    const { database, allowance } = await setUp(bound({ scope: "total" }), bound());
    const other = database.dialect === "postgres" ? await open(database) : database;
    const by = { clock: manualClock(NOW), log: memoryLog([]) };
    const theirs = allowanceOf(other, bounded(bound(), bound({ scope: "total" })), by);
    const letIn = await Promise.allSettled(
      Array.from({ length: 12 }, (_, n) => (n % 2 ? theirs : allowance).reserve(use(30))),
    );
    expect(letIn.filter(({ status }) => status === "fulfilled")).toHaveLength(4);
    expect(await usedOf(database, bound(), bound({ scope: "total" }))).toEqual([120, 120]);
  });

  it("counts what is free, and is not stopped by it", async () => {
    const { database, allowance } = await setUp(bound({ limit: 0, free: true }));
    await allowance.reserve(use(40));
    expect(await usedOf(database, bound())).toEqual([40]);
  });

  it("lets nothing in where the limit is 0", async () => {
    const { database, allowance } = await setUp(bound({ limit: 0 }));
    await expect(allowance.reserve(use(1))).rejects.toMatchObject({ code: "budget.spent" });
    expect(await usedOf(database, bound())).toEqual([0]);
  });

  it("takes a request off the day that it was counted on", async () => {
    const database = await open();
    const clock = manualClock(NOW);
    const days = { ...bounded(), at: (now: number) => [bound({ from: Math.floor(now / DAY_MS) * DAY_MS })] };
    const allowance = allowanceOf(database, days, { clock, log: memoryLog([]) });
    const reserved = await allowance.reserve(use(40));
    await clock.advance(DAY_MS);
    await reserved.settle({ inputTokens: 10, outputTokens: 0, costMicros: 0 });
    expect(await usedOf(database, bound(), bound({ from: NOW + DAY_MS }))).toEqual([10, 0]);
  });
});
