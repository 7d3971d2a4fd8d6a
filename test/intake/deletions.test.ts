import { afterEach, describe, expect, it } from "vitest";
import type { AgentTurn } from "../../src/core/agent.ts";
import type { MessageEvent } from "../../src/core/events.ts";
import { manualClock, type ManualClock } from "../support/clock.ts";
import { testGateway, type TestGateway, type TestGatewayOptions, textOf } from "../support/gateway.ts";

type World = TestGateway & { readonly clock: ManualClock };

const opened: World[] = [];
afterEach(async () => {
  for (const at of opened.splice(0)) {
    const closed = at.close();
    await at.clock.advance(0); // turns that never end are given back when the grace is over
    await closed;
  }
});

async function setUp(options: TestGatewayOptions = {}): Promise<World> {
  const clock = manualClock();
  const gateway = await testGateway({ clock, ...options });
  const at = { ...gateway, clock };
  opened.push(at);
  return at;
}

const GROUP = { chat: "g1", kind: "group" } as const;
const take = ({ platform }: World, ...messages: readonly MessageEvent[]): Promise<void> =>
  platform.remove(messages[0]!.place, ...messages.map(({ ref }) => ref));

async function fates({ database }: World): Promise<readonly string[]> {
  const rows = await database.db.selectFrom("inbox").select(["state", "why"]).orderBy("id").execute();
  return rows.map(({ state, why }) => (why === "" ? state : `${state}: ${why}`));
}

describe("a message that is taken back before its turn", () => {
  it("is none, and what was said with it is answered", async () => {
    const at = await setUp();
    const first = await at.platform.say("c1", "ignore me");
    await at.platform.say("c1", "hello");
    await take(at, first);
    await at.clock.advance(1_000);
    expect(at.asked.map(textOf)).toEqual(["hello"]);
    await take(at, first);
    await at.platform.edit(first, "no, do not");
    await at.clock.advance(60_000);
    expect(at.asked).toHaveLength(1);
    expect(await fates(at)).toEqual([
      "withdrawn: taken back",
      "consumed",
      "consumed",
      "refused: its message was withdrawn: taken back",
      "refused: its message was withdrawn: taken back",
    ]);
    const payloads = await at.database.db.selectFrom("inbox").select("payload").distinct().execute();
    expect(payloads).toEqual([{ payload: "" }]);
  });

  it("holds up nobody with a file that was still on its way", async () => {
    const at = await setUp();
    at.platform.files.set("slow", { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) });
    const slow = await at.platform.say("c1", [
      { type: "unfetched", kind: "file", ref: "slow", declared: { filename: "slow.txt" } },
    ]);
    await at.platform.say("c1", "what is it?");
    await at.clock.advance(5_000);
    expect(at.asked).toHaveLength(0);
    await take(at, slow);
    await at.clock.advance(0);
    expect(at.asked.map(textOf)).toEqual(["what is it?"]);
  });

  it("starts no turn where nothing else was said", async () => {
    const at = await setUp();
    const [one, two] = [await at.platform.say("c1", "one"), await at.platform.say("c1", "two")];
    await take(at, one, two);
    await at.clock.advance(60_000);
    expect([at.asked, at.platform.shown, at.platform.progress]).toEqual([[], [], []]);
  });

  it("is not told of to anybody where it was not for the agent", async () => {
    const at = await setUp({ rules: { context: 5 } });
    const aside = await at.platform.say("g1", "lunch?", { place: GROUP, addressed: false });
    await take(at, aside);
    await at.platform.say("g1", "bot, hello", { place: GROUP });
    await at.clock.advance(1_000);
    expect(at.asked.map(textOf)).toEqual(["[from Ada (1)] bot, hello"]);
  });
});

