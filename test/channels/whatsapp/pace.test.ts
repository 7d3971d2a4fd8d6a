import { describe, expect, it } from "vitest";
import { Pace } from "../../../channels/whatsapp/baileys/sending/pace.ts";
import { manualClock } from "../../support/clock.ts";

function setUp({
  chatSeconds = 1,
  perMinute = 20,
  random = () => 0,
}: { readonly chatSeconds?: number; readonly perMinute?: number; readonly random?: () => number } = {}) {
  const clock = manualClock();
  const pace = new Pace({ chatSeconds, perMinute }, clock, random);
  /** Sends as fast as it may, to each of the chats in turn; the seconds at which it did. */
  async function sendAll(chats: readonly string[], messages: number): Promise<readonly number[]> {
    const start = clock.now();
    const sentAt: number[] = [];
    for (let n = 0; n < messages; n += 1) {
      const chat = chats[n % chats.length] ?? "";
      // A chat that comes again may be told to wait for its turn.
      for (let at = pace.readyAt(chat); at > clock.now(); at = pace.readyAt(chat))
        await clock.advance(at - clock.now());
      pace.took(chat);
      sentAt.push((clock.now() - start) / 1_000);
    }
    return sentAt;
  }
  return { clock, pace, sendAll };
}

const MANY = Array.from({ length: 100 }, (_, n) => `lid:${n}`);

describe("messages", () => {
  it("to one chat go a second apart, and those after a burst as slowly as all may", async () => {
    const sentAt = await setUp().sendAll(["lid:1"], 12);
    expect(sentAt).toEqual([0, 1, 2, 3, 4, 5, 8, 12, 16, 20, 24, 28]);
  });

  it("to many chats are never more in a minute than the setting says", async () => {
    const sentAt = await setUp().sendAll(MANY, 80);
    expect(sentAt.slice(0, 6)).toEqual([0, 0, 0, 0, 0, 4]);
    for (const from of sentAt)
      expect(sentAt.filter((at) => from <= at && at < from + 60).length).toBeLessThanOrEqual(20);
  });

  it.each([
    [1, 1],
    [4, 4],
    [600, 600],
  ])("of %i a minute fill one minute", async (perMinute, most) => {
    const sentAt = await setUp({ chatSeconds: 0, perMinute }).sendAll(MANY, perMinute * 2);
    expect(sentAt.filter((at) => at < 60).length).toBeLessThanOrEqual(most);
    expect(sentAt.filter((at) => at < 60).length).toBeGreaterThanOrEqual(Math.floor(most * 0.9));
  });

  it("do not keep an even beat", async () => {
    let next = 0;
    const sentAt = await setUp({ random: () => [0, 0.9, 0.4][(next += 1) % 3] ?? 0 }).sendAll(MANY, 12);
    const gaps = sentAt.slice(6).map((at, n) => at - (sentAt[n + 5] ?? 0));
    expect(new Set(gaps).size).toBeGreaterThan(1);
    for (const gap of gaps) expect(Math.round(gap * 1_000)).toBeGreaterThanOrEqual(4_000);
  });

  it("of chats that are ready at once are given turns, which they keep for 2 s", async () => {
    const { clock, pace } = setUp();
    const turns = MANY.slice(0, 7).map((chat) => pace.readyAt(chat) - clock.now());
    expect(turns).toEqual([0, 0, 0, 0, 0, 4_000, 8_000]);
    await clock.advance(8_000);
    expect(pace.readyAt(MANY[6] ?? "")).toBe(clock.now());
    await clock.advance(2_001);
    expect(pace.readyAt(MANY[6] ?? "")).toBeGreaterThan(clock.now());
  });

  it("that have waited for the line do not come all at once", async () => {
    const { clock, pace, sendAll } = setUp();
    await clock.advance(3_600_000);
    pace.reconnected();
    expect(await sendAll(MANY, 3)).toEqual([0, 4, 8]);
  });

  it("wait longer each time that WhatsApp finds them too many, until it takes one", async () => {
    const { clock, pace } = setUp();
    expect([pace.blocked(), pace.blocked()]).toEqual([60_000, 60_000]);
    expect(pace.readyAt("lid:1")).toBe(clock.now() + 60_000);
    await clock.advance(60_000);
    expect(pace.blocked()).toBe(120_000);
    await clock.advance(120_000);
    pace.passed();
    expect(pace.blocked()).toBe(60_000);
  });

  it("that WhatsApp has found too many do not come all at once after the wait", async () => {
    const { pace, sendAll } = setUp();
    pace.blocked();
    expect(await sendAll(MANY, 3)).toEqual([60, 64, 68]);
  });

  it("are not held by a clock that was set back", () => {
    let now = 1_000_000;
    const pace = new Pace(
      { chatSeconds: 1, perMinute: 20 },
      { now: () => now, after: manualClock().after },
      () => 0,
    );
    pace.blocked();
    pace.took("lid:1");
    now = 0;
    expect(pace.readyAt("lid:1")).toBe(0);
  });
});
