import { expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { MessageEvent } from "../../src/core/events.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { chatOf, currentThread } from "../../src/store/chats.ts";
import type { Database } from "../../src/store/database.ts";
import { type TurnEffects, turnEffects } from "../../src/store/effects.ts";
import { insertEvent, openIntent } from "../../src/store/inbox.ts";
import { retryDead } from "../../src/store/queue.ts";
import { abandonTurn } from "../../src/store/turn-ends.ts";
import { type ClaimedTurn, claimTurn, commitTurn } from "../../src/store/turns.ts";
import { prune, recover } from "../../src/store/upkeep.ts";
import { memoryLog } from "../support/channel-host.ts";
import { manualClock } from "../support/clock.ts";
import { eachDatabase } from "../support/database.ts";

const NOW = 1_700_000_000_000;
const EVENT: MessageEvent = {
  type: "message",
  id: "1",
  ref: "1",
  place: { chat: "c", kind: "private" },
  from: { id: "ada", name: "Ada" },
  sentAt: "2026-01-01T00:00:00.000Z",
  content: [{ type: "text", text: "go" }],
  addressed: true,
};
const end = { state: "done", messages: "consumed", error: "", pieces: [], now: NOW } as const;

/** A message that waits to be answered, and how a turn of it is begun. */
async function waiting(database: Database) {
  const { chat, id } = await database.db.transaction().execute(async (trx) => {
    const of = await chatOf(trx, "toy", EVENT.place);
    const inserted = await insertEvent(trx, {
      channel: "toy",
      chat: of,
      key: EVENT.id,
      type: EVENT.type,
      payload: JSON.stringify(EVENT),
      payloadHash: "x",
      contentHash: "",
      sender: EVENT.from.id,
      ref: EVENT.ref,
      state: "waiting",
      why: "",
      agent: "helper",
      thread: await currentThread(trx, of, "helper"),
      intent: 0,
      album: "",
      receivedAt: NOW,
      dueAt: NOW,
      trace: { at: NOW, step: "admitted" },
    });
    if (inserted === undefined) throw new Error("it was there already");
    await openIntent(trx, inserted);
    return { chat: of, id: inserted };
  });
  const claim = async (): Promise<ClaimedTurn> => {
    const claimed = await claimTurn(database, chat, {
      owner: "me",
      now: NOW,
      until: NOW + 60_000,
      isOpen: () => true,
    });
    if (claimed.kind !== "turn" && claimed.kind !== "dead") throw new Error(`no turn, but ${claimed.kind}`);
    return claimed.turn;
  };
  return { chat, id, claim };
}

const closing = new AbortController().signal;

function effectsOf(database: Database, turn: ClaimedTurn): TurnEffects {
  const of = { hold: turn.hold, thread: turn.thread, message: `intent-${turn.intent}`, again: turn.again };
  return turnEffects(database, of, { clock: systemClock, log: memoryLog([]), closing });
}

async function rows(database: Database): Promise<number> {
  const { many } = await database.db
    .selectFrom("effect")
    .select((eb) => eb.fn.countAll<number>().as("many"))
    .executeTakeFirstOrThrow();
  return many;
}

eachDatabase("effects of a turn", (open) => {
  it("are known to its next attempt, in the order in which they were begun", async () => {
    const database = await open();
    const { claim } = await waiting(database);
    const first = await claim();
    expect(first.again).toBe(false);
    const effects = effectsOf(database, first);
    expect([await effects.earlier(), effects.any]).toEqual([[], false]);
    await effects.begin("s/b", "step");
    await effects.begin("s/a", "step");
    await effects.done("s/b", "it went well");
    await recover(database, NOW);
    const second = await claim();
    expect(second.again).toBe(true);
    const known = [
      { call: "s/b", step: "step", result: "it went well" },
      { call: "s/a", step: "step" },
    ];
    const again = effectsOf(database, second);
    expect(await again.earlier()).toEqual(known);
    expect(again.any).toBe(true);
    expect(new Set(await effects.earlier())).toEqual(new Set(known));
  });

  it("may be begun at once", async () => {
    const database = await open();
    const { claim } = await waiting(database);
    const effects = effectsOf(database, await claim());
    const calls = Array.from({ length: 8 }, (_, at) => `s/${at}`);
    await Promise.all(calls.map((call) => effects.begin(call, "step")));
    await Promise.all(calls.map((call) => effects.done(call, call)));
    expect((await effects.earlier()).map(({ call, result }) => `${call} ${result}`).toSorted()).toEqual(
      calls.map((call) => `${call} ${call}`),
    );
    expect(await rows(database)).toBe(8);
    await effects.begin("s/0", "step");
    expect(await rows(database)).toBe(8);
  });

  it("are forgotten with its end, and by no other turn's", async () => {
    const database = await open();
    const { claim, chat } = await waiting(database);
    const turn = await claim();
    await effectsOf(database, turn).begin("s/a", "step");
    const other = {
      chat_id: chat,
      thread: turn.thread,
      message: "intent-999",
      call: "s/a",
      step: "",
      at: NOW,
    };
    await database.db.insertInto("effect").values(other).execute();
    await commitTurn(database, turn, { ...end, effectsOf: `intent-${turn.intent}` });
    expect(await rows(database)).toBe(1);
  });

  it("stay where it was given back, and where its end could not be written", async () => {
    const database = await open();
    const { claim } = await waiting(database);
    const turn = await claim();
    await effectsOf(database, turn).begin("s/a", "step");
    await abandonTurn(database, turn, NOW);
    expect(await rows(database)).toBe(1);
    const next = await claim();
    expect(next.again).toBe(true);
    expect(await effectsOf(database, next).earlier()).toHaveLength(1);
    const stale = { ...next, hold: { ...next.hold, epoch: 1 } };
    await expect(
      commitTurn(database, stale, { ...end, effectsOf: `intent-${next.intent}` }),
    ).rejects.toMatchObject({
      code: "store.hold_lost",
    });
    expect(await rows(database)).toBe(1);
  });

  it("stay with a message that is set aside, until it has been tried again, however old", async () => {
    const database = await open();
    const { claim, id } = await waiting(database);
    const turn = await claim();
    await effectsOf(database, turn).begin("s/a", "step");
    const dead = { ...end, state: "failed", messages: "dead", effectsOf: `intent-${turn.intent}` } as const;
    await commitTurn(database, turn, dead);
    await prune(database, NOW * 2);
    expect(await rows(database)).toBe(1);
    expect(await retryDead(database, id, NOW)).toBe(true);
    const again = await claim();
    expect(await effectsOf(database, again).earlier()).toHaveLength(1);
    await commitTurn(database, again, { ...end, effectsOf: `intent-${again.intent}` });
    expect(await rows(database)).toBe(0);
  });

  it("that nobody came for again are forgotten after a while", async () => {
    const database = await open();
    const row = { chat_id: 1 as ChatId, thread: "1/a/1", message: "m", call: "c", step: "", at: NOW };
    await database.db.insertInto("effect").values(row).execute();
    await prune(database, NOW);
    expect(await rows(database)).toBe(1);
    await prune(database, NOW + 1);
    expect(await rows(database)).toBe(0);
  });

  it("are begun and ended by who holds the chat alone", async () => {
    const database = await open();
    const { claim, chat } = await waiting(database);
    const effects = effectsOf(database, await claim());
    await effects.begin("s/a", "step");
    await database.db.updateTable("chat").set({ owner: "other", epoch: 9 }).where("id", "=", chat).execute();
    const lost = { code: "store.hold_lost" };
    await expect(effects.begin("s/b", "step")).rejects.toMatchObject(lost);
    await expect(effects.done("s/a", "x")).rejects.toMatchObject(lost);
    expect(await effects.earlier()).toEqual([{ call: "s/a", step: "step" }]);
  });
});

eachDatabase("what has had an effect", (open) => {
  it("is written down as soon as that can be, for it has happened", async () => {
    const database = await open();
    const { claim } = await waiting(database);
    const turn = await claim();
    const clock = manualClock();
    const of = { hold: turn.hold, thread: turn.thread, message: "m", again: false };
    let full = true;
    const failing: Database = {
      ...database,
      db: new Proxy(database.db, {
        get(target, name) {
          if (name === "transaction" && full) throw new Error("the disk is full");
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      }),
    };
    const effects = turnEffects(failing, of, { clock, log: memoryLog([]), closing });
    await expect(effects.begin("s/a", "step")).rejects.toThrow("the disk is full");
    full = false;
    await effects.begin("s/a", "step");
    full = true;
    const done = effects.done("s/a", "sent");
    await clock.whenTimer(250);
    full = false;
    await clock.advance(250);
    await done;
    expect(await effects.earlier()).toEqual([{ call: "s/a", step: "step", result: "sent" }]);
  });
});
