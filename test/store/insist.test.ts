import { describe, expect, it } from "vitest";
import { GatewayError } from "../../src/core/errors.ts";
import { insist } from "../../src/store/insist.ts";
import { type LoggedLine, memoryLog } from "../support/channel-host.ts";
import { manualClock } from "../support/clock.ts";

function setUp(errors: readonly Error[]) {
  const clock = manualClock(0);
  const logged: LoggedLine[] = [];
  const closing = new AbortController();
  let tries = 0;
  const done = insist(
    () => {
      const error = errors[tries];
      tries += 1;
      return error ? Promise.reject(error) : Promise.resolve("committed");
    },
    { clock, log: memoryLog(logged), closing: closing.signal },
  );
  done.catch(() => {});
  return { clock, closing, done, tries: () => tries };
}

const away = new GatewayError("store.unavailable", "the disk is full");
const many = (error: Error, times: number): readonly Error[] => Array.from({ length: times }, () => error);

describe("insisting on a commit", () => {
  it("waits for a store that is away, however long that takes", async () => {
    const { clock, done, tries } = setUp(many(away, 200));
    await clock.advance(3 * 3_600_000);
    expect(await done).toBe("committed");
    expect(tries()).toBe(201);
  });

  it("gives up on what does not heal", async () => {
    const { clock, done, tries } = setUp(many(new Error("constraint failed"), 200));
    await clock.advance(60_000);
    await expect(done).rejects.toThrow("constraint failed");
    expect(tries()).toBe(5);
  });

  it("gives up at once on a lost hold, and at the end of the process", async () => {
    const lost = setUp(many(new GatewayError("store.hold_lost", "gone"), 9));
    await expect(lost.done).rejects.toMatchObject({ code: "store.hold_lost" });
    expect(lost.tries()).toBe(1);
    const ending = setUp(many(away, 9));
    ending.closing.abort();
    await expect(ending.done).rejects.toMatchObject({ code: "store.unavailable" });
  });
});
