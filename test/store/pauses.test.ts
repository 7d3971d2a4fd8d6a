import { expect, it } from "vitest";
import type { PieceBody } from "../../src/core/channel.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { plainText } from "../../src/core/rendered.ts";
import { currentThread } from "../../src/store/chats.ts";
import { keptMessages, PAUSED, takeUp } from "../../src/store/kept.ts";
import {
  liftPause,
  pauseByCommand,
  pauseByHand,
  pausedUntil,
  UNTIL_RESUMED,
} from "../../src/store/pauses.ts";
import { type Claim, claimTurn, commitTurn } from "../../src/store/turns.ts";
import { eachDatabase } from "../support/database.ts";
import { type Taking, takingIn } from "../intake/set-up.ts";

const CHAT = 1 as ChatId;
const MINUTE = 60_000;
const WORDS: PieceBody = { kind: "text", rendered: plainText("done") };

eachDatabase("a pause", (open) => {
  async function setUp() {
    const database = await open();
    const at = takingIn(database);
    const { db } = database;
    const now = (): number => at.clock.now();
    return {
      ...at,
      database,
      claim: (): Promise<Claim> =>
        claimTurn(database, CHAT, { owner: "me", now: now(), until: now() + MINUTE, isOpen: () => true }),
      pause: (until: number) =>
        db.transaction().execute((trx) => pauseByCommand(trx, CHAT, { until, why: PAUSED, now: now() })),
      paused: () => pausedUntil(db, CHAT, now()),
    };
  }

  const running = async (at: Taking & { claim(): Promise<Claim> }) => {
    const claim = await at.claim();
    if (claim.kind !== "turn") throw new Error(`nothing was claimed: ${claim.kind}`);
    return claim.turn;
  };

  const end = (at: Taking, turn: Awaited<ReturnType<typeof running>>) =>
    commitTurn(at.database, turn, {
      state: "done",
      messages: "consumed",
      error: "",
      pieces: [{ chat: CHAT, to: turn.to, turn: turn.id, seq: 0, body: WORDS }],
      now: at.clock.now(),
    }).catch((error: unknown) => error);

  it("has a turn that ends after it send nothing, and keeps what that was of", async () => {
    const at = await setUp();
    await at.say("ada", "first");
    const turn = await running(at);
    expect(await at.pause(UNTIL_RESUMED)).toBe(true);
    // It has not heard of that yet, and then it has.
    expect(await end(at, turn)).toMatchObject({ code: "turn.stopped" });
    await commitTurn(at.database, turn, {
      state: "stopped",
      messages: "consumed",
      error: "turn.stopped",
      pieces: [],
      now: at.clock.now(),
    });
    expect([await at.planned(), await at.fates()]).toEqual([[], [`aside: ${PAUSED}`]]);
    expect((await keptMessages(at.database.db, CHAT)).map(({ begun }) => begun)).toEqual([true]);
  });

  it("that is over when its turn ends has the messages wait again, as they were", async () => {
    const at = await setUp();
    await at.say("ada", "first");
    const turn = await running(at);
    await at.pause(UNTIL_RESUMED);
    await at.database.db.transaction().execute((trx) => liftPause(trx, CHAT));
    await commitTurn(at.database, turn, {
      state: "stopped",
      messages: "consumed",
      error: "turn.stopped",
      pieces: [],
      now: at.clock.now(),
    });
    expect(await running(at)).toMatchObject({ intent: turn.intent, again: true });
  });

  it("leaves a turn that begins after it alone", async () => {
    const at = await setUp();
    await at.say("ada", "first");
    await at.pause(at.clock.now() + MINUTE);
    await at.clock.advance(MINUTE);
    await at.say("ada", "second");
    expect(await end(at, await running(at))).toBe(false);
    expect((await at.planned()).map(({ text }) => text)).toEqual(["done"]);
  });

  it("by hand ends none that a command holds longer, and one by command whatever there was", async () => {
    const at = await setUp();
    await at.say("ada", "/status");
    const hand = (until: number) =>
      at.database.db
        .transaction()
        .execute((trx) => pauseByHand(trx, CHAT, { until, why: "by hand", now: at.clock.now() }));
    const start = at.clock.now();
    await hand(start + 10 * MINUTE);
    await at.pause(start + 2 * MINUTE);
    expect(await at.paused()).toBe(start + 2 * MINUTE);
    await hand(start + MINUTE);
    expect(await at.paused()).toBe(start + 2 * MINUTE);
    await at.clock.advance(2 * MINUTE);
    expect(await at.paused()).toBe(0);
  });

  it("gives what was kept back as one intent, which comes late", async () => {
    const at = await setUp();
    await at.say("ada", "/help");
    await at.pause(UNTIL_RESUMED);
    for (const words of ["one", "two"]) await at.say("ada", words);
    await at.database.db.transaction().execute(async (trx) => {
      const [first, ...more] = await keptMessages(trx, CHAT);
      if (!first) throw new Error("nothing was kept");
      await liftPause(trx, CHAT);
      const of = {
        chat: CHAT,
        channel: "toy",
        agent: "helper",
        thread: await currentThread(trx, CHAT, "helper"),
      };
      await takeUp(trx, [first, ...more], { ...of, now: at.clock.now() });
    });
    const { messages } = await running(at);
    expect(messages.map(({ event, late }) => [event.type === "message" && event.content, late])).toEqual([
      [[{ type: "text", text: "one" }], "paused"],
      [[{ type: "text", text: "two" }], "paused"],
    ]);
  });
});
