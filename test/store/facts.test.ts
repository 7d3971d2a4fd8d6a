import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompiledQuery, type KyselyPlugin } from "kysely";
import { afterEach, describe, expect, it } from "vitest";
import type { ChannelState } from "../../src/core/host.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { MessageEvent } from "../../src/core/events.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { dropAsides, trimAsides } from "../../src/store/asides.ts";
import { finishAttachment, insertAttachments } from "../../src/store/attachments.ts";
import { beginAttachment } from "../../src/store/fetches.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { channelState } from "../../src/store/channel-state.ts";
import { chatOf, currentThread, freshThread } from "../../src/store/chats.ts";
import type { Database } from "../../src/store/database.ts";
import { answerBefore, isNewestTurn, rowsOf, windowOf, withdrawFollowing } from "../../src/store/edits.ts";
import {
  countWaiting,
  hasAlbum,
  insertEvent,
  isInIntent,
  latestIntent,
  openIntent,
  withdrawWaiting,
} from "../../src/store/inbox.ts";
import { allGrants, claimCode, grant, hasOwner, revoke, useClaimCode } from "../../src/store/people.ts";
import { insertPieces, nextPiece, unparkChat } from "../../src/store/pieces.ts";
import { endPiece, markSending, parkChat } from "../../src/store/sending.ts";
import { queued, retryDead, storyOf } from "../../src/store/queue.ts";
import { ownMessage, pendingReaction } from "../../src/store/reactions.ts";
import { renameChannel } from "../../src/store/rename.ts";
import { abandonTurn } from "../../src/store/turn-ends.ts";
import { claimTurn, commitTurn, renewHold } from "../../src/store/turns.ts";
import { openWork, prune, recover, suspects } from "../../src/store/upkeep.ts";
import { eachDatabase, onSqlite } from "../support/database.ts";

const MESSAGE: MessageEvent = {
  type: "message",
  id: "1",
  ref: "1",
  place: { chat: "c", kind: "private" },
  from: { id: "ada", name: "Ada" },
  sentAt: "2026-01-01T00:00:00.000Z",
  content: [
    { type: "text", text: "hello" },
    { type: "unfetched", kind: "image", ref: "f1", declared: {} },
  ],
  addressed: true,
};
const NOW = 1_700_000_000_000;
const FETCHER = { owner: "test", now: NOW, until: NOW + 60_000 };
const isOpen = (): boolean => true;
const stateOf = (database: Database, channel: string): ChannelState =>
  channelState(database, channel, { owner: "test", clock: systemClock });

async function put(
  database: Database,
  event: MessageEvent = MESSAGE,
  more: { readonly dueAt?: number; readonly joins?: number } = {},
): Promise<{
  readonly id: number | undefined;
  readonly chat: ChatId;
  readonly attachments: readonly number[];
}> {
  return await database.db.transaction().execute(async (trx) => {
    const chat = await chatOf(trx, "toy", event.place);
    const id = await insertEvent(trx, {
      channel: "toy",
      chat,
      key: event.id,
      type: event.type,
      payload: JSON.stringify(event),
      payloadHash: JSON.stringify(event).length.toString(),
      contentHash: "",
      sender: event.from.id,
      ref: event.ref,
      state: "waiting",
      why: "",
      agent: "helper",
      thread: await currentThread(trx, chat, "helper"),
      intent: more.joins ?? 0,
      album: "",
      receivedAt: NOW,
      dueAt: more.dueAt ?? NOW,
      trace: { at: NOW, step: "admitted" },
    });
    if (id === undefined) return { id, chat, attachments: [] };
    if (more.joins === undefined) await openIntent(trx, id);
    return {
      id,
      chat,
      attachments: await insertAttachments(trx, id, { chat, channel: "toy", event, which: "all" }),
    };
  });
}

const text = (words: string): MessageEvent => ({
  ...MESSAGE,
  id: words,
  content: [{ type: "text", text: words }],
});

