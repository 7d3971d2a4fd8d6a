import type { Transaction } from "kysely";
import type {
  CheckpointAddress,
  CheckpointCommit,
  StoredCheckpoint,
  StoredMessage,
  StoredParts,
  StoredValue,
  StoredWrite,
  ThreadStore,
} from "../core/threads.ts";
import type { ChatId } from "../core/identity.ts";
import { refsIn, useBlobs } from "./blob-use.ts";
import type { Database } from "./database.ts";
import { assertHeld } from "./holds.ts";
import type { Tables } from "./tables.ts";
import { loadLists } from "./thread-lists.ts";
import { prune } from "./thread-prune.ts";
import {
  bytes,
  chunks,
  hashOf,
  idOf,
  sourcesOf,
  toCheckpoint,
  valueColumns,
  type Sources,
} from "./thread-rows.ts";

type Trx = Transaction<Tables>;

/** Checkpoints, pending writes and messages of all threads. */
export function threadStore(database: Database): ThreadStore {
  const { db } = database;
  return {
    read: (thread, namespace, id) =>
      // One snapshot: a checkpoint that is pruned while it is read would come back without its values.
      db
        .transaction()
        .setIsolationLevel("repeatable read")
        .execute((trx) => readCheckpoint(trx, thread, namespace, id)),

    async list({ thread, namespace, id, before, limit }) {
      if (limit !== undefined && limit <= 0) return [];
      let query = db
        .selectFrom("thread_checkpoint")
        .select(["thread", "namespace", "id"])
        .orderBy("id", "desc");
      if (thread !== undefined) query = query.where("thread", "=", thread);
      if (namespace !== undefined) query = query.where("namespace", "=", namespace);
      if (id !== undefined) query = query.where("id", "=", id);
      if (before !== undefined) query = query.where("id", "<", before);
      if (limit !== undefined) query = query.limit(limit);
      return await query.execute();
    },

    async messages(thread, keys) {
      const wanted = new Set(keys);
      const found: StoredMessage[] = [];
      for (const chunk of chunks([...wanted])) {
        const rows = await db
          .selectFrom("thread_message")
          .select(["id", "hash", "mark", "body"])
          .where("thread", "=", thread)
          .where("hash", "in", chunk.map(hashOf))
          .execute();
        for (const { id, hash, mark, body } of rows) {
          const key = `${hash}:${id}`;
          if (wanted.delete(key)) found.push({ key, mark, body });
        }
      }
      return found;
    },

    lists: (thread, ids) => loadLists(db, thread, ids),

    // A checkpoint that a power cut takes back is of a turn that is not committed either, and is run again.
    put: (commit, hold) =>
      database.light(async (trx) => {
        if (hold) await assertHeld(trx, hold);
        const sources = await takeOver(trx, commit);
        if (!sources || !(await hasAll(trx, commit.thread, commit))) return "stale";
        await insertParts(trx, commit.thread, commit);
        await insertCheckpoint(trx, commit, sources);
        await useNamed(trx, commit.thread, [
          ...commit.messages.map(({ body }) => body),
          ...commit.values.map(bytesOf),
        ]);
        if (commit.prune) await prune(trx, commit, sources);
        return "stored";
      }),

    putWrites: (at, writes, parts, hold) =>
      db.transaction().execute(async (trx) => {
        if (hold) await assertHeld(trx, hold);
        if (!(await hasAll(trx, at.thread, parts))) return "stale";
        await insertParts(trx, at.thread, parts);
        await insertWrites(trx, at, writes);
        await useNamed(trx, at.thread, [...parts.messages.map(({ body }) => body), ...writes.map(bytesOf)]);
        return "stored";
      }),

    delete: (thread, hold) =>
      db.transaction().execute(async (trx) => {
        if (hold) await assertHeld(trx, hold);
        await trx.deleteFrom("thread_checkpoint").where("thread", "=", thread).execute();
        await trx.deleteFrom("thread_value").where("thread", "=", thread).execute();
        await trx.deleteFrom("thread_write").where("thread", "=", thread).execute();
        await trx.deleteFrom("thread_list").where("thread", "=", thread).execute();
        await trx.deleteFrom("thread_message").where("thread", "=", thread).execute();
      }),
  };
}

async function readCheckpoint(
  trx: Trx,
  thread: string,
  namespace: string,
  id: string | undefined,
): Promise<StoredCheckpoint | undefined> {
  let query = trx
    .selectFrom("thread_checkpoint")
    .selectAll()
    .where("thread", "=", thread)
    .where("namespace", "=", namespace);
  query = id === undefined ? query.orderBy("id", "desc").limit(1) : query.where("id", "=", id);
  const row = await query.executeTakeFirst();
  if (!row) return undefined;
  const values = await trx
    .selectFrom("thread_value")
    .selectAll()
    .where("thread", "=", thread)
    .where("namespace", "=", namespace)
    .where("source", "in", [row.id, ...Object.values(sourcesOf(row))])
    .execute();
  const writes = await trx
    .selectFrom("thread_write")
    .selectAll()
    .where("thread", "=", thread)
    .where("namespace", "=", namespace)
    .where("checkpoint", "=", row.id)
    .orderBy("path")
    .orderBy("task")
    .orderBy("idx")
    .execute();
  return toCheckpoint(row, values, writes);
}

