import { sql } from "kysely";
import { expect, it } from "vitest";
import type { ChannelState, Lease } from "../../src/core/host.ts";
import { takeLease } from "../../src/store/channel-lease.ts";
import { channelState, forgetValues } from "../../src/store/channel-state.ts";
import { renameChannel } from "../../src/store/rename.ts";
import { recover } from "../../src/store/upkeep.ts";
import { manualClock } from "../support/clock.ts";
import { eachDatabase } from "../support/database.ts";

const MINUTE_MS = 60_000;

eachDatabase("the values of a connection", (open) => {
  const setUp = async () => {
    const clock = manualClock();
    const database = await open();
    const state = channelState(database, "toy", { owner: "a", clock });
    const kept = async (): Promise<readonly string[]> =>
      (await state.list("", { limit: 10 })).map(([key]) => key);
    return { clock, database, state, kept };
  };

  it("are forgotten from their time on, and stay without one", async () => {
    const { clock, database, state, kept } = await setUp();
    const now = clock.now();
    await state.set({ a: "1", b: "1" }, { until: now + 2 });
    await state.set({ c: "1" });
    await clock.advance(1);
    expect([await kept(), await forgetValues(database, clock.now())]).toEqual([["a", "b", "c"], 0]);
    await state.set({ b: "2" }); // what is set without a time stays, whatever it had before
    await clock.advance(1);
    expect(await kept()).toEqual(["b", "c"]);
    expect(await state.get(["a", "b", "c"])).toEqual(
      new Map([
        ["b", "2"],
        ["c", "1"],
      ]),
    );
    expect(await state.list("", { limit: 1, after: "a" })).toEqual([["b", "2"]]);
    expect([await forgetValues(database, clock.now()), await forgetValues(database, clock.now())]).toEqual([
      1, 0,
    ]);
    expect(await kept()).toEqual(["b", "c"]);
  });

  it("take thousands in one batch, to write, to read and to remove", async () => {
    const { state } = await setUp();
    const keys = Array.from({ length: 12_000 }, (_, n) => `k/${String(n).padStart(5, "0")}`);
    await state.set(Object.fromEntries(keys.map((key) => [key, key])));
    expect((await state.get(keys)).size).toBe(12_000);
    await state.set(Object.fromEntries(keys.slice(1).map((key) => [key, undefined])));
    expect(await state.list("", { limit: 5 })).toEqual([["k/00000", "k/00000"]]);
  });
});

eachDatabase("the lease on a connection", (open) => {
  /** Two processes on one database. */
  const setUp = async () => {
    const clock = manualClock();
    const database = await open();
    const beside = await open(database);
    const ada = channelState(database, "toy", { owner: "ada", clock });
    const bob = channelState(beside, "toy", { owner: "bob", clock });
    return { clock, database, ada, bob };
  };
  const taken = async (state: ChannelState): Promise<Lease> => {
    const lease = await state.lease(MINUTE_MS);
    if (!lease) throw new Error("somebody else has the lease");
    return lease;
  };
  const LOST = { code: "store.hold_lost", message: /connection toy is held by another process now/ };
  const lost = { ...LOST, message: expect.stringMatching(LOST.message) };

  it("is one holder's until its time is over, and the next one's number is higher", async () => {
    const { clock, ada, bob } = await setUp();
    expect((await taken(ada)).epoch).toBe(1);
    expect(await bob.lease(MINUTE_MS)).toBeUndefined();
    await clock.advance(MINUTE_MS - 1);
    expect(await bob.lease(MINUTE_MS)).toBeUndefined();
    await clock.advance(1);
    expect((await taken(bob)).epoch).toBe(2);
    expect(await ada.lease(MINUTE_MS)).toBeUndefined();
  });

  it("lets its holder write, and nobody who had it before, however late", async () => {
    const { clock, ada, bob } = await setUp();
    const first = await taken(ada);
    await first.set({ creds: "1", old: "x" });
    await clock.advance(2 * MINUTE_MS);
    await first.set({ creds: "2" }); // its time is over, but nobody has come since
    const second = await taken(bob);
    await expect(first.set({ creds: "stale", old: undefined })).rejects.toMatchObject(lost);
    await expect(first.renew(MINUTE_MS)).rejects.toMatchObject(lost);
    await first.release(); // takes nothing from the holder of now
    await second.set({ creds: "3" }, { until: clock.now() + 5 });
    expect(await ada.get(["creds", "old"])).toEqual(
      new Map([
        ["creds", "3"],
        ["old", "x"],
      ]),
    );
    await clock.advance(5);
    expect(await ada.get(["creds"])).toEqual(new Map());
  });

  it("is kept by renewing it, also when that comes late and nobody has come", async () => {
    const { clock, ada, bob } = await setUp();
    const lease = await taken(ada);
    await clock.advance(MINUTE_MS - 1);
    await lease.renew(MINUTE_MS);
    await clock.advance(MINUTE_MS - 1);
    expect(await bob.lease(MINUTE_MS)).toBeUndefined();
    await clock.advance(1);
    await lease.renew(MINUTE_MS);
    expect(await bob.lease(MINUTE_MS)).toBeUndefined();
  });

  it("can be had at once when it is given back, and is no use to who gave it back", async () => {
    const { ada, bob } = await setUp();
    const lease = await taken(ada);
    await lease.release();
    await expect(lease.set({ a: "1" })).rejects.toMatchObject(lost);
    expect((await taken(bob)).epoch).toBe(2);
  });

  it("is had anew by the same process at any time, and what it had before ends", async () => {
    const { ada } = await setUp();
    const before = await taken(ada);
    const now = await taken(ada);
    expect([before.epoch, now.epoch]).toEqual([1, 2]);
    await expect(before.set({ a: "1" })).rejects.toMatchObject(lost);
    await now.set({ a: "2" });
  });

  it("goes to one of many who ask at once", async () => {
    const { ada, bob } = await setUp();
    const leases = await Promise.all([ada.lease(MINUTE_MS), bob.lease(MINUTE_MS)]);
    expect(leases.map((lease) => lease?.epoch).filter(Boolean)).toEqual([1]);
  });

  it("keeps the next holder waiting while a write goes on", async () => {
    const { clock, database, bob } = await setUp();
    if (database.dialect === "sqlite") return; // one writer at a time, and in one process not even two that wait
    const order: string[] = [];
    let next: Promise<unknown> = Promise.resolve();
    const first = await takeLease(database, "toy", { owner: "ada", clock }, MINUTE_MS, async (trx) => {
      next = taken(bob).then(() => order.push("the next holder"));
      for (let n = 0; n < 50; n += 1) await sql`select 1`.execute(trx);
      order.push("the write");
    });
    await clock.advance(MINUTE_MS);
    await first?.set({});
    await next;
    expect(order).toEqual(["the write", "the next holder"]);
  });

  it("ends with its process, where the next one is the only one on its data, and goes with a rename", async () => {
    const { clock, database, ada, bob } = await setUp();
    const dead = await taken(ada);
    await renameChannel(database, "toy", "family");
    const renamed = channelState(database, "family", { owner: "bob", clock });
    expect(await renamed.lease(MINUTE_MS)).toBeUndefined();
    expect((await taken(bob)).epoch).toBe(1);
    await recover(database, clock.now());
    expect((await taken(renamed)).epoch).toBe(2);
    await expect(dead.set({ a: "1" })).rejects.toMatchObject(lost);
  });
});