eachDatabase("the facts", (open) => {
  it("take one of two deliveries at once", async () => {
    const database = await open();
    const ids = await Promise.all(Array.from({ length: 20 }, () => put(database)));
    expect(ids.filter(({ id }) => id !== undefined)).toHaveLength(1);
  });

  it("know a chat by its address and topic", async () => {
    const database = await open();
    const chat = (place: MessageEvent["place"], channel = "toy"): Promise<ChatId> =>
      database.db.transaction().execute((trx) => chatOf(trx, channel, place));
    const first = await chat({ chat: "c", kind: "group" });
    expect(await chat({ chat: "c", kind: "group" })).toBe(first);
    const others = [
      await chat({ chat: "c", kind: "group", topic: "7" }),
      await chat({ chat: "d", kind: "group" }),
      await chat({ chat: "c", kind: "group" }, "other"),
    ];
    expect(new Set([first, ...others]).size).toBe(4);
  });

  it("let a turn begin when its window has closed and its media are there", async () => {
    const database = await open();
    const { chat, attachments } = await put(database, MESSAGE, { dueAt: NOW + 300 });
    const by = { owner: "me", until: NOW + 60_000, isOpen };
    expect(await claimTurn(database, chat, { ...by, now: NOW })).toEqual({ kind: "wait", at: NOW + 300 });
    expect(await claimTurn(database, chat, { ...by, now: NOW + 300 })).toEqual({ kind: "idle" });
    const task = await beginAttachment(database, attachments[0]!, FETCHER);
    expect(task).toMatchObject({ chat, attempt: 1, unfetched: { ref: "f1" } });
    await finishAttachment(database, task!.id, {
      blocks: [{ type: "text", text: "[a photo]" }],
      outcome: "seen",
    });
    expect(await beginAttachment(database, task!.id, FETCHER)).toBeUndefined();
    const claim = await claimTurn(database, chat, { ...by, now: NOW + 300 });
    if (claim.kind !== "turn") throw new Error(claim.kind);
    expect(claim.turn).toMatchObject({ thread: `${chat}/helper/1`, to: { channel: "toy", chat: "c" } });
    expect([...claim.turn.messages[0]!.taken.values()]).toEqual([
      { blocks: [{ type: "text", text: "[a photo]" }] },
    ]);
    expect(await claimTurn(database, chat, { ...by, now: NOW + 300, isOpen: () => false })).toEqual({
      kind: "idle",
    });
  });

  it("claim one intent at a time, in the order they came, with all its messages", async () => {
    const database = await open();
    const first = await put(database, text("a"));
    await put(database, text("b"));
    await put(database, text("c"), { joins: first.id! });
    const by = { owner: "me", now: NOW, until: NOW + 60_000, isOpen };
    const claim = await claimTurn(database, first.chat, by);
    if (claim.kind !== "turn") throw new Error(claim.kind);
    expect(claim.turn.messages.map((message) => message.event.id)).toEqual(["a", "c"]);
    expect(
      await latestIntent(database.db, {
        chat: first.chat,
        sender: "ada",
        agent: "helper",
        thread: claim.turn.thread,
        album: "",
      }),
    ).toMatchObject({ intent: first.id! + 1 });
    await commitTurn(database, claim.turn, {
      state: "done",
      messages: "consumed",
      error: "",
      pieces: [],
      now: NOW,
    });
    const next = await claimTurn(database, first.chat, by);
    expect(next.kind === "turn" && next.turn.messages.map((message) => message.event.id)).toEqual(["b"]);
  });

  it("let nothing join an intent that a turn has begun with, also when that was given back", async () => {
    const database = await open();
    const { chat } = await put(database, text("a"));
    const by = { owner: "me", now: NOW, until: NOW + 60_000, isOpen };
    const thread = `${chat}/helper/1`;
    const joins = () =>
      latestIntent(database.db, { chat, sender: "ada", agent: "helper", thread, album: "" });
    expect(await joins()).toBeDefined();
    const claim = await claimTurn(database, chat, by);
    if (claim.kind !== "turn") throw new Error(claim.kind);
    await abandonTurn(database, claim.turn, NOW);
    expect(await joins()).toBeUndefined();
    expect(await openWork(database, NOW)).toMatchObject({ turns: [{ chat }] });
  });

  it("refuse every write of a holder that was succeeded", async () => {
    const database = await open();
    const { chat } = await put(database, text("a"));
    const stalled = await claimTurn(database, chat, {
      owner: "stalled",
      now: NOW,
      until: NOW + 60_000,
      isOpen,
    });
    if (stalled.kind !== "turn") throw new Error(stalled.kind);
    expect(
      await claimTurn(database, chat, {
        owner: "other",
        now: NOW + 1,
        until: NOW + 90_000,
        isOpen,
      }),
    ).toEqual({
      kind: "wait",
      at: NOW + 60_000,
    });
    await renewHold(database, stalled.turn.hold, NOW + 70_000);
    await recover(database, NOW);
    const taken = await claimTurn(database, chat, {
      owner: "other",
      now: NOW + 1,
      until: NOW + 90_000,
      isOpen,
    });
    if (taken.kind !== "turn") throw new Error(taken.kind);
    expect(taken.turn.hold.epoch).toBe(stalled.turn.hold.epoch + 1);
    const piece = {
      chat,
      to: taken.turn.to,
      turn: 1,
      seq: 0,
      body: { kind: "text", rendered: { text: "x", marks: [] } },
    } as const;
    const end = { state: "done", messages: "consumed", error: "", pieces: [piece], now: NOW } as const;
    await expect(commitTurn(database, stalled.turn, end)).rejects.toMatchObject({ code: "store.hold_lost" });
    await expect(abandonTurn(database, stalled.turn, NOW)).rejects.toMatchObject({ code: "store.hold_lost" });
    await expect(renewHold(database, stalled.turn.hold, NOW)).rejects.toMatchObject({
      code: "store.hold_lost",
    });
    expect(await nextPiece(database, chat)).toBeUndefined();
    await commitTurn(database, taken.turn, end);
    expect(await nextPiece(database, chat)).toMatchObject({ state: "planned", to: { chat: "c" } });
  });

  it("forget the words of what is consumed, and keep those of what is set aside", async () => {
    const database = await open();
    const { chat, id } = await put(database, text("a secret"));
    const by = { owner: "me", now: NOW, until: NOW + 60_000, isOpen };
    const claim = await claimTurn(database, chat, by);
    if (claim.kind !== "turn") throw new Error(claim.kind);
    await commitTurn(database, claim.turn, {
      state: "failed",
      messages: "dead",
      error: "crashed",
      pieces: [],
      now: NOW,
    });
    expect(await queued(database)).toMatchObject([{ id, state: "dead" }]);
    expect(await retryDead(database, id!, NOW)).toBe(true);
    const again = await claimTurn(database, chat, by);
    if (again.kind !== "turn") throw new Error(again.kind);
    await commitTurn(database, again.turn, {
      state: "done",
      messages: "consumed",
      error: "",
      pieces: [],
      now: NOW,
    });
    const { payload } = await database.db.selectFrom("inbox").select("payload").executeTakeFirstOrThrow();
    expect(payload).toBe("");
    const story = await storyOf(database, id!);
    expect(story?.steps.map(({ step }) => step)).toEqual([
      "admitted",
      "claimed",
      "dead",
      "retried",
      "claimed",
      "consumed",
    ]);
  });

  it("count each crash, and find all open work again", async () => {
    const database = await open();
    const { chat } = await put(database, text("poison"));
    for (let crash = 1; crash <= 3; crash += 1) {
      const claim = await claimTurn(database, chat, {
        owner: `p${crash}`,
        now: NOW,
        until: NOW + 60_000,
        isOpen,
      });
      expect(claim.kind).toBe("turn");
      expect(await openWork(database, NOW)).toMatchObject({ turns: [] });
      expect(await recover(database, NOW)).toEqual({ turns: 1, messages: 1 });
      expect(await openWork(database, NOW)).toMatchObject({ turns: [{ chat, at: NOW }] });
    }
    const dead = await claimTurn(database, chat, {
      owner: "p4",
      now: NOW,
      until: NOW + 60_000,
      isOpen,
    });
    expect(dead.kind).toBe("dead");
  });

  it("hand out pieces in order, and hold a parked chat until it is opened", async () => {
    const database = await open();
    const { chat } = await put(database, text("a"));
    const piece = (words: string) =>
      ({
        chat,
        to: { channel: "toy", chat: "c" },
        turn: 1,
        seq: 0,
        body: { kind: "text", rendered: { text: words, marks: [] } },
      }) as const;
    await insertPieces(database.db, [piece("one"), piece("two")], NOW);
    const one = (await nextPiece(database, chat))!;
    await markSending(database, one.id, { now: NOW, settledAt: NOW });
    expect(await nextPiece(database, chat)).toMatchObject({ id: one.id, state: "sending", attempts: 1 });
    await endPiece(database, one.id, {
      state: "failed",
      error: "send.refused",
      now: NOW,
      further: { ...piece("a notice"), turn: 0 },
    });
    expect(await nextPiece(database, chat)).toMatchObject({ body: piece("two").body });
    await parkChat(database, chat, "send.chat_closed");
    expect(await nextPiece(database, chat)).toBeUndefined();
    expect(await openWork(database, NOW)).toMatchObject({ deliveries: [] });
    expect(await database.db.transaction().execute((trx) => unparkChat(trx, chat))).toBe(2);
    expect(await openWork(database, NOW)).toMatchObject({ deliveries: [{ chat }] });
  });

  it("forget what ended long ago, and nothing that is open", async () => {
    const database = await open();
    const { chat } = await put(database, text("done"));
    const by = { owner: "me", now: NOW, until: NOW + 60_000, isOpen };
    const claim = await claimTurn(database, chat, by);
    if (claim.kind !== "turn") throw new Error(claim.kind);
    await commitTurn(database, claim.turn, {
      state: "done",
      messages: "consumed",
      error: "",
      pieces: [],
      now: NOW,
    });
    await put(database, text("open"));
    expect(await prune(database, NOW)).toBe(0);
    expect(await prune(database, NOW + 1)).toBe(2);
    expect(await queued(database)).toMatchObject([{ state: "waiting" }]);
  });

  it("start fresh threads, and keep the count by agent", async () => {
    const database = await open();
    const { chat } = await put(database, text("a"));
    await freshThread(database.db, chat, "helper");
    await freshThread(database.db, chat, "helper");
    expect(await currentThread(database.db, chat, "helper")).toBe(`${chat}/helper/3`);
    expect(await currentThread(database.db, chat, "coder")).toBe(`${chat}/coder/1`);
  });

  it("make who presents the code the owner, once", async () => {
    const database = await open();
    expect(await claimCode(database, "toy", "first-code", NOW)).toBe("first-code");
    expect(await claimCode(database, "toy", "other-code", NOW)).toBe("first-code");
    const use = (code: string) => database.db.transaction().execute((trx) => useClaimCode(trx, "toy", code));
    expect([await use("other-code"), await use("first-code"), await use("first-code")]).toEqual([
      false,
      true,
      false,
    ]);
    await grant(database.db, {
      channel: "toy",
      person: "ada",
      role: "owner",
      grantedBy: "start link",
      at: NOW,
    });
    expect(await hasOwner(database, "toy")).toBe(true);
    expect(await revoke(database, "toy", "ada")).toBe(true);
    expect([await revoke(database, "toy", "ada"), await allGrants(database)]).toEqual([false, []]);
  });

  it("keep a connection's values in order, and its own", async () => {
    const database = await open();
    const [mine, other] = [stateOf(database, "toy"), stateOf(database, "other")];
    await mine.set({ "k/2": "b", "k/1": "a", "k/3": "c", l: "x" });
    await other.set({ "k/1": "not mine" });
    await mine.set({ "k/3": undefined, "k/1": "A" });
    expect(await mine.list("k/", { limit: 10 })).toEqual([
      ["k/1", "A"],
      ["k/2", "b"],
    ]);
    expect(await mine.list("k/", { after: "k/1", limit: 1 })).toEqual([["k/2", "b"]]);
    expect(await mine.get(["k/3", "l"])).toEqual(new Map([["l", "x"]]));
  });

  it("keep the chats of a renamed connection", async () => {
    const database = await open();
    const { chat } = await put(database, text("a"));
    await stateOf(database, "toy").set({ offset: "7" });
    await renameChannel(database, "toy", "family");
    expect(await database.db.transaction().execute((trx) => chatOf(trx, "family", MESSAGE.place))).toBe(chat);
    expect(await stateOf(database, "family").get(["offset"])).toEqual(new Map([["offset", "7"]]));
  });
});

