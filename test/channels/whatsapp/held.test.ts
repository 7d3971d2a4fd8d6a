import { expect, it } from "vitest";
import { Held } from "../../../channels/whatsapp/baileys/sending/held.ts";
import { manualClock } from "../../support/clock.ts";

it("a chat is asked to come again the more seldom the longer there is no line", async () => {
  const clock = manualClock();
  const held = new Held(clock);
  const waits: number[] = [];
  for (let n = 0; n < 30; n += 1) {
    const waitMs = (held.until("lid:1") ?? 0) - clock.now();
    waits.push(waitMs);
    await clock.advance(waitMs);
  }
  expect(waits[0]).toBe(1_000);
  expect(waits.at(-1)).toBe(15_000);
  held.release();
  expect((held.until("lid:1") ?? 0) - clock.now()).toBe(1_000);
});

it("one message of each chat is let through every six hours, so that what is too old is given up", async () => {
  const clock = manualClock();
  const held = new Held(clock);
  const seen: (number | undefined)[] = [held.until("lid:1"), held.until("lid:2")];
  await clock.advance(6 * 3_600_000);
  seen.push(held.until("lid:1"), held.until("lid:1"), held.until("lid:2"));
  expect(seen.map((at) => at === undefined)).toEqual([false, false, true, false, true]);
});
