import { mkdtemp, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { BlobRef, MediaBlock } from "../../src/core/blocks.ts";
import type { ChatId } from "../../src/core/identity.ts";
import { finishAttachment } from "../../src/store/attachments.ts";
import { BlobUpkeep } from "../../src/store/blob-upkeep.ts";
import { refsIn, surveyUses, unused } from "../../src/store/blob-use.ts";
import { FileBlobs } from "../../src/store/blobs.ts";
import { chatOf } from "../../src/store/chats.ts";
import type { Database } from "../../src/store/database.ts";
import { insertPieces } from "../../src/store/pieces.ts";
import { endPiece } from "../../src/store/sending.ts";
import { threadStore } from "../../src/store/threads.ts";
import { eachDatabase } from "../support/database.ts";

const NOW = Date.parse("2026-06-01T00:00:00Z");
const DAY = 24 * 3_600_000;

const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function blobsHere(): Promise<{
  readonly blobs: FileBlobs;
  put(text: string, at: number): Promise<BlobRef>;
}> {
  const folder = await mkdtemp(join(tmpdir(), "perch-uses-"));
  folders.push(folder);
  const blobs = new FileBlobs(join(folder, "blobs"));
  return {
    blobs,
    async put(text, at) {
      const ref = await blobs.put(Buffer.from(text));
      await utimes(blobs.pathOf(ref), at / 1_000, at / 1_000);
      return ref;
    },
  };
}

const chatIn = (database: Database, chat: string): Promise<ChatId> =>
  database.db.transaction().execute((trx) => chatOf(trx, "toy", { chat, kind: "private" }));

const image = (blob: BlobRef): MediaBlock => ({ type: "image", mimeType: "image/png", blob, bytes: 3 });

async function uses(database: Database): Promise<readonly string[]> {
  const rows = await database.db
    .selectFrom("blob_use")
    .select(["blob", "chat_id"])
    .orderBy("blob")
    .orderBy("chat_id")
    .execute();
  return rows.map(({ blob, chat_id }) => `${blob.slice("sha256:".length, "sha256:".length + 4)} ${chat_id}`);
}

const short = (ref: BlobRef, chat: ChatId): string =>
  `${ref.slice("sha256:".length, "sha256:".length + 4)} ${chat}`;

async function attached(database: Database, chat: ChatId, blocks: readonly MediaBlock[]): Promise<void> {
  const { id: inbox } = await database.db
    .insertInto("inbox")
    .values({
      channel: "toy",
      chat_id: chat,
      event_key: `${Math.random()}`,
      payload_hash: "",
      type: "message",
      payload: "{}",
      content_hash: "",
      sender: "ada",
      ref: "",
      about: 0,
      state: "waiting",
      why: "",
      agent: "helper",
      thread: "",
      intent: 1,
      album: "",
      received_at: 1,
      due_at: 1,
      claims: 0,
      turn_id: 0,
      ended_at: 0,
      trace: "{}",
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  const { id } = await database.db
    .insertInto("attachment")
    .values({
      inbox_id: inbox,
      seq: 0,
      chat_id: chat,
      channel: "toy",
      state: "waiting",
      attempts: 1,
      blocks: "",
      outcome: "",
      notice: "",
      notice_values: "",
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await finishAttachment(database, id, { blocks, outcome: "seen" });
}

async function inThread(database: Database, thread: string, id: string, text: string): Promise<void> {
  const key = `${"h".repeat(22)}:${id}`;
  await threadStore(database).put({
    thread,
    namespace: "",
    id,
    parent: "",
    root: id,
    body: "{}",
    metadata: { type: "json", mark: "", bytes: Buffer.from("{}"), lists: [], messages: [] },
    values: [
      { channel: "messages", type: "json", mark: "", bytes: Buffer.from("[]"), lists: [], messages: [key] },
    ],
    inherited: [],
    prune: true,
    rewritten: true,
    messages: [{ key, mark: "", body: Buffer.from(text) }],
    lists: [],
    needs: { messages: [], lists: [] },
  });
}

it("finds references wherever they stand", () => {
  const [a, b] = ["a", "b"].map((sign): BlobRef => `sha256:${sign.repeat(64)}`);
  expect(refsIn(`{"blob":"${a}","stills":[{"blob":"${b}"},{"blob":"${a}"}]} sha256:zz`)).toEqual([a, b]);
  expect(refsIn("nothing")).toEqual([]);
});

eachDatabase("who uses a blob", (open) => {
  it("is written down with what is taken in, what is to be sent, and what enters a thread", async () => {
    const database = await open();
    const { put } = await blobsHere();
    const [one, two] = [await chatIn(database, "one"), await chatIn(database, "two")];
    const [taken, still, sent, seen] = [
      await put("a", NOW),
      await put("b", NOW),
      await put("c", NOW),
      await put("d", NOW),
    ];
    await attached(database, one, [
      { ...image(taken), stills: [{ blob: still, bytes: 1, width: 1, height: 1, label: "1" }] },
    ]);
    const body = { kind: "media", as: "image", media: image(sent) } as const;
    const piece = { chat: two, to: { channel: "toy", chat: "two" }, turn: 1, seq: 0, body };
    await database.db.transaction().execute((trx) => insertPieces(trx, [piece], NOW));
    await inThread(database, `${two}/helper/1`, "1", `{"blob":"${seen}"}`);
    const expected = [short(taken, one), short(still, one), short(sent, two), short(seen, two)];
    expect(await uses(database)).toEqual(expected.toSorted());
    expect(await unused(database.db, [taken, `sha256:${"0".repeat(64)}`])).toEqual([
      `sha256:${"0".repeat(64)}`,
    ]);
  });

  it("is found again by what chats show, and ends where nothing of them names it any more", async () => {
    const database = await open();
    const { put } = await blobsHere();
    const chat = await chatIn(database, "one");
    const [waiting, sent, threaded, over] = [
      await put("a", NOW),
      await put("b", NOW),
      await put("c", NOW),
      await put("d", NOW),
    ];
    await attached(database, chat, [image(waiting)]);
    const body = { kind: "media", as: "image", media: image(sent) } as const;
    const piece = { chat, to: { channel: "toy", chat: "one" }, turn: 1, seq: 0, body };
    await database.db.transaction().execute((trx) => insertPieces(trx, [piece], NOW));
    await inThread(database, `${chat}/helper/1`, "1", `{"blob":"${over}"}`);
    await inThread(database, `${chat}/helper/1`, "2", `{"blob":"${threaded}"}`);
    // As if it had never been written down: rows of before the table was there.
    await database.db.deleteFrom("blob_use").where("blob", "!=", over).execute();
    await surveyUses(database, chat);
    expect(await uses(database)).toEqual(
      [short(waiting, chat), short(sent, chat), short(threaded, chat)].toSorted(),
    );
    await database.db.updateTable("inbox").set({ payload: "" }).execute();
    await endPiece(database, 1, { state: "sent", ids: ["1"], now: NOW });
    await surveyUses(database, chat);
    expect(await uses(database)).toEqual([short(threaded, chat)]);
  });

  it("keeps it; what nobody uses goes when all chats were gone over and it is older than a day", async () => {
    const database = await open();
    const { blobs, put } = await blobsHere();
    const old = NOW - 3 * DAY;
    for (let n = 0; n < 30; n += 1) await chatIn(database, `chat ${n}`);
    const last = await chatIn(database, "chat 29");
    const [used, free, young] = [
      await put("used", old),
      await put("free", old),
      await put("young", NOW - DAY / 2),
    ];
    await inThread(database, `${last}/helper/1`, "1", `{"blob":"${used}"}`);
    // The last chat, in the second step, is what uses it.
    await database.db.deleteFrom("blob_use").execute();
    const upkeep = new BlobUpkeep(database, blobs);
    expect(await upkeep.step(NOW)).toBe(0);
    await blobs.read(free);
    expect(await upkeep.step(NOW)).toBe(1);
    await expect(blobs.read(free)).rejects.toMatchObject({ code: "blob.missing" });
    await Promise.all([blobs.read(used), blobs.read(young)]);
    // Once a day.
    await put("later", old);
    expect(await upkeep.step(NOW + 1_000)).toBe(0);
    await upkeep.step(NOW + DAY);
    expect(await upkeep.step(NOW + DAY)).toBe(2);
  });
});

it("keeps a blob that is put again meanwhile", async () => {
  const { blobs, put } = await blobsHere();
  const ref = await put("again", NOW - 3 * DAY);
  await blobs.put(Buffer.from("again"));
  expect(await blobs.remove(ref, NOW - DAY)).toBe(false);
  expect(Buffer.from(await blobs.read(ref)).toString()).toBe("again");
  expect(await blobs.remove(ref)).toBe(true);
  expect(await blobs.remove(ref)).toBe(false);
});
