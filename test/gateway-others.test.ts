import { afterEach, describe, expect, it } from "vitest";
import { HOLD_MS } from "../src/store/renew.ts";
import { manualClock } from "./support/clock.ts";
import { testGateway, type TestGateway, type TestGatewayOptions } from "./support/gateway.ts";
import { ToyPlatform } from "./support/toy-channel.ts";

const opened: TestGateway[] = [];

afterEach(async () => {
  for (const gateway of opened.splice(0)) await gateway.close();
});

const never = (): Promise<string> => new Promise(() => {});

/** A process is killed in the middle of what `options` say, and another one is at the same facts. */
async function afterKill(
  options: TestGatewayOptions,
  before: (first: TestGateway, clock: ReturnType<typeof manualClock>) => Promise<void>,
) {
  const platform = new ToyPlatform();
  const firstClock = manualClock();
  const first = await testGateway({ others: true, platform, clock: firstClock, ...options });
  await before(first, firstClock);
  await first.kill();
  const clock = manualClock(firstClock.now());
  const second = await testGateway({ others: true, platform, clock, folder: first.folder });
  opened.push(second);
  return { platform, clock, second };
}

describe("a process beside others", () => {
  it("leaves a turn alone whose holder may be alive, and takes it over when its time is over", async () => {
    const { platform, clock, second } = await afterKill({ answer: never }, async (first, before) => {
      await first.platform.say("c1", "hello", { whole: true });
      await before.advance(0);
      expect(first.asked).toHaveLength(1);
    });
    await clock.advance(HOLD_MS - 1);
    expect(second.asked).toHaveLength(0);
    await clock.advance(30_001);
    expect(second.asked).toHaveLength(1);
    expect(platform.textsIn("c1")).toEqual(["heard: hello"]);
  });

  it("answers other chats meanwhile, and what was said behind the turn after it", async () => {
    const { platform, clock } = await afterKill({ answer: never }, async (first, before) => {
      await first.platform.say("c1", "one", { whole: true });
      await before.advance(0);
    });
    await platform.say("c1", "two", { whole: true });
    await platform.say("c2", "three", { whole: true });
    await clock.advance(0);
    expect([platform.textsIn("c1"), platform.textsIn("c2")]).toEqual([[], ["heard: three"]]);
    await clock.advance(2 * HOLD_MS);
    expect(platform.textsIn("c1")).toEqual(["heard: one", "heard: two"]);
  });

  it("finds out about what was being sent when its sender was killed, and sends what is behind it", async () => {
    const { platform, clock } = await afterKill({}, async (first, before) => {
      first.platform.onTheWay = () => new Promise(() => {});
      await first.platform.say("c1", "hello", { whole: true });
      await before.advance(0);
      first.platform.onTheWay = async () => {};
    });
    await platform.say("c1", "again", { whole: true });
    await clock.advance(HOLD_MS - 1);
    expect(platform.textsIn("c1")).toEqual([]);
    await clock.advance(31_000);
    expect(platform.textsIn("c1")).toEqual(["(sent again)\nheard: hello", "heard: again"]);
  });

  it("fetches what another was fetching when that was killed, and counts it", async () => {
    const { platform, clock, second } = await afterKill({}, async (first, before) => {
      first.platform.files.set(
        "f1",
        (async function* () {
          yield new Uint8Array([1]);
          await never();
        })(),
      );
      const content = [{ type: "unfetched", kind: "file", ref: "f1", declared: {} } as const];
      await first.platform.say("c1", content, { whole: true });
      await before.advance(0);
    });
    platform.files.set("f1", () =>
      (async function* () {
        yield new TextEncoder().encode("notes of a meeting");
      })(),
    );
    await clock.advance(HOLD_MS - 1);
    const row = () =>
      second.database.db.selectFrom("attachment").select(["state", "attempts"]).executeTakeFirst();
    expect(await row()).toEqual({ state: "waiting", attempts: 1 });
    await clock.advance(31_000);
    await platform.until((shown) => shown.length > 0);
    expect(await row()).toEqual({ state: "done", attempts: 2 });
  });

  it("ends a turn that is stopped over another process when it renews its hold", async () => {
    const platform = new ToyPlatform();
    const clock = manualClock();
    const first = await testGateway({ others: true, platform, clock, answer: never });
    opened.push(first);
    await platform.say("c1", "hello", { whole: true });
    await clock.advance(0);
    // As the other process has it: the fact alone, without a word to the one that runs the turn.
    await first.database.db
      .updateTable("chat")
      .set((eb) => ({ stop_epoch: eb.ref("epoch") }))
      .execute();
    await clock.advance(20_000);
    const [turn] = await first.database.db.selectFrom("turn").select("state").execute();
    expect([turn?.state, platform.textsIn("c1")]).toEqual(["stopped", []]);
  });
});
