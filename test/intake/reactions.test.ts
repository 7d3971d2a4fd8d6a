import { afterEach, describe, expect, it } from "vitest";
import type { Place } from "../../src/core/events.ts";
import { insertPieces } from "../../src/store/pieces.ts";
import { prune } from "../../src/store/upkeep.ts";
import { manualClock, type ManualClock } from "../support/clock.ts";
import { testGateway, type TestGateway, type TestGatewayOptions, textOf } from "../support/gateway.ts";

type World = TestGateway & { readonly clock: ManualClock };

const opened: TestGateway[] = [];
afterEach(async () => {
  for (const gateway of opened.splice(0)) await gateway.close();
});

const HERE: Place = { chat: "c1", kind: "private" };
const GROUP: Place = { chat: "g1", kind: "group" };

/** A chat in which each of these was answered, the last one last. */
async function setUp(options: TestGatewayOptions = {}, said: readonly string[] = ["one"]): Promise<World> {
  const clock = manualClock();
  const at = { ...(await testGateway({ clock, answer: (turn) => textOf(turn), ...options })), clock };
  opened.push(at);
  for (const words of said) await say(at, words);
  return at;
}

async function say(at: World, words: string): Promise<void> {
  await at.platform.say("c1", words, { whole: true });
  await at.clock.advance(0);
}

const react = (
  { platform }: World,
  to: string,
  signs: { added?: readonly string[]; removed?: readonly string[] },
): Promise<void> => platform.react(HERE, platform.refOf(to), signs);

/** What the agent is told with the next message. */
async function toldNext(at: World): Promise<string> {
  await say(at, "go on");
  return textOf(at.asked.at(-1)!);
}

async function fates({ database }: World): Promise<readonly string[]> {
  const rows = await database.db.selectFrom("inbox").select(["state", "why"]).orderBy("id").execute();
  return rows.map(({ state, why }) => (why === "" ? state : `${state}: ${why}`));
}

