import { expect, it } from "vitest";
import type { ChatId, Hold } from "../../src/core/identity.ts";
import type { MessageEvent } from "../../src/core/events.ts";
import { chatOf, currentThread } from "../../src/store/chats.ts";
import type { Database } from "../../src/store/database.ts";
import {
  anybodyAtWork,
  endForget,
  forgetChat,
  noteFiles,
  noteTold,
  pendingForgets,
} from "../../src/store/forget.ts";
import { insertEvent, openIntent } from "../../src/store/inbox.ts";
import { beginWork, finishWork, touch } from "../../src/store/memory.ts";
import { factsOf } from "../../src/store/memory-facts.ts";
import { insertPieces } from "../../src/store/pieces.ts";
import { threadStore } from "../../src/store/threads.ts";
import { claimTurn, commitTurn } from "../../src/store/turns.ts";
import { eachDatabase } from "../support/database.ts";

const SECRET = "the-word-4711";
const NOW = 1_700_000_000_000;

async function said(database: Database, chat: string, key = "m1"): Promise<ChatId> {
  const event: MessageEvent = {
    type: "message",
    id: key,
    ref: key,
    place: { chat, kind: "private" },
    from: { id: chat, name: chat },
    sentAt: "2026-01-01T00:00:00Z",
    content: [{ type: "text", text: SECRET }],
    addressed: true,
  };
  return await database.db.transaction().execute(async (trx) => {
    const id = await chatOf(trx, "toy", event.place);
    const row = await insertEvent(trx, {
      channel: "toy",
      chat: id,
      key,
      type: "message",
      payload: JSON.stringify(event),
      payloadHash: "p",
      contentHash: "c",
      sender: chat,
      ref: key,
      state: "waiting",
      why: "",
      agent: "helper",
      thread: await currentThread(trx, id, "helper"),
      intent: 0,
      album: "",
      receivedAt: NOW,
      dueAt: NOW,
      trace: { at: NOW, step: "admitted" },
    });
    if (row !== undefined) await openIntent(trx, row);
    return id;
  });
}

const forget = (database: Database, chat: ChatId, name: string): Promise<void> =>
  database.db
    .transaction()
    .execute((trx) => forgetChat(trx, { chat, to: { channel: "toy", chat: name }, person: name, now: NOW }));

async function claimed(database: Database, chat: ChatId) {
  const by = { owner: "me", now: NOW, until: NOW + 60_000, isOpen: () => true };
  const claim = await claimTurn(database, chat, by);
  if (claim.kind !== "turn") throw new Error(`there is no turn: ${claim.kind}`);
  return claim.turn;
}

function checkpoint(thread: string, id = "1") {
  return {
    thread,
    namespace: "",
    id,
    parent: "",
    root: id,
    body: SECRET,
    metadata: { type: "json", mark: "", bytes: Buffer.from("{}"), lists: [], messages: [] },
    values: [],
    inherited: [],
    prune: false,
    rewritten: false,
    messages: [{ key: `${"h".repeat(22)}:${id}`, mark: "", body: Buffer.from(SECRET) }],
    lists: [],
    needs: { messages: [], lists: [] },
  };
}

