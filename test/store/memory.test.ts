import { expect, it } from "vitest";
import type { ChatId } from "../../src/core/identity.ts";
import type { Fact, FactOwner } from "../../src/core/memory.ts";
import type { Database } from "../../src/store/database.ts";
import {
  beginWork,
  finishWork,
  giveUp,
  nextDue,
  openMemory,
  putOff,
  touch,
  type Touch,
} from "../../src/store/memory.ts";
import { factsOf, forgetFact } from "../../src/store/memory-facts.ts";
import { saidByOthers } from "../../src/store/unsaid.ts";
import { moveChatsMemory, movePersonsMemory } from "../../src/store/memory-moves.ts";
import { renameChannel } from "../../src/store/rename.ts";
import { eachDatabase } from "../support/database.ts";

const ADA: FactOwner = { scope: "person", channel: "toy", subject: "ada", agent: "helper" };
const CHAT = 7 as ChatId; // a chat of the test's own

async function touched(database: Database, now: number, more: Partial<Touch> = {}): Promise<void> {
  const of: Touch = {
    owner: ADA,
    thread: "7/helper/1",
    chat: CHAT,
    signals: [],
    quietMs: 30,
    mostMs: 300,
    ...more,
  };
  await database.light((trx) => touch(trx, of, now));
}

async function remember(database: Database, owner: FactOwner, ...contents: readonly string[]): Promise<void> {
  // A thread is of one chat, and so of one connection.
  await touched(database, 1, { owner, quietMs: 0, thread: `${owner.channel.length}/helper/1` });
  const work = await beginWork(database, owner, { now: 1 });
  const added = contents.map((content) => ({ content, confidence: 0.5, saidAt: "2026-01-01T00:00:00.000Z" }));
  const decide = () => ({ added, changed: [], removed: [] });
  await finishWork(database, work!, { upTo: "m", more: false, now: 1, decide });
}

const nothing = { upTo: "m1", more: false, decide: () => ({ added: [], changed: [], removed: [] }) };

eachDatabase("what is to be gone through for memory", (open) => {
  it("is due so long after the last turn, and at the latest so long after the first", async () => {
    const database = await open();
    const due: (number | undefined)[] = [];
    for (const now of [1_000, 1_020, 1_049, 1_200, 1_290, 1_400]) {
      await touched(database, now);
      due.push(await nextDue(database.db, ADA));
    }
    expect(due).toEqual([1_030, 1_050, 1_079, 1_230, 1_300, 1_300]);
    expect(await openMemory(database.db)).toEqual([{ owner: ADA, chat: 7, at: 1_300 }]);
  });

  it("is one row for all turns of a thread and person, with what was heard in any of them", async () => {
    const database = await open();
    await touched(database, 1_000, { signals: ["correction"] });
    await touched(database, 1_010, { signals: ["reinforcement"] });
    await touched(database, 1_020);
    const work = await beginWork(database, ADA, { due: 1_050, now: 1_050 });
    expect(work).toMatchObject({
      signals: ["correction", "reinforcement"],
      attempt: 1,
      touches: 3,
      after: "",
    });
    await finishWork(database, work!, { ...nothing, now: 1_060 });
    expect(await openMemory(database.db)).toEqual([]);
    await touched(database, 2_000);
    expect(await beginWork(database, ADA, { now: 2_000 })).toMatchObject({
      signals: [],
      after: "m1",
      attempt: 1,
    });
  });

  it("begins with nothing before it is due, unless it is told to", async () => {
    const database = await open();
    await touched(database, 1_000);
    expect(await beginWork(database, ADA, { due: 1_029, now: 1_029 })).toBeUndefined();
    expect(await beginWork(database, ADA, { now: 1_001 })).toMatchObject({ thread: "7/helper/1" });
  });

  it("is done once more where turns came while it ran, in their own quiet window", async () => {
    const database = await open();
    await touched(database, 1_000);
    const work = await beginWork(database, ADA, { due: 1_300, now: 1_300 });
    await touched(database, 1_310);
    await finishWork(database, work!, { ...nothing, now: 1_320 });
    expect(await nextDue(database.db, ADA)).toBe(1_340);
  });

  it("goes on at once with what did not fit", async () => {
    const database = await open();
    await touched(database, 1_000);
    const work = await beginWork(database, ADA, { due: 1_030, now: 1_030 });
    await finishWork(database, work!, { ...nothing, more: true, now: 1_035 });
    expect(await beginWork(database, ADA, { due: 1_035, now: 1_035 })).toMatchObject({
      after: "m1",
      attempt: 1,
    });
  });

  it("is tried again later where it failed, not sooner because people go on, with the watermark where it was", async () => {
    const database = await open();
    await touched(database, 1_000);
    const work = await beginWork(database, ADA, { due: 1_030, now: 1_030 });
    await putOff(database, work!, { until: 5_000, counted: true });
    await touched(database, 1_100);
    expect(await nextDue(database.db, ADA)).toBe(5_000);
    const again = await beginWork(database, ADA, { due: 5_000, now: 5_000 });
    expect(again).toMatchObject({ attempt: 2, after: "" });
    // What we have ended ourselves is no try.
    await putOff(database, again!, { until: 6_000, counted: false });
    expect(await beginWork(database, ADA, { due: 6_000, now: 6_000 })).toMatchObject({ attempt: 2 });
  });

  it("is given up until the next turn, or begun with one that came meanwhile", async () => {
    const database = await open();
    await touched(database, 1_000);
    await giveUp(database, (await beginWork(database, ADA, { now: 1_030 }))!);
    expect(await openMemory(database.db)).toEqual([]);
    await touched(database, 2_000);
    const work = await beginWork(database, ADA, { now: 2_030 });
    expect(work).toMatchObject({ attempt: 1 });
    await touched(database, 2_040);
    await giveUp(database, work!);
    expect(await nextDue(database.db, ADA)).toBe(2_070);
  });

  it("knows what others have said in the thread of a private chat", async () => {
    const database = await open();
    const row = (intent: number, sender: string, thread = "7/helper/1") => ({
      channel: "toy",
      chat_id: CHAT,
      event_key: `${intent}`,
      payload_hash: "",
      type: "message" as const,
      payload: "",
      content_hash: "",
      sender,
      ref: "",
      about: 0,
      state: "consumed" as const,
      why: "",
      agent: "helper",
      thread,
      intent,
      album: "",
      received_at: 1,
      due_at: 1,
      claims: 1,
      turn_id: 1,
      ended_at: 1,
      trace: "{}",
    });
    const rows = [row(1, "ada"), row(2, "bob"), row(3, "bob", "7/helper/2"), row(0, "eve")];
    await database.db.insertInto("inbox").values(rows).execute();
    const of = { chat: CHAT, thread: "7/helper/1", owner: ADA };
    expect(await saidByOthers(database.db, of)).toEqual(["intent-2"]);
    expect(await saidByOthers(database.db, { ...of, owner: { ...ADA, scope: "chat" } })).toEqual([]);
  });
});

