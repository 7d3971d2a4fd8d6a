import { expect, it, onTestFinished } from "vitest";
import { type Dispatcher, EVERY, type Works } from "../../src/core/dispatcher.ts";
import type { LoggedLine } from "../support/channel-host.ts";
import { recorder, type Recorder } from "./recorder.ts";

export type Opened = { readonly dispatcher: Dispatcher; readonly logged: readonly LoggedLine[] };

/** Far beyond what a test waits for. */
const LATER_MS = 600_000;

/**
 * What every dispatcher keeps to, in real time. `open` gives a dispatcher that is closed at the end of the test. That
 * something does not happen is seen by something that is asked for after it, and has happened.
 */
export function dispatcherContract(open: (works: Works) => Promise<Opened>): void {
  async function setUp(concurrency = 3, placed = false): Promise<Opened & Recorder> {
    const work = recorder();
    const topic = { concurrency, run: work.run };
    const opened = await open(placed ? { deliver: { ...topic, placed } } : { turn: topic });
    onTestFinished(work.endAll); // before what was opened is closed
    return { ...work, ...opened };
  }

  it("works on a key at the earliest time that was asked for, and once for many wake-ups", async () => {
    const { dispatcher, runs, begun } = await setUp();
    const began = Date.now();
    dispatcher.wake("turn", "a", began + LATER_MS);
    dispatcher.wake("turn", "a", began + 150);
    dispatcher.wake("turn", "a", began + LATER_MS);
    await begun(1);
    expect(Date.now() - began).toBeGreaterThanOrEqual(149);
    dispatcher.wake("turn", "z", Date.now() + 150);
    await begun(1, "z");
    expect(runs).toEqual(["a", "z"]);
  });

  it("works at once on a key that sleeps and is woken for now", async () => {
    const { dispatcher, runs, begun } = await setUp();
    dispatcher.wake("turn", "a", Date.now() + LATER_MS);
    dispatcher.wake("turn", "b", Date.now());
    await begun(1, "b"); // a's first wake-up has been taken up by now
    dispatcher.wake("turn", "a", Date.now());
    await begun(1, "a");
    expect(runs).toEqual(["b", "a"]);
  });

  it("never works on one key twice at once, and once more after wake-ups during work", async () => {
    const { dispatcher, runs, begun, hold, end, most } = await setUp();
    hold("a");
    dispatcher.wake("turn", "a", Date.now());
    await begun(1);
    dispatcher.wake("turn", "a", Date.now());
    dispatcher.wake("turn", "a", Date.now());
    dispatcher.wake("turn", "b", Date.now());
    await begun(1, "b");
    expect(runs).toEqual(["a", "b"]);
    end("a");
    await begun(2, "a");
    end("a");
    dispatcher.wake("turn", "c", Date.now() + 100);
    await begun(1, "c");
    expect([runs, most().ofOne]).toEqual([["a", "b", "a", "c"], 1]);
  });

  it("begins at its time what was woken for later during work", async () => {
    const { dispatcher, begun, hold, end } = await setUp();
    hold("a");
    dispatcher.wake("turn", "a", Date.now());
    await begun(1);
    const at = Date.now() + 200;
    dispatcher.wake("turn", "a", at + LATER_MS);
    dispatcher.wake("turn", "a", at);
    end("a");
    await begun(2);
    expect(Date.now()).toBeGreaterThanOrEqual(at - 1);
  });

  it("does not let a wake-up for later hide one for now during work", async () => {
    const { dispatcher, runs, begun, hold, end } = await setUp();
    hold("a");
    dispatcher.wake("turn", "a", Date.now());
    await begun(1);
    dispatcher.wake("turn", "a", Date.now());
    dispatcher.wake("turn", "a", Date.now() + LATER_MS);
    end("a");
    await begun(2);
    expect(runs).toEqual(["a", "a"]);
  });

  it("lets work wake its own key", async () => {
    const { dispatcher, runs, begun, does } = await setUp();
    let times = 0;
    does("a", () => {
      times += 1;
      if (times < 4) dispatcher.wake("turn", "a", Date.now() + (times === 2 ? 60 : 0));
    });
    dispatcher.wake("turn", "a", Date.now());
    await begun(4);
    dispatcher.wake("turn", "z", Date.now() + 100);
    await begun(1, "z");
    expect(runs).toEqual(["a", "a", "a", "a", "z"]);
  });

  it("works on many keys at once, up to the topic's number, in the order they were ready", async () => {
    const { dispatcher, runs, begun, hold, end, most } = await setUp(2);
    hold("a", "b", "c", "d");
    for (const key of ["a", "b", "c", "d"]) dispatcher.wake("turn", key, Date.now());
    await begun(2);
    end("b");
    await begun(3);
    end("a");
    await begun(4);
    expect([runs, most().ofAll]).toEqual([["a", "b", "c", "d"], 2]);
    for (const key of ["c", "d"]) end(key);
  });

  it("takes keys of any form", async () => {
    const { dispatcher, runs, begun } = await setUp(1);
    const keys = ['["tg","person","a:b@c","helper"]', "0", "Ünïcode 🐟", "a b"];
    for (const key of keys) dispatcher.wake("turn", key, Date.now());
    await begun(4);
    expect(runs).toEqual(keys);
  });

  it("tries again what failed, with a growing wait", async () => {
    const { dispatcher, begun, does, logged } = await setUp();
    let tries = 0;
    does("a", () => {
      tries += 1;
      if (tries < 3) throw new Error("not yet");
    });
    const began = Date.now();
    dispatcher.wake("turn", "a", began);
    await begun(3);
    expect(Date.now() - began).toBeGreaterThanOrEqual(2_990);
    expect(logged.filter(({ level }) => level === "error").map(({ fields }) => fields["waitMs"])).toEqual([
      1_000, 2_000,
    ]);
  });

  it("does not let what failed wait when it is woken", async () => {
    const { dispatcher, begun, does } = await setUp();
    const began = Date.now();
    does("a", () => {
      throw new Error("never");
    });
    for (let times = 1; times <= 3; times += 1) {
      dispatcher.wake("turn", "a", Date.now());
      await begun(times);
    }
    expect(Date.now() - began).toBeLessThan(1_000);
  });

  it("works on keys of a place while it serves it, and on each place's for itself", async () => {
    const { dispatcher, runs, begun, hold, end } = await setUp(3, true);
    hold("a");
    dispatcher.wake("deliver", "a", Date.now(), "family");
    dispatcher.serve("shop");
    dispatcher.wake("deliver", "a", Date.now(), "shop");
    await begun(1);
    end("a");
    dispatcher.wake("deliver", "b", Date.now(), "shop");
    await begun(1, "b");
    expect(runs).toEqual(["a", "b"]);
    dispatcher.serve("family");
    await begun(2, "a");
    end("a");
    expect(runs).toEqual(["a", "b", "a"]);
  });

  it("leaves a place when what runs of it has ended; what is woken then waits", async () => {
    const { dispatcher, runs, begun, hold, end } = await setUp(1, true);
    for (const place of ["family", "the shop: 2"]) dispatcher.serve(place);
    hold("a");
    dispatcher.wake("deliver", "a", Date.now(), "the shop: 2");
    await begun(1);
    dispatcher.wake("deliver", "b", Date.now(), "the shop: 2");
    let left = false;
    const leaving = dispatcher.leave("the shop: 2").then(() => (left = true));
    dispatcher.wake("deliver", "c", Date.now(), "family");
    await begun(1, "c");
    expect([runs, left]).toEqual([["a", "c"], false]);
    end("a");
    await leaving;
    dispatcher.wake("deliver", "a", Date.now(), "the shop: 2");
    dispatcher.wake("deliver", "d", Date.now() + 100, "family");
    await begun(1, "d");
    expect(runs).toEqual(["a", "c", "d"]);
    dispatcher.serve("the shop: 2");
    await begun(1, "b");
    await begun(2, "a");
    end("a");
  });

  it("refuses a wake-up that would lie where nobody works on it", async () => {
    const { dispatcher } = await open({
      deliver: { concurrency: 1, placed: true, run: async () => {} },
      turn: { concurrency: 1, run: async () => {} },
    });
    expect(() => dispatcher.wake("deliver", "a", 0)).toThrow('keys of "deliver" belong to a place');
    expect(() => dispatcher.wake("turn", "a", 0, "shop")).toThrow('woken at "shop"');
  });

  it("lets topics be woken that it does not work on", async () => {
    const { dispatcher, runs, begun } = await setUp();
    dispatcher.wake("memory", "b", Date.now());
    dispatcher.wake("deliver", "c", Date.now(), "shop");
    dispatcher.wake("turn", "a", Date.now());
    await begun(1);
    expect(runs).toEqual(["a"]);
  });

  it("works on a topic every so often, one run after the other", async () => {
    const work = recorder();
    const { dispatcher } = await open({ sweep: { concurrency: 3, run: work.run } });
    const began = Date.now();
    dispatcher.every("sweep", 100);
    work.does(EVERY, () => new Promise((resolve) => setTimeout(resolve, 150)));
    await work.begun(4);
    expect(Date.now() - began).toBeGreaterThanOrEqual(3 * 150 + 99);
    expect([new Set(work.runs), work.most().ofOne]).toEqual([new Set([EVERY]), 1]);
  });

  it("keeps one sleeping key of a key that is touched again and again, and works on it once", async () => {
    const { dispatcher, runs, begun } = await setUp();
    const began = Date.now();
    for (let times = 0; times < 40; times += 1) dispatcher.wake("turn", "a", began + 1_500 + times);
    dispatcher.wake("turn", "b", began);
    await begun(1, "b");
    expect((await dispatcher.counts()).find(({ topic }) => topic === "turn")).toMatchObject({ sleeping: 1 });
    await begun(1, "a");
    dispatcher.wake("turn", "z", Date.now() + 150);
    await begun(1, "z");
    expect(runs).toEqual(["b", "a", "z"]);
  });

  it("counts what waits, sleeps and runs", async () => {
    const { dispatcher, begun, hold, end } = await setUp(1);
    hold("a");
    dispatcher.wake("turn", "a", Date.now());
    await begun(1);
    for (const key of ["b", "c"]) dispatcher.wake("turn", key, Date.now());
    dispatcher.wake("turn", "d", Date.now() + LATER_MS);
    await expect
      .poll(() => dispatcher.counts())
      .toEqual([{ topic: "turn", waiting: 2, sleeping: 1, running: 1, oldestMs: expect.any(Number) }]);
    await expect.poll(async () => (await dispatcher.counts())[0]?.oldestMs).toBeGreaterThan(50);
    expect(await dispatcher.away()).toBeUndefined();
    end("a");
  });

  it("takes no new work once closed, and waits for what runs", async () => {
    const { dispatcher, runs, begun, hold, end } = await setUp();
    hold("a");
    dispatcher.wake("turn", "a", Date.now());
    dispatcher.wake("turn", "later", Date.now() + 100);
    await begun(1);
    let closed = false;
    const closing = dispatcher.close().then(() => (closed = true));
    dispatcher.wake("turn", "b", Date.now());
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect([runs, closed]).toEqual([["a"], false]);
    end("a");
    await closing;
    expect([runs, closed]).toEqual([["a"], true]);
  });
}
