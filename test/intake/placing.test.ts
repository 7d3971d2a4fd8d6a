import { expect, it } from "vitest";
import type { MessageEvent } from "../../src/core/events.ts";
import { laneOf } from "../../src/store/lane.ts";
import { isAnswered, newestWaiting, shownWaiting } from "../../src/store/queued.ts";
import { markSigned, signedRefs } from "../../src/store/signs.ts";
import { claimTurn } from "../../src/store/turns.ts";
import { eachDatabase } from "../support/database.ts";
import { OPEN_TO_ADA } from "../support/gateway.ts";
import { type Taking, takingIn } from "./set-up.ts";

const BOB = { id: "bob", name: "Bob" };
const GROUP = { place: { chat: "g", kind: "group" } } as const;

eachDatabase("where a message stands", (open) => {
  /** With a turn that runs in the only chat. */
  async function setUp(rules: Parameters<typeof takingIn>[1] = {}): Promise<Taking> {
    const taking = takingIn(await open(), { allow: ["ada", "bob"], during: "queue", ...rules });
    await taking.say("ada", "one", GROUP);
    const now = taking.clock.now();
    await claimTurn(taking.database, await chatIn(taking), {
      owner: "me",
      now,
      until: now + 600_000,
      isOpen: () => true,
    });
    taking.effects.splice(0);
    return taking;
  }

  async function chatIn({ database }: Taking): Promise<Parameters<typeof claimTurn>[1]> {
    return (await database.db.selectFrom("chat").select("id").executeTakeFirstOrThrow()).id;
  }

  /** The intent of each message that waits, in order. */
  async function intents({ database }: Taking): Promise<readonly number[]> {
    const rows = await database.db
      .selectFrom("inbox")
      .select("intent")
      .where("state", "=", "waiting")
      .orderBy("id")
      .execute();
    return rows.map(({ intent }) => intent);
  }

  it("is behind what runs, with a sign for whoever waits, and an interruption where that is wanted", async () => {
    const taking = await setUp({ during: "interrupt" });
    await taking.say("ada", "two", GROUP);
    const chat = await chatIn(taking);
    expect(taking.effects).toEqual([`turn ${chat}`, `interrupt ${chat}`, "sign e2 reaction"]);
    const lane = await laneOf(taking.database.db, chat, taking.clock.now());
    expect(lane).toMatchObject({ held: true, intents: [{ intent: 2, task: false }], during: "" });
  });

  it("is alone once the hold has run out that nobody renews", async () => {
    const taking = await setUp();
    await taking.clock.advance(600_000);
    await taking.say("ada", "two", GROUP);
    expect(taking.effects).toEqual([`turn ${await chatIn(taking)}`]);
  });

  it("is with the newest that waits of its person, within the bounds, where as much waits as may", async () => {
    const gather = { ...OPEN_TO_ADA.gather, messages: 2 };
    const taking = await setUp({ queueLimit: 2, gather });
    for (const text of ["two", "three"]) await taking.say("ada", text, GROUP);
    await taking.say("bob", "from Bob", { ...GROUP, from: BOB });
    for (const text of ["four", "five"]) await taking.say("ada", text, GROUP);
    expect(await intents(taking)).toEqual([2, 3, 3]);
    expect((await taking.fates()).slice(3)).toEqual([
      "refused: 2 intents wait",
      "waiting",
      "refused: 2 intents wait",
    ]);
    expect(await taking.planned()).toHaveLength(3);
  });

  it("is never one more than may wait, also where thirty come at once", async () => {
    const taking = await setUp({ queueLimit: 5 });
    const event = (n: number): MessageEvent => ({
      type: "message",
      id: `at once ${n}`,
      ref: `at once ${n}`,
      ...GROUP,
      from: { id: "ada", name: "Ada" },
      sentAt: "2026-01-01T00:00:00.000Z",
      content: [{ type: "text", text: String(n) }],
      addressed: true,
      whole: true,
    });
    await Promise.all(Array.from({ length: 30 }, (_, n) => taking.accept(event(n))));
    expect(new Set(await intents(taking)).size).toBe(5);
    const fates = (await taking.fates()).slice(1);
    const [waiting, refused] = ["waiting", "refused: 5 intents wait"].map(
      (fate) => fates.filter((each) => each === fate).length,
    );
    expect([waiting, refused]).toEqual([16, 14]); // five intents, one of them with twelve messages
    const told = (await taking.planned()).map(({ text }) => text.slice(0, 8));
    expect(told.toSorted()).toEqual(["A lot wa", ...Array.from({ length: 14 }, () => "Too much")]);
  });

  it("is told once of an album that is too much, however many items it has", async () => {
    const taking = await setUp({ queueLimit: 1 });
    await taking.say("bob", "waits", { ...GROUP, from: BOB });
    for (let n = 1; n <= 10; n += 1)
      await taking.say("ada", `item ${n}`, { ...GROUP, part: true, albumId: "album" });
    await taking.say("ada", "another", GROUP);
    expect((await taking.fates()).slice(2)).toEqual(
      Array.from({ length: 11 }, () => "refused: 1 intents wait"),
    );
    expect((await taking.planned()).map(({ text }) => text.slice(0, 8))).toEqual(["Too much", "Too much"]);
  });

  it("is counted in characters, also after an edit", async () => {
    const gather = { ...OPEN_TO_ADA.gather, characters: 1_000 };
    const taking = takingIn(await open(), { gather });
    await taking.say("ada", "x".repeat(600), { part: true });
    await taking.say("ada", "x".repeat(400), { part: true });
    await taking.say("ada", "x", { part: true });
    expect(await intents(taking)).toEqual([1, 1, 3]);
    await taking.accept({
      type: "edited",
      id: "edit",
      ref: "e1",
      place: { chat: "ada", kind: "private" },
      from: { id: "ada", name: "ada" },
      sentAt: "2026-01-01T00:00:00.000Z",
      content: [{ type: "text", text: "short" }],
      addressed: true,
    });
    await taking.say("ada", "x".repeat(999), { part: true });
    await taking.say("ada", "x", { part: true });
    expect(await intents(taking)).toEqual([1, 1, 3, 3, 6]);
  });

  it("is told with no word of what it says, and its newest is found by whoever may cancel it", async () => {
    const taking = await setUp();
    await taking.say("ada", "secret", GROUP);
    await taking.say("bob", "another", { ...GROUP, from: BOB });
    const { db } = taking.database;
    const chat = await chatIn(taking);
    const receivedAt = taking.clock.now();
    expect(await shownWaiting(db, chat)).toEqual([
      { id: 2, name: "ada", receivedAt },
      { id: 3, name: "Bob", receivedAt },
    ]);
    expect(await newestWaiting(db, chat, ["ada", "lid:ada"])).toBe("e2");
    expect(await newestWaiting(db, chat, ["eve"])).toBeUndefined();
    expect([await isAnswered(db, chat, ["ada"]), await isAnswered(db, chat, ["bob"])]).toEqual([true, false]);
  });

  it("is signed once, as long as it waits", async () => {
    const taking = await setUp();
    await taking.say("ada", "two", GROUP);
    const { db } = taking.database;
    const chat = await chatIn(taking);
    expect(await markSigned(db, { chat, row: 2, sign: "reaction" })).toBe(true);
    expect(await markSigned(db, { chat, row: 2, sign: "line" })).toBe(false);
    expect(await markSigned(db, { chat, row: 1, sign: "reaction" })).toBe(false);
    expect(await signedRefs(db, chat)).toEqual(["e2"]);
    expect(await signedRefs(db, chat, 3)).toEqual([]);
  });
});
