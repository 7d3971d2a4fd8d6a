import { expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { Place } from "../../src/core/events.ts";
import type { ChatId, Hold, ThreadId } from "../../src/core/identity.ts";
import { plainText } from "../../src/core/rendered.ts";
import {
  approvalRuns,
  approvedFor,
  decideApproval,
  lapsedIn,
  noteApproval,
  notedBy,
  settleQuestions,
  withdrawNoted,
} from "../../src/store/approvals.ts";
import { chatOf, currentThread } from "../../src/store/chats.ts";
import { answerQuestion, approvalAt, openApprovalsIn } from "../../src/store/choices.ts";
import type { Database } from "../../src/store/database.ts";
import { turnEffects } from "../../src/store/effects.ts";
import { forgetChat } from "../../src/store/forget.ts";
import { insertEvent, openIntent, withdrawWaiting } from "../../src/store/inbox.ts";
import { moveChat } from "../../src/store/moves.ts";
import {
  dropUnsent,
  endQuestions,
  interruptsIn,
  overdueQuestions,
  pendingIn,
} from "../../src/store/open-questions.ts";
import { insertPieces, nextPiece } from "../../src/store/pieces.ts";
import { endPiece } from "../../src/store/sending.ts";
import { prune } from "../../src/store/upkeep.ts";
import { memoryLog } from "../support/channel-host.ts";
import { eachDatabase } from "../support/database.ts";

const NOW = 1_700_000_000_000;
const HOUR_MS = 3_600_000;
const PLACE: Place = { chat: "c", kind: "private" };

/** A chat with calls that wait in it. */
async function setUp(database: Database, place = PLACE) {
  const chat = await database.db.transaction().execute((trx) => chatOf(trx, "toy", place));
  const thread = await currentThread(database.db, chat, "helper");
  const note = async (call: string, args = {}, message = "msg-1") =>
    await database.db.transaction().execute((trx) =>
      noteApproval(trx, {
        chat,
        thread,
        agent: "helper",
        message,
        call,
        tool: "send",
        args,
        who: "owner",
        person: "ada",
        asker: "Ada",
        place,
        minutes: 60,
        now: NOW,
      }),
    );
  return { database, chat, thread, note };
}

/** Puts what was noted to people, where each stands under "q1", "q2" and so on; gives the ids of the approvals. */
async function asked(
  { database, chat, thread }: { database: Database; chat: ChatId; thread: ThreadId },
  expiresAt = NOW + HOUR_MS,
): Promise<readonly string[]> {
  const wishes = await notedBy(database.db, { thread, message: "msg-1" });
  for (const [at, { id }] of wishes.entries()) {
    const choices = { labels: ["Allow", "Refuse"], person: "", waits: { thread, approval: id }, expiresAt };
    const body = { kind: "text", rendered: plainText("May I?") } as const;
    const to = { channel: "toy", chat: "c" };
    await insertPieces(database.db, [{ chat, to, turn: 1, seq: at, body, choices }], NOW);
    const piece = await nextPiece(database, chat);
    await endPiece(database, piece?.id ?? 0, { state: "sent", ids: [`q${at + 1}`], now: NOW });
  }
  return wishes.map(({ id }) => id);
}

eachDatabase("approvals", (open) => {
  it("are asked once for the same call, at most five in a thread, and in the order of the calls", async () => {
    const there = await setUp(await open());
    const args = ["a", "b", "c", "d", "e"].map((to) => ({ to }));
    for (const each of args) expect(await there.note(`m/${each.to}`, each)).toBe("noted");
    expect(await there.note("n/a", { to: "a" })).toBe("asked before");
    expect(await there.note("n/f", { to: "f" })).toBe("too many");
    const noted = await notedBy(there.database.db, { thread: there.thread, message: "msg-1" });
    expect(noted.map((wish) => wish.args)).toEqual(args);
    await asked(there);
    expect(await there.note("n/a", { to: "a" }, "msg-2")).toBe("asked before");
    expect(await pendingIn(there.database.db, there.chat, NOW)).toHaveLength(5);
  });

  it("are found by where they stand and by their chat, and decided once", async () => {
    const there = await setUp(await open());
    const { db } = there.database;
    await there.note("m/a", { to: "a" });
    const [id = ""] = await asked(there);
    const found = await approvalAt(db, { channel: "toy", chat: "c", ref: "q1" });
    expect(found).toMatchObject({ approval: id, who: "owner", chat: there.chat, expiresAt: NOW + HOUR_MS });
    expect(await openApprovalsIn(db, there.chat, NOW)).toMatchObject([{ approval: id, refs: ["q1"] }]);
    const decided = await Promise.all(
      ["approved", "refused", "approved"].map((state) =>
        db.transaction().execute(async (trx) => {
          if (!(await answerQuestion(trx, found?.question ?? "", NOW))) return undefined;
          return await decideApproval(trx, id, { state: state as "approved", by: "Ada", now: NOW });
        }),
      ),
    );
    expect(decided.filter((each) => each !== undefined)).toEqual([
      { chat: there.chat, thread: there.thread, agent: "helper", place: PLACE, person: "ada", asker: "Ada" },
    ]);
    expect(await openApprovalsIn(db, there.chat, NOW)).toEqual([]);
    expect(await pendingIn(db, there.chat, NOW)).toEqual([]);
    await approvalRuns(db, id, 42);
    expect(await approvedFor(db, 42)).toEqual({ id, tool: "send", args: { to: "a" }, by: "Ada" });
  });

  it("that came to nothing are told of once, and those that nobody was asked about come to nothing with their turn", async () => {
    const there = await setUp(await open());
    const { db } = there.database;
    await there.note("m/a", { to: "a" });
    const [id = ""] = await asked(there);
    await there.note("m/b", { to: "b" });
    await withdrawNoted(db, { thread: there.thread, message: "msg-1" });
    await decideApproval(db, id, { state: "refused", by: "Ada", now: NOW });
    const lapsed = await lapsedIn(db, { thread: there.thread, message: "msg-9" });
    expect(lapsed.map(({ state, by }) => [state, by])).toEqual([
      ["refused", "Ada"],
      ["withdrawn", ""],
    ]);
    await settleQuestions(db, there.thread, { told: lapsed.map((each) => each.id) }, NOW);
    expect(await lapsedIn(db, { thread: there.thread, message: "msg-9" })).toEqual([]);
  });

  it("that were allowed and taken back before their turn are told of, those that were made are not", async () => {
    const there = await setUp(await open());
    const { db } = there.database;
    await there.note("m/a", { to: "a" });
    const [id = ""] = await asked(there);
    await decideApproval(db, id, { state: "approved", by: "Ada", now: NOW });
    const row = await insertEvent(db, {
      channel: "toy",
      chat: there.chat,
      key: `approved/${id}`,
      type: "message",
      payload: "{}",
      payloadHash: "",
      contentHash: "",
      sender: "ada",
      ref: "",
      state: "waiting",
      why: "",
      agent: "helper",
      thread: there.thread,
      intent: 0,
      task: "approved",
      album: "",
      receivedAt: NOW,
      dueAt: NOW,
      trace: { at: NOW, step: "approved" },
    });
    await openIntent(db, row ?? 0);
    await approvalRuns(db, id, row ?? 0);
    expect(await lapsedIn(db, { thread: there.thread, message: "msg-9" })).toEqual([]);
    // Its connection was off for so long.
    await prune(there.database, NOW + 2 * HOUR_MS);
    expect(await approvedFor(db, row ?? 0)).toMatchObject({ id });
    await withdrawWaiting(db, there.chat, NOW);
    expect(await lapsedIn(db, { thread: there.thread, message: "msg-9" })).toEqual([
      { id, tool: "send", state: "stopped", by: "Ada" },
    ]);
  });

  it("are overdue from their minute on, also those that were not sent, and end with their thread", async () => {
    const there = await setUp(await open());
    const { db } = there.database;
    await there.note("m/a", { to: "a" });
    await asked(there);
    expect(await overdueQuestions(db, NOW + HOUR_MS - 1, 10)).toEqual([]);
    const [overdue] = await overdueQuestions(db, NOW + HOUR_MS, 10);
    expect(overdue).toMatchObject({ refs: ["q1"], to: { channel: "toy", chat: "c" }, chat: there.chat });
    await endQuestions(db, there.thread, NOW);
    expect(await overdueQuestions(db, NOW, 10)).toHaveLength(1);
    await dropUnsent(db, overdue?.question ?? "", NOW);
    const states = async () => await db.selectFrom("piece").select("state").orderBy("id").execute();
    expect(await states()).toEqual([{ state: "sent" }]);
    await db.updateTable("piece").set({ state: "parked", platform_ids: "[]" }).execute();
    await dropUnsent(db, overdue?.question ?? "", NOW);
    expect(await states()).toEqual([{ state: "cancelled" }]);
  });

  it("are written down with the result that their call has for now, by whoever holds the chat", async () => {
    const there = await setUp(await open());
    const hold: Hold = { chat: there.chat, owner: "me", epoch: 0 };
    await there.database.db.updateTable("chat").set({ owner: "me" }).where("id", "=", there.chat).execute();
    const by = { clock: systemClock, log: memoryLog([]), closing: new AbortController().signal };
    const of = { hold, thread: there.thread, message: "msg-1" };
    const effects = turnEffects(there.database, { ...of, again: false }, by);
    expect(await effects.putOff("m/a", "{}", "waits", async () => false)).toBe(false);
    expect(effects.any).toBe(false);
    expect(await effects.putOff("m/a", "{}", "waits", async () => true)).toBe(true);
    expect(effects.any).toBe(true);
    const later = turnEffects(there.database, { ...of, again: true }, by);
    expect(await later.earlier()).toEqual([{ call: "m/a", step: "{}", result: "waits" }]);
    await there.database.db.updateTable("chat").set({ epoch: 1 }).where("id", "=", there.chat).execute();
    await expect(effects.putOff("m/b", "{}", "waits", async () => true)).rejects.toThrow("held by another");
    expect(await later.earlier()).toHaveLength(1);
  });

  it("go with their chat where that moves, and are forgotten with it and after their time", async () => {
    const there = await setUp(await open());
    const { db } = there.database;
    await there.note("m/a", { to: "a" });
    const [id = ""] = await asked(there);
    const other = await setUp(there.database, { chat: "d", kind: "private" });
    await db.transaction().execute((trx) => moveChat(trx, { channel: "toy", from: "c", to: "d", now: NOW }));
    const place = { ...PLACE, chat: "d" };
    const row = await db.selectFrom("approval").select(["chat_id", "thread", "place"]).executeTakeFirst();
    expect(row).toEqual({ chat_id: there.chat, thread: there.thread, place: JSON.stringify(place) });
    expect(other.chat).not.toBe(there.chat);
    await prune(there.database, NOW + HOUR_MS);
    expect(await db.selectFrom("approval").select("id").execute()).toEqual([{ id }]);
    await db
      .transaction()
      .execute((trx) => forgetChat(trx, { chat: there.chat, to: { channel: "toy", chat: "d" }, now: NOW }));
    expect(await db.selectFrom("approval").select("id").execute()).toEqual([]);
    expect(await db.selectFrom("question").select("id").execute()).toEqual([]);
    const again = await setUp(there.database);
    await again.note("m/a", { to: "a" });
    await prune(there.database, NOW + 1);
    expect(await db.selectFrom("approval").select("id").execute()).toEqual([]);
  });

  it("leave questions of graphs to whoever was asked, until one was answered or its time is over", async () => {
    const there = await setUp(await open());
    const { db } = there.database;
    const body = { kind: "text", rendered: plainText("Which?") } as const;
    const to = { channel: "toy", chat: "c" };
    const waits = { thread: there.thread, interrupt: "i1" };
    const choices = { labels: [], person: "ada", waits, expiresAt: NOW + HOUR_MS };
    await insertPieces(db, [{ chat: there.chat, to, turn: 1, seq: 0, body, choices }], NOW);
    const mine = { interrupt: "i1", person: "ada", answer: "" };
    expect(await interruptsIn(db, there.thread, { by: [], now: NOW })).toEqual([mine]);
    expect(await interruptsIn(db, there.thread, { by: [], now: NOW + HOUR_MS })).toEqual([]);
    expect(await pendingIn(db, there.chat, NOW)).toEqual([
      { tool: "", who: "", asker: "", expiresAt: NOW + HOUR_MS },
    ]);
    await settleQuestions(db, there.thread, { answered: "i1" }, NOW);
    expect(await interruptsIn(db, there.thread, { by: [], now: NOW })).toEqual([]);
    const [piece] = await db.selectFrom("piece").select(["body", "question"]).execute();
    expect(piece?.question).not.toBe("");
    expect(piece?.body).not.toContain("choices");
  });
});