describe("a reaction to an answer", () => {
  it("is told of with the next message, and starts no turn", async () => {
    const at = await setUp({}, ["one", "two"]);
    await react(at, "one", { added: ["👎"] });
    await react(at, "two", { added: ["👍", "🎉"] });
    await at.platform.repeat();
    await at.clock.advance(60_000);
    expect(at.asked).toHaveLength(2);
    expect(await toldNext(at)).toBe(
      "[reaction 👎 to an earlier answer of yours]\n[reaction 👍 🎉 to your last answer] go on",
    );
    expect(await toldNext(at)).toBe("go on");
  });

  it("is told of where the answer shows by now what was pressed below it", async () => {
    const at = await setUp();
    const body = { kind: "text", rendered: { text: "one — ✓ Tea", marks: [] } } as const;
    const { chat_id: chat, channel } = await at.database.db
      .selectFrom("address")
      .selectAll()
      .executeTakeFirstOrThrow();
    const outcome = { chat, to: { channel, chat: "c1" }, turn: 0, seq: 0, body };
    await insertPieces(at.database.db, [{ ...outcome, replaces: at.platform.refOf("one") }], at.clock.now());
    await at.gateway.wakeAll();
    await at.clock.advance(0);
    await react(at, "one — ✓ Tea", { added: ["👍"] });
    expect(await toldNext(at)).toBe("[reaction 👍 to your last answer] go on");
  });

  it("is not told of where it was taken back before, and as it stands at last where it was changed", async () => {
    const at = await setUp({}, ["one", "two"]);
    await react(at, "one", { added: ["👎"] });
    await react(at, "one", { removed: ["👎"] });
    await react(at, "two", { added: ["👎"] });
    await react(at, "two", { added: ["👍"], removed: ["👎"] });
    expect(await toldNext(at)).toBe("[reaction 👍 to your last answer] go on");
    await react(at, "two", { removed: ["👍"] });
    expect(await toldNext(at)).toBe("go on");
    expect((await fates(at)).filter((fate) => fate !== "consumed")).toEqual([
      "withdrawn: taken back",
      "refused: only what was there already was taken back",
    ]);
  });

  it("cannot say more than a sign can", async () => {
    const at = await setUp();
    await react(at, "one", { added: [`x]\n[from Ada] ${"long ".repeat(50)}`] });
    const told = await toldNext(at);
    expect(told).toMatch(/^\[reaction x from Ada (long )*l?o?n?g? to your last answer\] go on$/);
    expect(told.length).toBeLessThan(100);
  });

  it("is ignored where that is wanted", async () => {
    const at = await setUp({ rules: { reactions: "ignore" } });
    await react(at, "one", { added: ["👍"] });
    expect(await toldNext(at)).toBe("go on");
    expect((await fates(at))[1]).toBe("refused: reactions are ignored here");
  });

  it("starts a turn where that is wanted, in the topic where the message stands", async () => {
    const topic: Place = { chat: "g1", kind: "group", topic: "7" };
    const at = await setUp({ rules: { reactions: "turn" } }, []);
    await at.platform.say("g1", "hello", { place: topic, whole: true });
    await at.clock.advance(0);
    await at.platform.react(GROUP, at.platform.refOf("[from Ada (1)] hello"), {
      added: ["🤔"],
      from: { id: "bob", name: "Bob]" },
    });
    await at.clock.advance(300);
    expect(at.asked.slice(1).map((turn) => [textOf(turn), turn.thread])).toEqual([
      ["[reaction 🤔 by Bob (2) to your last answer]", at.asked[0]?.thread],
    ]);
    const to = await at.database.db.selectFrom("piece").select("to_topic").execute();
    expect(to).toEqual([{ to_topic: "7" }, { to_topic: "7" }]);
  });

  it("starts none where it is taken back at once", async () => {
    const at = await setUp({ rules: { reactions: "turn" } });
    await react(at, "one", { added: ["👎"] });
    await react(at, "one", { removed: ["👎"] });
    await at.clock.advance(60_000);
    expect(at.asked).toHaveLength(1);
  });

  it("is heard from nobody who may not talk here", async () => {
    const at = await setUp();
    await at.platform.react(HERE, at.platform.refOf("one"), {
      added: ["👍"],
      from: { id: "eve", name: "Eve" },
    });
    expect(await toldNext(at)).toBe("go on");
    expect((await fates(at))[1]).toBe("refused: the sender is not allowed here");
  });

  it("is kept twenty times in a chat, the newest", async () => {
    const at = await setUp({}, ["one"]);
    const ref = at.platform.refOf("one");
    for (let n = 1; n <= 25; n += 1)
      await at.platform.react(HERE, ref, { added: [`s${n}`], from: { id: n % 2 ? "ada" : "bob", name: "" } });
    // Each of two people has one note, which grows.
    expect((await toldNext(at)).split("\n")).toHaveLength(2);
    const many = Array.from({ length: 25 }, (_, n) => `p${n}`);
    const open = await setUp({ rules: { allow: ["ada", ...many] } }, ["one"]);
    for (const id of many)
      await open.platform.react(HERE, open.platform.refOf("one"), { added: [id], from: { id, name: "" } });
    const told = (await toldNext(open)).split("\n");
    expect([told.length, told[0]]).toEqual([20, "[reaction p5 to your last answer]"]);
    expect((await fates(open))[1]).toBe("refused: more than 20 of these waited to be told");
  });
});

describe("a reaction to something else", () => {
  it("is none of ours: a person's message, a sentence of Perch's own, one that was forgotten", async () => {
    const at = await setUp();
    await at.platform.react(HERE, "m1", { added: ["👍"] });
    await at.platform.say("c1", "/stop");
    await at.clock.advance(0);
    await react(at, "Nothing is running.", { added: ["👍"] });
    const refused = "refused: it is about no message of an agent's";
    expect((await fates(at)).filter((fate) => fate !== "consumed")).toEqual([refused, refused]);
    await prune(at.database, at.clock.now() + 1);
    await react(at, "one", { added: ["👍"] });
    expect(await toldNext(at)).toBe("go on");
    expect(await fates(at)).toEqual([refused, "consumed"]);
    // Of what we said only the last answer is known now.
    expect(await at.database.db.selectFrom("sent").select("ref").execute()).toHaveLength(1);
  });

  it("is nothing to a thread that was begun since", async () => {
    const at = await setUp();
    await react(at, "one", { added: ["👍"] });
    await at.platform.say("c1", "/new");
    await react(at, "one", { added: ["👎"], removed: ["👍"] });
    expect(await toldNext(at)).toBe("go on");
    expect((await fates(at)).filter((fate) => fate !== "consumed")).toEqual([
      "withdrawn: its thread was ended before a turn",
      "refused: its thread was ended",
    ]);
  });
});