describe("blobs", () => {
  const folders: string[] = [];
  afterEach(async () => {
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
  });

  async function* chunks(...parts: readonly string[]): AsyncIterable<Uint8Array> {
    for (const part of parts) yield new TextEncoder().encode(part);
  }

  it("are named by what they are, whole, and private", async () => {
    const folder = await mkdtemp(join(tmpdir(), "perch-blobs-"));
    folders.push(folder);
    const blobs = new FileBlobs(join(folder, "blobs"));
    const written = await blobs.write(chunks("he", "llo"), 5);
    expect(written).toMatchObject({
      bytes: 5,
      ref: "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    });
    expect(await blobs.put(new TextEncoder().encode("hello"))).toBe(written.ref);
    const path = join(folder, "blobs/2c", written.ref.slice(9));
    expect(await readFile(path, "utf8")).toBe("hello");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, "blobs"))).mode & 0o777).toBe(0o700);
  });

  it("leave nothing behind of what is too large, and name what is missing", async () => {
    const folder = await mkdtemp(join(tmpdir(), "perch-blobs-"));
    folders.push(folder);
    const blobs = new FileBlobs(folder);
    await expect(blobs.write(chunks("he", "llo"), 4)).rejects.toMatchObject({ code: "media.too_large" });
    await expect(blobs.read(`sha256:${"0".repeat(64)}`)).rejects.toMatchObject({ code: "blob.missing" });
    await expect(blobs.read("sha256:../../etc/passwd")).rejects.toMatchObject({ code: "blob.missing" });
    expect(await readdir(folder)).toEqual([]);
  });

  it("are rid of the halves that a killed writer left behind, and of nothing else", async () => {
    const folder = await mkdtemp(join(tmpdir(), "perch-blobs-"));
    folders.push(folder);
    const blobs = new FileBlobs(folder);
    expect(await new FileBlobs(join(folder, "none yet")).sweep(Date.now())).toBe(0);
    const whole = await blobs.put(Buffer.from("hello"));
    async function* slow(): AsyncIterable<Uint8Array> {
      yield Buffer.from("half");
      const { mtimeMs } = await stat(join(folder, await half()));
      expect(await blobs.sweep(mtimeMs)).toBe(0); // it is not older
      expect(await blobs.sweep(mtimeMs + 1)).toBe(1);
      throw new Error("killed");
    }
    const half = async (): Promise<string> =>
      (await readdir(folder)).find((name) => name.includes("partial")) ?? "";
    await expect(blobs.write(slow(), 100)).rejects.toThrow("killed");
    expect(await half()).toBe("");
    expect(Buffer.from(await blobs.read(whole)).toString()).toBe("hello");
  });

  it("are rid of folders in which somebody worked who was killed", async () => {
    const folder = await mkdtemp(join(tmpdir(), "perch-blobs-"));
    folders.push(folder);
    const blobs = new FileBlobs(join(folder, "blobs"));
    const scratch = await blobs.scratch();
    expect((await stat(scratch)).mode & 0o777).toBe(0o700);
    await writeFile(join(scratch, "sound.wav"), "half");
    const { mtimeMs } = await stat(scratch);
    expect(await blobs.sweep(mtimeMs)).toBe(0);
    expect(await blobs.sweep(mtimeMs + 1)).toBe(1);
    expect(await readdir(join(folder, "blobs"))).toEqual([]);
  });
});