describe("a message that is taken back after its turn", () => {
  it("is told of with the next message, without what it said", async () => {
    const at = await setUp();
    const [one, two] = [
      await at.platform.say("c1", "one", { whole: true }),
      await at.platform.say("c1", "two", { whole: true }),
    ];
    await at.clock.advance(0);
    await take(at, one, two);
    await at.platform.repeat();
    await at.clock.advance(60_000);
    expect(at.asked).toHaveLength(2);
    await at.platform.say("c1", "three", { whole: true });
    await at.clock.advance(0);
    expect(textOf(at.asked[2]!)).toBe(
      "[taken back: an earlier message, from 2023-11-14 22:13 UTC]\n" +
        "[taken back: the message that you answered last, from 2023-11-14 22:13 UTC] three",
    );
    await take(at, one);
    expect((await fates(at)).at(-1)).toBe("refused: its message was taken back");
  });

  it("takes its edits with it", async () => {
    const at = await setUp({ rules: { edits: { running: "wait", answered: "rerun" } } });
    const message = await at.platform.say("c1", "one", { whole: true });
    await at.clock.advance(0);
    await at.platform.edit(message, "two");
    await take(at, message);
    await at.clock.advance(60_000);
    expect(at.asked).toHaveLength(1);
    await at.platform.say("c1", "three", { whole: true });
    await at.clock.advance(0);
    expect(textOf(at.asked[1]!)).toMatch(/^\[taken back: the message that you answered last,[^>]* three$/);
  });

  it("is told of in a group by whose it was", async () => {
    const at = await setUp({ rules: { context: 5 } });
    const bob = { place: GROUP, from: { id: "bob", name: "Bob" } };
    const overheard = await at.platform.say("g1", "lunch?", { ...bob, addressed: false });
    const asked = await at.platform.say("g1", "bot, hello", { place: GROUP });
    await at.clock.advance(1_000);
    await take(at, asked, overheard);
    await at.platform.say("g1", "bot, again", bob);
    await at.clock.advance(1_000);
    expect(textOf(at.asked[1]!)).toBe(
      "[taken back: the message that you answered last, from 2023-11-14 22:13 UTC, by (1)]\n" +
        "[taken back: an earlier message, from 2023-11-14 22:13 UTC, by (2)] [from Bob (2)] bot, again",
    );
  });

  it("leads to nothing where it is not known, was a command, or its thread was ended", async () => {
    const at = await setUp();
    const message = await at.platform.say("c1", "one", { whole: true });
    await at.clock.advance(0);
    const command = await at.platform.say("c1", "/new");
    await at.platform.remove(message.place, "m99", command.ref, message.ref);
    await at.platform.say("c1", "two", { whole: true });
    await at.clock.advance(0);
    expect(at.asked.map(textOf)).toEqual(["one", "two"]);
    expect((await fates(at)).slice(2, 5)).toEqual([
      "refused: its message is not known here",
      "refused: its message was a command",
      "refused: its thread was ended",
    ]);
  });
});

describe("a message that is taken back while it is answered", () => {
  it.each([
    ["wait", []],
    ["steer", ["[taken back while you answer: the message that you answer, or a part of it]"]],
  ] as const)("is told of to the running agent where that is wanted: %s", async (running, told) => {
    let turn: AgentTurn | undefined;
    let finish = (_words: string): void => {};
    const at = await setUp({
      rules: { edits: { running, answered: "rerun" } },
      answer: (of) => {
        turn = of;
        return new Promise((resolve) => (finish = resolve));
      },
    });
    const message = await at.platform.say("c1", "one", { whole: true });
    await at.clock.advance(0);
    await take(at, message);
    expect(turn?.corrections?.().map(({ text }) => text)).toEqual(told);
    finish("fine");
    await at.clock.advance(60_000);
    expect(at.platform.textsIn("c1")).toEqual(["fine"]);
    await at.platform.say("c1", "two", { whole: true });
    await at.clock.advance(0);
    expect(textOf(at.asked[1]!)).toMatch(/^\[taken back: the message that you answered last,.* two$/);
  });
});