eachDatabase("facts", (open) => {
  const contents = async (database: Database, owner: FactOwner): Promise<readonly string[]> =>
    (await factsOf(database.db, owner)).map(({ id, content }) => `${id} ${content}`);

  it("belong to one person or group, one agent and one connection", async () => {
    const database = await open();
    const owners: readonly FactOwner[] = [
      ADA,
      { ...ADA, scope: "chat" },
      { ...ADA, subject: "bob" },
      { ...ADA, agent: "other" },
      { ...ADA, channel: "other" },
    ];
    for (const [at, owner] of owners.entries()) await remember(database, owner, `of ${at}`);
    for (const [at, owner] of owners.entries())
      expect(await contents(database, owner)).toEqual([`1 of ${at}`]);
  });

  it("change by their numbers, and of this owner alone", async () => {
    const database = await open();
    await remember(database, ADA, "one", "two", "three");
    await remember(database, { ...ADA, subject: "bob" }, "bob's");
    await touched(database, 10);
    const work = await beginWork(database, ADA, { now: 10 });
    const seen: Fact[] = [];
    await finishWork(database, work!, {
      upTo: "m",
      more: false,
      now: 10,
      decide(known) {
        seen.push(...known);
        return {
          added: [{ content: "four", confidence: 1, saidAt: "2026-02-01T00:00:00.000Z" }],
          changed: [{ ...known[1]!, content: "TWO", confidence: 0.25 }],
          removed: [1],
        };
      },
    });
    expect(seen.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(await factsOf(database.db, ADA)).toEqual([
      { id: 2, content: "TWO", confidence: 0.25, saidAt: "2026-01-01T00:00:00.000Z" },
      { id: 3, content: "three", confidence: 0.5, saidAt: "2026-01-01T00:00:00.000Z" },
      { id: 4, content: "four", confidence: 1, saidAt: "2026-02-01T00:00:00.000Z" },
    ]);
    expect(await contents(database, { ...ADA, subject: "bob" })).toEqual(["1 bob's"]);
  });

  it("are forgotten by their number, and what was said until then is known as such", async () => {
    const database = await open();
    await remember(database, ADA, "one", "two");
    await touched(database, 10);
    const work = await beginWork(database, ADA, { now: 10 });
    const forget = (number: number) =>
      database.db.transaction().execute((trx) => forgetFact(trx, ADA, { number, since: 9 }));
    expect([await forget(1), await forget(1), await forget(99)]).toEqual([true, false, false]);
    const until: number[] = [];
    await finishWork(database, work!, {
      ...nothing,
      now: 11,
      decide: (_known, since) => (until.push(since), nothing.decide()),
    });
    expect(until).toEqual([9]);
    expect(await contents(database, ADA)).toEqual(["2 two"]);
  });

  it("follow their person to another id, their group to another chat, and both to another name of the connection", async () => {
    const database = await open();
    await remember(database, ADA, "ada's");
    await remember(database, { ...ADA, subject: "ada2" }, "new one's");
    await remember(database, { ...ADA, scope: "chat", subject: "3" }, "the group's");
    await database.db.transaction().execute(async (trx) => {
      await movePersonsMemory(trx, { channel: "toy", from: "ada", to: "ada2" });
      await moveChatsMemory(trx, { channel: "toy", from: 3 as ChatId, into: 4 as ChatId });
    });
    await renameChannel(database, "toy", "toy2");
    expect(await contents(database, { ...ADA, channel: "toy2", subject: "ada2" })).toEqual([
      "1 new one's",
      "2 ada's",
    ]);
    expect(await contents(database, { ...ADA, channel: "toy2", scope: "chat", subject: "4" })).toEqual([
      "1 the group's",
    ]);
    expect(await contents(database, ADA)).toEqual([]);
  });

  it("hides one that no date can be read of, and no others", async () => {
    const database = await open();
    await remember(database, ADA, "likes tea", "has a dog");
    await database.db
      .updateTable("memory_fact")
      .set({ said_at: 9e15 })
      .where("content", "=", "likes tea")
      .execute();
    expect((await factsOf(database.db, ADA)).map(({ content }) => content)).toEqual(["has a dog"]);
  });
});