describe("what is open on SQLite", () => {
  const open = onSqlite();

  it("is found without reading what is done", async () => {
    const database = await open();
    const { chat } = await put(database);
    const queries: CompiledQuery[] = [];
    /** Keeps each query, to ask SQLite for its plan. */
    const keep: KyselyPlugin = {
      transformQuery({ node, queryId }) {
        const query = database.db.getExecutor().compileQuery(node, queryId);
        if (!query.sql.startsWith("insert")) queries.push(query);
        return node;
      },
      transformResult: async ({ result }) => result,
    };
    const db = database.db.withPlugin(keep);
    const seen: Database = { ...database, db, light: (work) => db.transaction().execute(work) };
    await openWork(seen, NOW);
    await suspects(seen);
    await nextPiece(seen, chat);
    await parkChat(seen, chat, "closed");
    await unparkChat(db, chat);
    await countWaiting(db, chat);
    await hasAlbum(db, chat, { channel: "toy", sender: "ada", album: "album", now: NOW });
    await isInIntent(db, chat, { intent: 1, ref: "1" });
    await latestIntent(db, { chat, sender: "ada", agent: "helper", thread: "1/helper/1", album: "a" });
    await finishAttachment(seen, 1, { blocks: [], outcome: "seen" });
    const claim = await claimTurn(seen, chat, { owner: "me", now: NOW, until: NOW + 60_000, isOpen });
    if (claim.kind !== "turn") throw new Error(`the claim is ${claim.kind}`);
    const end = { state: "done", messages: "consumed", error: "", pieces: [], now: NOW } as const;
    await commitTurn(seen, claim.turn, end);
    await withdrawWaiting(db, chat, NOW);
    await trimAsides(db, chat, { type: "message", keep: 3, why: "", now: NOW });
    await dropAsides(db, chat, "helper", NOW);
    await rowsOf(db, chat, "1");
    await isNewestTurn(db, chat, claim.turn.id);
    await windowOf(db, chat, 1);
    await withdrawFollowing(db, chat, { messages: [1], now: NOW });
    await answerBefore(seen, 1);
    await pendingReaction(db, { chat, ref: "1", sender: "ada" });
    await ownMessage(db, { channel: "toy", chat: "c", ref: "1" });
    const scans: string[] = [];
    for (const { sql, parameters } of queries) {
      const plan = CompiledQuery.raw(`explain query plan ${sql}`, [...parameters]);
      const { rows } = await database.db.executeQuery<{ readonly detail: string }>(plan);
      scans.push(
        ...rows.map((row) => row.detail).filter((detail) => /^SCAN (?!.*_(?:open|doubt))/.test(detail)),
      );
    }
    expect(queries.length).toBeGreaterThan(10);
    expect(scans).toEqual([]);
  });
});
