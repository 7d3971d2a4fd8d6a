import { expect, it } from "vitest";
import { LEASE_MS, Ownership } from "../../src/connections/ownership.ts";
import { takeLease } from "../../src/store/channel-lease.ts";
import { memoryLog } from "../support/channel-host.ts";
import { manualClock, settle } from "../support/clock.ts";
import { eachDatabase } from "../support/database.ts";

eachDatabase("who is a connection", (open) => {
  async function setUp() {
    const database = await open();
    const clock = manualClock();
    const told: string[] = [];
    /** A store that is away, or hangs, for one process. */
    const store = { away: new Set<string>(), hangs: new Set<string>(), closing: Promise.resolve() };
    const asking = new Set<Promise<unknown>>();
    const asked = async <T>(name: string, ask: () => Promise<T>): Promise<T> => {
      if (store.hangs.has(name)) await new Promise(() => {});
      if (store.away.has(name)) throw new Error("the store is away");
      const asks = ask();
      asking.add(asks);
      return await asks.finally(() => asking.delete(asks));
    };
    const process = (name: string): Ownership =>
      new Ownership({
        async take(ms) {
          const holder = { owner: name, clock };
          const lease = await asked(name, () => takeLease(database, "family", holder, ms, async () => {}));
          return lease && { ...lease, renew: (forMs) => asked(name, () => lease.renew(forMs)) };
        },
        won: async () => void told.push(`${name} won`),
        async lost() {
          await store.closing;
          told.push(`${name} lost`);
        },
        clock,
        log: memoryLog([]),
      });
    /** Real queries take real time, which the clock does not know of. */
    const later = async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= 1_000) {
        await clock.advance(Math.min(left, 1_000));
        await Promise.allSettled(asking);
        await settle();
      }
    };
    return { process, told, store, later };
  }

  it("is the first who asks, for as long as it lives", async () => {
    const { process, told, later } = await setUp();
    const [one, two] = [process("one"), process("two")];
    await one.begin();
    await two.begin();
    await later(10 * LEASE_MS);
    expect([told, one.held, two.held]).toEqual([["one won"], true, false]);
    await Promise.all([one.end(), two.end()]);
  });

  it("is another at once when it is given up", async () => {
    const { process, told, later } = await setUp();
    const [one, two] = [process("one"), process("two")];
    await one.begin();
    await two.begin();
    await one.end();
    await later(10_000);
    expect(told).toEqual(["one won", "two won"]);
    await two.end();
  });

  it.each(["away", "hangs"] as const)(
    "gives up what it cannot renew before anybody else can have it, where its store %s",
    async (how) => {
      const { process, told, store, later } = await setUp();
      const [one, two] = [process("one"), process("two")];
      await one.begin();
      await two.begin();
      store[how].add("one");
      await later(3 * LEASE_MS);
      expect(told).toEqual(["one won", "one lost", "two won"]);
      await Promise.all([one.end(), two.end()]);
    },
  );

  it("is taken anew by who could not renew it for a while", async () => {
    const { process, told, store, later } = await setUp();
    const one = process("one");
    await one.begin();
    store.away.add("one");
    await later(2 * LEASE_MS);
    store.away.clear();
    await later(10_000);
    expect(told).toEqual(["one won", "one lost", "one won"]);
    await one.end();
  });

  it("is opened again only once it is closed, however long that takes", async () => {
    const { process, told, store, later } = await setUp();
    const one = process("one");
    await one.begin();
    let closed = (): void => {};
    store.closing = new Promise((resolve) => (closed = resolve));
    store.away.add("one");
    await later(LEASE_MS);
    store.away.clear();
    await later(2 * LEASE_MS);
    expect([told, one.held]).toEqual([["one won"], true]);
    closed();
    await settle();
    expect(told).toEqual(["one won", "one lost", "one won"]);
    await one.end();
  });

  it("is given up when it is closed, and not before", async () => {
    const { process, told, later } = await setUp();
    const [one, two] = [process("one"), process("two")];
    await one.begin();
    await two.begin();
    let closed = (): void => {};
    const ended = one.end(() => new Promise((resolve) => (closed = resolve)));
    await later(10_000);
    expect(told).toEqual(["one won"]);
    closed();
    await ended;
    await later(10_000);
    expect(told).toEqual(["one won", "two won"]);
    await two.end();
  });
});
