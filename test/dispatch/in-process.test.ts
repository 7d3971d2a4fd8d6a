import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { EVERY, type Work } from "../../src/core/dispatcher.ts";
import { inProcess } from "../../src/dispatch/in-process.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import { manualClock, settle } from "../support/clock.ts";
import { dispatcherContract } from "./contract.ts";

function setUp(turn: Partial<Work> = {}) {
  const clock = manualClock(0);
  const logged: LoggedLine[] = [];
  const runs: string[] = [];
  let running = 0;
  let most = 0;
  const gates = new Map<string, () => void>();
  const works = {
    sweep: { concurrency: 1, run: async (key: string) => void runs.push(key) },
    turn: {
      concurrency: 2,
      async run(key: string) {
        runs.push(key);
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => gates.set(key, resolve));
        running -= 1;
      },
      ...turn,
    },
  };
  const dispatcher = inProcess(works, clock, memoryLog(logged));
  return {
    clock,
    dispatcher,
    runs,
    logged,
    most: () => most,
    end: async (key: string) => {
      gates.get(key)?.();
      await settle();
    },
  };
}

describe("the dispatcher in process", () => {
  dispatcherContract(async (works) => {
    const logged: LoggedLine[] = [];
    const dispatcher = inProcess(works, systemClock, memoryLog(logged));
    onTestFinished(() => dispatcher.close());
    return { dispatcher, logged };
  });
});

describe("the dispatcher in process, to the millisecond", () => {
  it("works on a key at its time, and once for many wake-ups", async () => {
    const { clock, dispatcher, runs } = setUp();
    dispatcher.wake("turn", "a", 500);
    dispatcher.wake("turn", "a", 300);
    dispatcher.wake("turn", "a", 900);
    await clock.advance(299);
    expect(runs).toEqual([]);
    await clock.advance(1);
    expect(runs).toEqual(["a"]);
  });

  it("never works on one key twice at once, and once more after a wake-up during work", async () => {
    const { clock, dispatcher, runs, end } = setUp();
    dispatcher.wake("turn", "a", 0);
    await settle();
    dispatcher.wake("turn", "a", 0);
    dispatcher.wake("turn", "a", 0);
    await clock.advance(1_000);
    expect(runs).toEqual(["a"]);
    await end("a");
    expect(runs).toEqual(["a", "a"]);
    await end("a");
    await clock.advance(1_000);
    expect(runs).toEqual(["a", "a"]);
  });

  it("works on many keys at once, up to the topic's number, in the order they were ready", async () => {
    const { dispatcher, runs, end, most } = setUp();
    for (const key of ["a", "b", "c", "d"]) dispatcher.wake("turn", key, 0);
    await settle();
    expect(runs).toEqual(["a", "b"]);
    await end("b");
    await end("a");
    expect(runs).toEqual(["a", "b", "c", "d"]);
    expect(most()).toBe(2);
  });

  it("tries again what failed, with a growing wait", async () => {
    let tries = 0;
    const { clock, dispatcher, logged } = setUp({
      run: async () => {
        tries += 1;
        if (tries < 3) throw new Error("not yet");
      },
    });
    dispatcher.wake("turn", "a", 0);
    await clock.advance(0);
    expect(tries).toBe(1);
    await clock.advance(1_000);
    expect(tries).toBe(2);
    await clock.advance(1_999);
    expect(tries).toBe(2);
    await clock.advance(1);
    expect(tries).toBe(3);
    expect(logged.map((line) => line.fields["waitMs"])).toEqual([1_000, 2_000]);
  });

  it("takes no new work once closed, and waits for what runs", async () => {
    const { clock, dispatcher, runs, end } = setUp();
    dispatcher.wake("turn", "a", 0);
    dispatcher.wake("turn", "later", 1_000);
    await settle();
    let closed = false;
    const closing = dispatcher.close().then(() => (closed = true));
    dispatcher.wake("turn", "b", 0);
    await clock.advance(5_000);
    expect([runs, closed]).toEqual([["a"], false]);
    await end("a");
    await closing;
    expect([runs, closed]).toEqual([["a"], true]);
  });

  it("begins a run of every so often that long after the run before began", async () => {
    const { clock, dispatcher, runs } = setUp();
    dispatcher.every("sweep", 30_000);
    await clock.advance(29_999);
    expect(runs).toEqual([]);
    await clock.advance(1);
    expect(runs).toEqual([EVERY]);
    await clock.advance(60_000);
    expect(runs).toEqual([EVERY, EVERY, EVERY]);
  });
});