eachDatabase("all of a chat", (open) => {
  it("is deleted in one transaction but for what recognises repeats, with a count", async () => {
    const database = await open();
    const chat = await said(database, "ada");
    const other = await said(database, "bob");
    const turn = await claimed(database, chat);
    await threadStore(database).put(checkpoint(turn.thread));
    await threadStore(database).put(checkpoint(`${chat}0/helper/1`));
    const body = { kind: "text", rendered: { text: SECRET, marks: [] } } as const;
    const choices = { labels: [SECRET], person: "" };
    const piece = { chat, to: turn.to, turn: turn.id, seq: 0, body, choices };
    await database.db.transaction().execute((trx) => insertPieces(trx, [piece], NOW));
    await forget(database, chat, "ada");

    const [pending] = await pendingForgets(database.db);
    expect(pending).toMatchObject({
      chat,
      files: undefined,
      told: false,
      counts: { messages: 2, checkpoints: 1, facts: 0, media: 0 },
    });
    const rows = await database.db
      .selectFrom("inbox")
      .select(["chat_id", "event_key", "state", "payload", "content_hash"])
      .orderBy("id")
      .execute();
    expect(rows[0]).toEqual({
      chat_id: chat,
      event_key: "m1",
      state: "withdrawn",
      payload: "",
      content_hash: "",
    });
    expect(rows[1]?.payload).toContain(SECRET);
    expect(await database.db.selectFrom("piece").select(["state", "body"]).execute()).toEqual([
      { state: "cancelled", body: "" },
    ]);
    expect(await database.db.selectFrom("question").selectAll().execute()).toEqual([]);
    expect(await database.db.selectFrom("choice").selectAll().execute()).toEqual([]);
    // A chat whose number begins with the same digits is another one.
    expect(await database.db.selectFrom("thread_checkpoint").select("thread").execute()).toEqual([
      { thread: `${chat}0/helper/1` },
    ]);
    // Handed over again, it is a repeat.
    await said(database, "ada");
    expect(
      await database.db.selectFrom("inbox").select("id").where("chat_id", "=", chat).execute(),
    ).toHaveLength(1);
    expect(await currentThread(database.db, chat, "helper")).toBe(`${chat}/helper/2`);
    expect(await currentThread(database.db, other, "helper")).toBe(`${other}/helper/1`);
  });

  it("is brought back by no turn that held it", async () => {
    const database = await open();
    const chat = await said(database, "ada");
    const turn = await claimed(database, chat);
    await forget(database, chat, "ada");
    const end = { state: "done", messages: "consumed", error: "", pieces: [], now: NOW } as const;
    await expect(commitTurn(database, turn, end)).rejects.toMatchObject({ code: "store.hold_lost" });
    const hold: Hold = turn.hold;
    await expect(threadStore(database).put(checkpoint(turn.thread), hold)).rejects.toMatchObject({
      code: "store.hold_lost",
    });
    // Nobody waits for a holder that is gone.
    await said(database, "ada", "m2");
    expect((await claimed(database, chat)).messages).toHaveLength(1);
  });

  it("has what runs on another thread of the person begun anew, which has seen what is deleted", async () => {
    const database = await open();
    const chat = await said(database, "ada");
    const owner = { scope: "person", channel: "toy", subject: "ada", agent: "helper" } as const;
    const elsewhere = {
      owner,
      thread: "99/helper/1",
      chat: 99 as ChatId,
      signals: [],
      quietMs: 0,
      mostMs: 0,
    };
    await database.light((trx) => touch(trx, elsewhere, NOW));
    const work = await beginWork(database, owner, { now: NOW });
    await forget(database, chat, "ada");
    const added = [{ content: SECRET, confidence: 1, saidAt: "2026-01-01T00:00:00Z" }];
    const done = { upTo: "m", more: false, now: NOW, decide: () => ({ added, changed: [], removed: [] }) };
    expect(await finishWork(database, work!, done)).toBe(false);
    expect(await factsOf(database.db, owner)).toEqual([]);
    expect(await beginWork(database, owner, { now: NOW })).toMatchObject({
      thread: "99/helper/1",
      after: "",
    });
  });

  it("is told once, with the files of both where it was wished for twice", async () => {
    const database = await open();
    const chat = await said(database, "ada");
    await forget(database, chat, "ada");
    await said(database, "ada", "m2");
    await forget(database, chat, "ada");
    expect(await pendingForgets(database.db)).toMatchObject([{ counts: { messages: 2 }, files: undefined }]);
    await noteFiles(database.db, chat, 3);
    await endForget(database.db, chat);
    expect(await pendingForgets(database.db, chat)).toMatchObject([{ files: 3, told: false }]);
    await noteTold(database, chat, [], NOW);
    await endForget(database.db, chat);
    expect(await pendingForgets(database.db)).toEqual([]);
  });

  it("waits with blobs while anybody is at work, in the chat that was forgotten as well", async () => {
    const database = await open();
    const chat = await said(database, "ada");
    expect(await anybodyAtWork(database.db, NOW)).toBe(false);
    await claimed(database, chat);
    expect(await anybodyAtWork(database.db, NOW)).toBe(true);
  });
});
