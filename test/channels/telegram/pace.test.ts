import { describe, expect, it } from "vitest";
import { Pace } from "../../../channels/telegram/pace.ts";
import { manualClock } from "../../support/clock.ts";

const ADA = { channel: "tg", chat: "1" };
const BEN = { channel: "tg", chat: "2" };
const DAN = { channel: "tg", chat: "3" };
const CREW = { channel: "tg", chat: "-100" };

function setUp(random: () => number = () => 0) {
  const clock = manualClock();
  const pace = new Pace(clock, random);
  /** Sends as fast as the chat takes it; the seconds at which it did. */
  async function sendAll(to: typeof ADA, messages: number): Promise<readonly number[]> {
    const start = clock.now();
    const sentAt: number[] = [];
    for (let n = 0; n < messages; n += 1) {
      await clock.advance(Math.max(0, pace.readyAt(to) - clock.now()));
      pace.took(to);
      sentAt.push((clock.now() - start) / 1000);
    }
    return sentAt;
  }
  return { clock, pace, sendAll };
}

describe("messages", () => {
  it("go to a person three at once, then one a second", async () => {
    expect(await setUp().sendAll(ADA, 6)).toEqual([0, 0, 0, 1, 2, 3]);
  });

  it("go to a group three at once, and never more than 20 in a minute", async () => {
    const sentAt = await setUp().sendAll(CREW, 60);
    expect(sentAt.slice(0, 4)).toEqual([0, 0, 0, 3.334]);
    for (const from of sentAt)
      expect(sentAt.filter((at) => from <= at && at < from + 60).length).toBeLessThanOrEqual(21);
  });

  it("of an album count one by one", async () => {
    const { clock, pace } = setUp();
    pace.took(ADA, 10);
    expect(pace.readyAt(ADA) - clock.now()).toBe(8_000);
  });

  it("to many chats are given turns, 25 in a second after the first 5, which they keep", async () => {
    const { clock, pace } = setUp();
    const chats = Array.from({ length: 30 }, (_, n) => ({ channel: "tg", chat: `${n}` }));
    const turns = chats.map((to) => pace.readyAt(to) - clock.now());
    expect(turns.slice(0, 7)).toEqual([0, 0, 0, 0, 0, 40, 80]);
    expect(turns.at(-1)).toBe(1_000);
    // Asked again when it is time, and counted once.
    await clock.advance(1_000);
    expect(chats.filter((to) => pace.readyAt(to) > clock.now())).toEqual([]);
    for (const to of chats) pace.took(to);
    expect(pace.readyAt({ channel: "tg", chat: "late" }) - clock.now()).toBe(40);
  });

  it("that did not come in their turn wait for another", async () => {
    const { clock, pace } = setUp();
    pace.readyAt(ADA);
    await clock.advance(3_000);
    for (const chat of ["3", "4", "5", "6", "7"]) pace.took({ channel: "tg", chat });
    expect(pace.readyAt(ADA) - clock.now()).toBe(40);
  });
});

describe("a sign of life", () => {
  it("leaves one message's room in its chat", async () => {
    const { clock, pace } = setUp();
    pace.took(ADA);
    expect(pace.spareAt(ADA)).toBeLessThanOrEqual(clock.now());
    pace.took(ADA);
    expect(pace.spareAt(ADA) - clock.now()).toBe(1_000);
    expect(pace.readyAt(ADA)).toBe(clock.now());
  });

  it("leaves room for messages of other chats", () => {
    const { clock, pace } = setUp();
    for (const chat of ["3", "4", "5"]) pace.took({ channel: "tg", chat });
    expect(pace.spareAt(ADA) - clock.now()).toBe(40);
    expect(pace.readyAt(BEN)).toBe(clock.now());
  });

  it("does not go while a message has its turn there", () => {
    const { clock, pace } = setUp();
    pace.readyAt(ADA);
    expect(pace.spareAt(ADA)).toBeGreaterThan(clock.now());
    pace.took(ADA);
    expect(pace.spareAt(ADA)).toBeLessThanOrEqual(clock.now());
  });
});

describe("a wait that Telegram asks for", () => {
  it("holds its chat so long and a little longer, and no other", async () => {
    const { clock, pace } = setUp(() => 0.5);
    pace.blocked(ADA, 35_000);
    expect([pace.readyAt(ADA), pace.spareAt(ADA)].map((at) => at - clock.now())).toEqual([35_250, 35_250]);
    expect(pace.readyAt(BEN)).toBe(clock.now());
    await clock.advance(35_250);
    expect(pace.readyAt(ADA)).toBe(clock.now());
  });

  it("is not cut short by a smaller one", () => {
    const { clock, pace } = setUp();
    pace.blocked(ADA, 35_000);
    pace.blocked(ADA, 1_000);
    expect(pace.readyAt(ADA) - clock.now()).toBe(35_000);
  });

  it("holds all chats when three are told within a second, as long as the shortest", async () => {
    const { clock, pace } = setUp();
    pace.blocked(ADA, 3_600_000);
    await clock.advance(500);
    pace.blocked(CREW, 9_000);
    expect(pace.readyAt(DAN)).toBe(clock.now());
    pace.took(DAN);
    await clock.advance(500);
    pace.blocked(BEN, 5_000);
    expect([DAN, BEN, CREW, ADA].map((to) => pace.readyAt(to) - clock.now())).toEqual([
      5_000, 5_000, 8_500, 3_599_000,
    ]);
    expect(pace.spareAt(DAN) - clock.now()).toBe(5_000);
  });

  it("holds no others when Telegram took something between", () => {
    const { clock, pace } = setUp();
    pace.blocked(ADA, 5_000);
    pace.blocked(CREW, 5_000);
    pace.passed();
    pace.blocked(BEN, 5_000);
    expect(pace.readyAt(DAN)).toBe(clock.now());
  });

  it("holds no others when one chat is told again and again, or three at their leisure", async () => {
    const { clock, pace } = setUp();
    pace.blocked(ADA, 5_000);
    pace.blocked(ADA, 5_000);
    pace.blocked(CREW, 5_000);
    await clock.advance(1_001);
    pace.blocked(BEN, 5_000);
    expect(pace.readyAt(DAN)).toBe(clock.now());
  });
});

describe("a clock that is set back", () => {
  it("makes nobody wait for what it showed before", () => {
    const hour = 3_600_000;
    let now = 9 * hour;
    const { after } = manualClock();
    const pace = new Pace({ now: () => now, after }, () => 0);
    pace.took(ADA, 10);
    for (const to of [ADA, BEN, DAN]) pace.blocked(to, 5_000);
    now -= hour;
    expect(pace.spareAt(ADA)).toBeLessThanOrEqual(now);
    for (const to of [ADA, BEN, CREW]) expect(pace.readyAt(to)).toBe(now);
  });
});
