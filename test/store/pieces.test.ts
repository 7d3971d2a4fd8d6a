import { expect, it } from "vitest";
import type { ChatId } from "../../src/core/identity.ts";
import { chatOf } from "../../src/store/chats.ts";
import type { Database } from "../../src/store/database.ts";
import { insertEvent } from "../../src/store/inbox.ts";
import { insertPieces, type NewPiece, nextPiece, piecesInDoubt } from "../../src/store/pieces.ts";
import { endPiece, markSending, replanPiece } from "../../src/store/sending.ts";
import { knownAround, otherTopicsWritten } from "../../src/store/sent.ts";
import { openWork, prune } from "../../src/store/upkeep.ts";
import { eachDatabase } from "../support/database.ts";

const NOW = 1_700_000_000_000;
const TO = { channel: "toy", chat: "c" };

const chatIn = (database: Database, topic?: string): Promise<ChatId> =>
  database.db.transaction().execute((trx) => {
    const place = { chat: "c", kind: "group", ...(topic === undefined ? {} : { topic }) } as const;
    return chatOf(trx, "toy", place);
  });

const piece = (chat: ChatId, more: Partial<NewPiece> = {}): NewPiece => ({
  chat,
  to: TO,
  turn: 1,
  seq: 0,
  body: { kind: "text", rendered: { text: "x", marks: [] } },
  ...more,
});

/** A piece that was begun and sent at these times after now. */
async function sent(
  database: Database,
  chat: ChatId,
  ids: readonly string[],
  begun: number,
  ended: number,
): Promise<void> {
  await insertPieces(database.db, [piece(chat)], NOW);
  const { id } = (await nextPiece(database, chat))!;
  await markSending(database, id, { now: NOW + begun, settledAt: 0 });
  await endPiece(database, id, { state: "sent", ids, now: NOW + ended });
}

async function said(
  database: Database,
  chat: ChatId,
  ref: string,
  at: number,
  type: "message" | "edited" = "message",
) {
  await database.db.transaction().execute((trx) =>
    insertEvent(trx, {
      type,
      channel: "toy",
      chat,
      key: `${type} ${ref}`,
      payload: "",
      payloadHash: "",
      contentHash: "",
      sender: "ada",
      ref,
      state: "consumed",
      why: "",
      agent: "",
      thread: "",
      intent: 0,
      album: "",
      receivedAt: NOW + at,
      dueAt: NOW,
      trace: { at: NOW, step: "said" },
    }),
  );
}

eachDatabase("where our messages stand", (open) => {
  it("is written down with the end of a piece, once for each message of it, and forgotten with it", async () => {
    const database = await open();
    const chat = await chatIn(database);
    await sent(database, chat, ["7", "8"], 0, 5);
    const rows = await database.db.selectFrom("sent").selectAll().orderBy("ref").execute();
    const row = {
      delivered_at: 0,
      read_at: 0,
      channel: "toy",
      chat: "c",
      chat_id: chat,
      piece_id: rows[0]?.piece_id,
      at: NOW + 5,
    };
    expect(rows).toEqual([
      { ...row, ref: "7" },
      { ...row, ref: "8" },
    ]);
    await prune(database, NOW + 5);
    expect(await database.db.selectFrom("sent").selectAll().execute()).toHaveLength(2);
    await prune(database, NOW + 6);
    expect(await database.db.selectFrom("sent").selectAll().execute()).toEqual([]);
  });

  it("is told of what took its place, and keeps its time", async () => {
    const database = await open();
    const chat = await chatIn(database);
    await sent(database, chat, ["7"], 0, 5);
    await insertPieces(database.db, [piece(chat, { replaces: "7" })], NOW + 100);
    const edit = (await nextPiece(database, chat))!;
    expect(edit.replaces).toBe("7");
    await endPiece(database, edit.id, { state: "sent", ids: ["7"], now: NOW + 110 });
    expect(await database.db.selectFrom("sent").select(["ref", "piece_id", "at"]).execute()).toEqual([
      { ref: "7", piece_id: edit.id, at: NOW + 5 },
    ]);
  });

  it("bounds a lost send by what came before in every topic, and by what was certainly sent later", async () => {
    const database = await open();
    const [chat, topic] = [await chatIn(database), await chatIn(database, "7")];
    await said(database, chat, "1", -30);
    await said(database, topic, "2", -20);
    await sent(database, topic, ["3"], -10, 0);
    const of = { to: TO, begunAt: NOW, overAt: NOW + 1_000 };
    expect(await knownAround(database, of)).toEqual({ before: ["3", "2", "1"], after: [], certain: false });
    // Begun in between, so its message may stand before.
    await sent(database, topic, ["9"], 500, 1_500);
    await said(database, chat, "5", 700);
    await said(database, chat, "1", 800, "edited");
    expect(await knownAround(database, of)).toEqual({
      before: ["3", "2", "1"],
      after: ["5", "9"],
      certain: false,
    });
    await sent(database, chat, ["12"], 2_000, 2_100);
    await sent(database, chat, ["11"], 1_000, 1_050);
    expect(await knownAround(database, of)).toMatchObject({ after: ["11", "12"], certain: true });
  });

  it("gives the nearest of many", async () => {
    const database = await open();
    const chat = await chatIn(database);
    for (let at = 1; at <= 60; at += 1) await said(database, chat, `b${at}`, -at);
    for (let at = 1; at <= 60; at += 1) await said(database, chat, `a${at}`, at);
    const { before, after } = await knownAround(database, { to: TO, begunAt: NOW, overAt: NOW + 1 });
    expect([before.length, after.length]).toEqual([50, 50]);
    expect([before[0], after[0]]).toEqual(["b1", "a1"]);
  });

  it("may be confused with what another topic was sent at that time, and not with earlier and other chats", async () => {
    const database = await open();
    const chat = await chatIn(database);
    const of = { chat, to: TO, begunAt: NOW };
    expect(await otherTopicsWritten(database, of)).toBe(false);
    const topic = await chatIn(database, "7");
    await sent(database, topic, ["3"], -100, -50);
    await sent(database, chat, ["4"], 10, 20);
    expect(await otherTopicsWritten(database, of)).toBe(false);
    await insertPieces(database.db, [piece(topic)], NOW);
    const { id } = (await nextPiece(database, topic))!;
    await markSending(database, id, { now: NOW - 40, settledAt: 0 });
    expect(await otherTopicsWritten(database, of)).toBe(true);
    await endPiece(database, id, { state: "failed", now: NOW - 1 });
    expect(await otherTopicsWritten(database, of)).toBe(false);
  });
});