/** Where the values of the new checkpoint are kept; undefined when the parent that some stand in is gone. */
async function takeOver(trx: Trx, commit: CheckpointCommit): Promise<Sources | undefined> {
  const own = commit.values.map(({ channel }) => [channel, commit.id] as const);
  if (commit.parent === "" || commit.inherited.length === 0) return Object.fromEntries(own);
  const parent = await trx
    .selectFrom("thread_checkpoint")
    .select("sources")
    .where("thread", "=", commit.thread)
    .where("namespace", "=", commit.namespace)
    .where("id", "=", commit.parent)
    .executeTakeFirst();
  if (!parent) return undefined;
  const before = sourcesOf(parent);
  const inherited = commit.inherited.flatMap((channel) => {
    const source = before[channel];
    return source === undefined ? [] : [[channel, source] as const];
  });
  return Object.fromEntries([...inherited, ...own]);
}

async function hasAll(trx: Trx, thread: string, { needs }: StoredParts): Promise<boolean> {
  for (const chunk of chunks([...new Set(needs.lists)])) {
    const rows = await trx
      .selectFrom("thread_list")
      .select("id")
      .where("thread", "=", thread)
      .where("id", "in", chunk)
      .execute();
    if (rows.length < chunk.length) return false;
  }
  for (const chunk of chunks([...new Set(needs.messages)])) {
    const rows = await trx
      .selectFrom("thread_message")
      .select(["id", "hash"])
      .where("thread", "=", thread)
      .where("hash", "in", chunk.map(hashOf))
      .execute();
    const there = new Set(rows.map(({ id, hash }) => `${hash}:${id}`));
    if (chunk.some((key) => !there.has(key))) return false;
  }
  return true;
}

async function insertParts(trx: Trx, thread: string, parts: StoredParts): Promise<void> {
  for (const chunk of chunks(parts.messages)) {
    await trx
      .insertInto("thread_message")
      .values(
        chunk.map(({ key, mark, body }) => ({
          thread,
          hash: hashOf(key),
          id: idOf(key),
          mark,
          body: bytes(body),
        })),
      )
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  for (const chunk of chunks(parts.lists)) {
    await trx
      .insertInto("thread_list")
      .values(chunk.map(({ own, ...list }) => ({ thread, ...list, own: JSON.stringify(own) })))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/** What a thread names stays for its chat; threads of none are of no chat. */
async function useNamed(trx: Trx, thread: string, texts: readonly Uint8Array[]): Promise<void> {
  const chat = Number(thread.split("/")[0]);
  const refs = texts.flatMap((text) =>
    bytes(text).includes("sha256:") ? refsIn(bytes(text).toString("latin1")) : [],
  );
  if (refs.length > 0 && Number.isSafeInteger(chat)) await useBlobs(trx, chat as ChatId, refs);
}

function bytesOf({ bytes: value }: StoredValue): Uint8Array {
  return value;
}

async function insertCheckpoint(trx: Trx, commit: CheckpointCommit, sources: Sources): Promise<void> {
  const { thread, namespace, id, parent, root, body } = commit;
  for (const chunk of chunks(commit.values)) {
    await trx
      .insertInto("thread_value")
      .values(
        chunk.map((value) => ({
          thread,
          namespace,
          source: id,
          channel: value.channel,
          ...valueColumns(value),
        })),
      )
      .onConflict((conflict) =>
        conflict.columns(["thread", "namespace", "source", "channel"]).doUpdateSet((eb) => ({
          type: eb.ref("excluded.type"),
          mark: eb.ref("excluded.mark"),
          bytes: eb.ref("excluded.bytes"),
          refs: eb.ref("excluded.refs"),
        })),
      )
      .execute();
  }
  const { bytes: metadata, ...columns } = valueColumns(commit.metadata);
  const rest = { parent, root, body, sources: JSON.stringify(sources), metadata, ...columns };
  await trx
    .insertInto("thread_checkpoint")
    .values({ thread, namespace, id, ...rest })
    .onConflict((conflict) => conflict.columns(["thread", "namespace", "id"]).doUpdateSet(rest))
    .execute();
}

async function insertWrites(trx: Trx, at: CheckpointAddress, writes: readonly StoredWrite[]): Promise<void> {
  for (const write of writes) {
    const { channel, path, task, index } = write;
    const rest = { path, channel, ...valueColumns(write) };
    await trx
      .insertInto("thread_write")
      .values({
        thread: at.thread,
        namespace: at.namespace,
        checkpoint: at.id,
        task,
        idx: index,
        ...rest,
      })
      .onConflict((conflict) => {
        const same = conflict.columns(["thread", "namespace", "checkpoint", "task", "idx"]);
        // A task that runs again gives the same writes; an error, an interrupt or a resume may have changed.
        return index < 0 ? same.doUpdateSet(rest) : same.doNothing();
      })
      .execute();
  }
}
