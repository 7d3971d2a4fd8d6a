import { expect, it } from "vitest";
import type { TextBlock, Unfetched } from "../../src/core/blocks.ts";
import type { MessageEvent } from "../../src/core/events.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { unusable } from "../../src/media/taken.ts";
import {
  finishAttachment,
  insertAttachments,
  quotedSeq,
  replaceAttachments,
} from "../../src/store/attachments.ts";
import { beginAttachment } from "../../src/store/fetches.ts";
import { chatOf, currentThread } from "../../src/store/chats.ts";
import type { Database } from "../../src/store/database.ts";
import { insertEvent, isInIntent, openIntent, withdrawWaiting } from "../../src/store/inbox.ts";
import { storyOf } from "../../src/store/queue.ts";
import { type Claim, claimTurn, commitTurn } from "../../src/store/turns.ts";
import { openWork } from "../../src/store/upkeep.ts";
import { eachDatabase } from "../support/database.ts";

const NOW = 1_700_000_000_000;
const FETCHER = { owner: "test", now: NOW, until: NOW + 60_000 };
const text = (words: string): TextBlock => ({ type: "text", text: words });
const file = (ref: string): Unfetched => ({ type: "unfetched", kind: "file", ref, declared: {} });

/** A message in a group that quotes one file and brings two. */
const MESSAGE: MessageEvent = {
  type: "message",
  id: "1",
  ref: "r1",
  place: { chat: "g", kind: "group" },
  from: { id: "ada", name: "Ada" },
  sentAt: "2026-01-01T00:00:00.000Z",
  content: [file("own 0"), { type: "text", text: "see" }, file("own 2")],
  addressed: true,
  quote: { text: "[file]", media: [file("quoted")] },
};

async function put(
  database: Database,
  which: "own" | "all",
  state: "listening" | "waiting",
  changes: Partial<MessageEvent> = {},
): Promise<{ readonly id: number; readonly chat: ChatId; readonly attachments: readonly number[] }> {
  const event = { ...MESSAGE, ...changes };
  return await database.db.transaction().execute(async (trx) => {
    const chat = await chatOf(trx, "toy", event.place);
    const id = await insertEvent(trx, {
      channel: "toy",
      chat,
      key: event.id,
      type: event.type,
      payload: JSON.stringify(event),
      payloadHash: event.id,
      contentHash: "",
      sender: event.from.id,
      ref: event.ref,
      state,
      why: "",
      agent: "helper",
      thread: await currentThread(trx, chat, "helper"),
      intent: 0,
      album: "",
      receivedAt: NOW,
      dueAt: NOW,
      trace: { at: NOW, step: state },
    });
    if (id === undefined) throw new Error("it is a repeat");
    if (state === "waiting") await openIntent(trx, id);
    return {
      id,
      chat,
      attachments: await insertAttachments(trx, id, { chat, channel: "toy", event, which }),
    };
  });
}

const claim = (database: Database, chat: ChatId): Promise<Claim> =>
  claimTurn(database, chat, {
    owner: "me",
    now: NOW,
    until: NOW + 60_000,
    isOpen: () => true,
  });

const SEEN = { blocks: [{ type: "text", text: "it" }], outcome: "seen" } as const;