eachDatabase("a piece", (open) => {
  it("that goes once more is looked for from its first sending on", async () => {
    const database = await open();
    const chat = await chatIn(database);
    await insertPieces(database.db, [piece(chat)], NOW);
    const { id } = (await nextPiece(database, chat))!;
    await markSending(database, id, { now: NOW + 1, settledAt: NOW + 4 });
    expect(await nextPiece(database, chat)).toMatchObject({
      begunAt: NOW + 1,
      notBefore: NOW + 4,
      attempts: 1,
    });
    await replanPiece(database, id, { notBefore: 0, error: "lost", again: true });
    await markSending(database, id, { now: NOW + 9, settledAt: 0 });
    expect(await nextPiece(database, chat)).toMatchObject({ begunAt: NOW + 1, again: true });
    await replanPiece(database, id, { notBefore: 0, error: "not there", again: false });
    await markSending(database, id, { now: NOW + 20, settledAt: 0 });
    expect(await nextPiece(database, chat)).toMatchObject({ begunAt: NOW + 20, again: false });
  });

  it("keeps its body while it is in doubt, and holds up nobody", async () => {
    const database = await open();
    const chat = await chatIn(database);
    await insertPieces(database.db, [piece(chat), piece(chat)], NOW);
    const first = (await nextPiece(database, chat))!;
    await endPiece(database, first.id, { state: "unknown", error: "lost", inDoubt: true, now: NOW + 5 });
    expect(await nextPiece(database, chat)).toMatchObject({ id: first.id + 1 });
    expect(await piecesInDoubt(database, chat)).toMatchObject([
      { id: first.id, state: "unknown", body: first.body, endedAt: NOW + 5, ids: [] },
    ]);
    // The sweep finds its chat, though nothing else is to be sent there.
    await endPiece(database, first.id + 1, { state: "sent", ids: ["7"], now: NOW + 5 });
    expect((await openWork(database, NOW)).deliveries).toEqual([{ chat, at: 0, channel: "toy" }]);
    await endPiece(database, first.id, { state: "unknown", error: "lost", now: NOW + 6 });
    expect(await piecesInDoubt(database, chat)).toEqual([]);
    expect((await openWork(database, NOW)).deliveries).toEqual([]);
  });

  it("asks its question in the transaction that plans it, or not at all", async () => {
    const database = await open();
    const chat = await chatIn(database);
    const asking = piece(chat, { choices: { labels: ["Tea", "Coffee"], person: "ada" } });
    const failing = database.db.transaction().execute(async (trx) => {
      await insertPieces(trx, [asking], NOW);
      throw new Error("the hold is lost");
    });
    await expect(failing).rejects.toThrow("the hold is lost");
    expect(await database.db.selectFrom("question").selectAll().execute()).toEqual([]);
    await database.db.transaction().execute((trx) => insertPieces(trx, [piece(chat), asking], NOW));
    const keys = await database.db.selectFrom("choice").select(["key", "label"]).execute();
    const bodies = await database.db.selectFrom("piece").select("body").orderBy("id").execute();
    const [plain, question] = bodies.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
    expect(plain).not.toHaveProperty("choices");
    expect(question?.["choices"]).toEqual(
      expect.arrayContaining(keys.map(({ key, label }) => ({ label, key }))),
    );
    expect(keys).toHaveLength(2);
  });
});