eachDatabase("attachments", (open) => {
  it("are those of the message and, on request, of what it quotes, each known by its place", async () => {
    const database = await open();
    const { id, chat, attachments } = await put(database, "all", "waiting");
    const tasks = await Promise.all(attachments.map((one) => beginAttachment(database, one, FETCHER)));
    expect(tasks.map((task) => [task?.unfetched.ref, task?.listening])).toEqual([
      ["quoted", false],
      ["own 0", false],
      ["own 2", false],
    ]);
    for (const one of attachments) await finishAttachment(database, one, SEEN);
    const claimed = await claim(database, chat);
    if (claimed.kind !== "turn") throw new Error(claimed.kind);
    const [message] = claimed.turn.messages;
    expect([...(message?.taken.keys() ?? [])].toSorted((a, b) => a - b)).toEqual([quotedSeq(0), 0, 2]);
    expect((await storyOf(database, id))?.attachments.map(({ quoted }) => quoted)).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("tell a turn why they are no use, and a story by which sentence", async () => {
    const database = await open();
    const { id, chat, attachments } = await put(database, "own", "waiting");
    const [first = 0, second = 0] = attachments;
    const broken = unusable("a.pdf", "unreadable", "media.broken");
    await finishAttachment(database, first, broken);
    await finishAttachment(database, second, SEEN);
    const claimed = await claim(database, chat);
    if (claimed.kind !== "turn") throw new Error(claimed.kind);
    expect([...(claimed.turn.messages[0]?.taken.values() ?? [])]).toEqual([
      { blocks: broken.blocks, notice: { key: "media.broken", values: { name: "a.pdf" } } },
      { blocks: SEEN.blocks },
    ]);
    expect((await storyOf(database, id))?.attachments).toEqual([
      { quoted: false, state: "done", outcome: "unreadable", notice: "media.broken", attempts: 0 },
      { quoted: false, state: "done", outcome: "seen", notice: "", attempts: 0 },
    ]);
  });
});

eachDatabase("the media of a message that is edited", (open) => {
  it("keep what became of them wherever they stand now; the new ones are to be fetched, and the rest is forgotten", async () => {
    const database = await open();
    const named = (ref: string, filename: string): Unfetched => ({ ...file(ref), declared: { filename } });
    const before = [named("a", "a.txt"), named("b", "b.txt"), named("b", "b.txt")];
    const { id, chat, attachments } = await put(database, "all", "waiting", { content: before });
    for (const one of attachments.slice(0, 3)) await finishAttachment(database, one, SEEN);
    const after = [text("a caption"), named("c", "c.txt"), named("again", "b.txt"), named("b", "b.txt")];
    const fresh = await database.db.transaction().execute(async (trx) => {
      const payload = JSON.stringify({ ...MESSAGE, content: after });
      await trx.updateTable("inbox").set({ payload }).where("id", "=", id).execute();
      return await replaceAttachments(trx, id, { chat, channel: "toy", before, after });
    });
    const rows = await database.db
      .selectFrom("attachment")
      .select(["id", "seq", "state"])
      .orderBy("seq")
      .execute();
    expect(rows).toEqual([
      { id: attachments[0], seq: quotedSeq(0), state: "done" },
      { id: fresh[0], seq: 1, state: "waiting" },
      { id: attachments[2], seq: 2, state: "done" },
      { id: attachments[3], seq: 3, state: "waiting" },
    ]);
    expect(await beginAttachment(database, fresh[0]!, FETCHER)).toMatchObject({ unfetched: { ref: "c" } });
    expect(await beginAttachment(database, attachments[3]!, FETCHER)).toMatchObject({
      unfetched: { ref: "b" },
    });
    // What was on its way when it was taken out of the message is nobody's now.
    expect(await beginAttachment(database, attachments[1]!, FETCHER)).toBeUndefined();
    expect(await finishAttachment(database, attachments[1]!, SEEN)).toEqual([]);
  });
});

eachDatabase("a message that is listened to", (open) => {
  const heard = (named: boolean, context = 0) => ({ named, context, now: NOW + 5 });

  it("is no turn before it is decided, and work that is found again", async () => {
    const database = await open();
    const { chat, attachments } = await put(database, "own", "listening");
    expect(await claim(database, chat)).toEqual({ kind: "idle" });
    const fetched = attachments.map((id) => ({ id, channel: "toy" }));
    expect(await openWork(database, NOW)).toEqual({
      turns: [],
      attachments: fetched,
      deliveries: [],
      tasks: [],
    });
    expect(await beginAttachment(database, attachments[0]!, FETCHER)).toMatchObject({ listening: true });
  });

  it("waits for its turn as soon as one of its media calls, with all of them and what it quotes", async () => {
    const database = await open();
    const { id, chat, attachments } = await put(database, "own", "listening");
    const [first = 0, second = 0] = attachments;
    const further = (await finishAttachment(database, first, SEEN, heard(true))) ?? [];
    expect(further).toHaveLength(1);
    expect(await beginAttachment(database, further[0]!, FETCHER)).toMatchObject({
      unfetched: { ref: "quoted" },
    });
    expect(await finishAttachment(database, second, SEEN, heard(false))).toEqual([]);
    expect(await claim(database, chat)).toEqual({ kind: "idle" });
    await finishAttachment(database, further[0]!, SEEN);
    expect(await claim(database, chat)).toMatchObject({ kind: "turn", turn: { intent: id } });
  });

  it("is forgotten once all of its media have called nobody", async () => {
    const database = await open();
    const { id, attachments } = await put(database, "own", "listening");
    const [first = 0, second = 0] = attachments;
    await finishAttachment(database, first, SEEN, heard(false));
    expect((await storyOf(database, id))?.state).toBe("listening");
    await finishAttachment(database, second, SEEN, heard(false));
    expect(await storyOf(database, id)).toMatchObject({ state: "refused", why: "not addressed" });
    const [row] = await database.db.selectFrom("inbox").select(["payload", "ended_at"]).execute();
    expect(row).toEqual({ payload: "", ended_at: NOW + 5 });
    const blocks = await database.db.selectFrom("attachment").select("blocks").execute();
    expect(blocks).toEqual([{ blocks: "" }, { blocks: "" }]);
  });

  it("is kept without what was heard where the agent is told of what is not for it", async () => {
    const database = await open();
    for (const event of ["1", "2", "3"]) {
      const { attachments } = await put(database, "own", "listening", { id: event });
      for (const one of attachments) await finishAttachment(database, one, SEEN, heard(false, 2));
    }
    const rows = await database.db
      .selectFrom("inbox")
      .select(["state", "why", "payload"])
      .orderBy("id")
      .execute();
    expect(rows.map(({ state, why, payload }) => [state, why, payload === ""])).toEqual([
      ["refused", "not addressed", true],
      ["aside", "not addressed", false],
      ["aside", "not addressed", false],
    ]);
    const blocks = await database.db.selectFrom("attachment").select("blocks").distinct().execute();
    expect(blocks).toEqual([{ blocks: "" }]);
  });

  it("is taken back with what waits in its chat alone, and not counted", async () => {
    const database = await open();
    const { id, chat } = await put(database, "own", "listening");
    const elsewhere = await put(database, "own", "listening", { place: { chat: "h", kind: "group" } });
    await put(database, "own", "waiting", { id: "2" });
    expect(await withdrawWaiting(database.db, chat, NOW)).toBe(1);
    expect([await storyOf(database, id), await storyOf(database, elsewhere.id)]).toMatchObject([
      { state: "withdrawn", attachments: [{ state: "done" }, { state: "done" }] },
      { state: "listening" },
    ]);
  });
});

eachDatabase("a member of a group", (open) => {
  it("is known by the same number in every turn there, and has another one elsewhere", async () => {
    const database = await open();
    const speaker = async (id: string, person: string, place: MessageEvent["place"]) => {
      const { chat } = await put(database, "own", "waiting", {
        id,
        place,
        content: [],
        from: { id: person, name: "Ada" },
      });
      const claimed = await claim(database, chat);
      if (claimed.kind !== "turn") throw new Error(claimed.kind);
      await commitTurn(database, claimed.turn, {
        state: "done",
        messages: "consumed",
        error: "",
        pieces: [],
        now: NOW,
      });
      return claimed.turn.messages[0]?.speaker;
    };
    const group = { chat: "g", kind: "group" } as const;
    expect([
      await speaker("1", "ada", group),
      await speaker("2", "eve", group),
      await speaker("3", "ada", group),
      await speaker("4", "eve", { chat: "h", kind: "group" }),
      await speaker("5", "ada", { chat: "p", kind: "private" }),
    ]).toEqual([1, 2, 1, 1, undefined]);
  });
});

eachDatabase("a reply", (open) => {
  it("is beside what it answers where that is an open message of the same intent", async () => {
    const database = await open();
    const { id, chat } = await put(database, "own", "waiting");
    const beside = (intent: number, ref: string) => isInIntent(database.db, chat, { intent, ref });
    expect([await beside(id, "r1"), await beside(id, "r2"), await beside(id + 1, "r1")]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
