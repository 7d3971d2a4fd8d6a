import type { Kysely, Transaction } from "kysely";
import type { MessageKey, StoredList, StoredValue } from "../core/threads.ts";
import type { Tables } from "./tables.ts";

/** Lists in full. One that is not there is missing from the answer. */
export async function loadLists(
  db: Kysely<Tables>,
  thread: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly MessageKey[]>> {
  if (ids.length === 0) return new Map();
  const lists = await allLists(db, thread);
  const full = new Map<string, readonly MessageKey[]>();
  for (const id of ids) {
    const keys = inFull(lists, id);
    if (keys) full.set(id, keys);
  }
  return full;
}

/** Deletes lists and messages that nothing means any more: what a rewritten history has left behind. */
export async function dropOrphans(trx: Transaction<Tables>, thread: string): Promise<void> {
  const lists = await allLists(trx, thread);
  const usedLists = new Set<string>();
  const usedMessages = new Set<MessageKey>();
  for (const refs of await allRefs(trx, thread)) {
    for (const key of refs.messages) usedMessages.add(key);
    for (const id of refs.lists) {
      for (const key of inFull(lists, id) ?? []) usedMessages.add(key);
      for (let list = lists.get(id); list; list = lists.get(list.parent)) usedLists.add(list.id);
    }
  }
  for (const id of lists.keys()) {
    if (usedLists.has(id)) continue;
    await trx.deleteFrom("thread_list").where("thread", "=", thread).where("id", "=", id).execute();
  }
  const messages = await trx
    .selectFrom("thread_message")
    .select(["id", "hash"])
    .where("thread", "=", thread)
    .execute();
  for (const { id, hash } of messages) {
    if (usedMessages.has(`${hash}:${id}`)) continue;
    await trx
      .deleteFrom("thread_message")
      .where("thread", "=", thread)
      .where("id", "=", id)
      .where("hash", "=", hash)
      .execute();
  }
}

async function allLists(db: Kysely<Tables>, thread: string): Promise<ReadonlyMap<string, StoredList>> {
  const rows = await db
    .selectFrom("thread_list")
    .select(["id", "parent", "keep", "own"])
    .where("thread", "=", thread)
    .execute();
  // Written by the store alone, from lists of keys.
  return new Map(rows.map(({ own, ...row }) => [row.id, { ...row, own: JSON.parse(own) as MessageKey[] }]));
}

function inFull(lists: ReadonlyMap<string, StoredList>, id: string): readonly MessageKey[] | undefined {
  const chain: StoredList[] = [];
  for (let at = id; at !== "";) {
    const list = lists.get(at);
    if (!list) return undefined;
    chain.push(list);
    at = list.keep === 0 ? "" : list.parent;
  }
  const keys: MessageKey[] = [];
  for (const list of chain.toReversed()) {
    keys.length = Math.min(keys.length, list.keep);
    for (const key of list.own) keys.push(key);
  }
  return keys;
}

async function allRefs(
  trx: Transaction<Tables>,
  thread: string,
): Promise<readonly Pick<StoredValue, "lists" | "messages">[]> {
  const kept = await Promise.all(
    (["thread_checkpoint", "thread_value", "thread_write"] as const).map((table) =>
      trx.selectFrom(table).select("refs").where("thread", "=", thread).execute(),
    ),
  );
  // Written by the store alone.
  return kept.flat().map(({ refs }) => JSON.parse(refs) as Pick<StoredValue, "lists" | "messages">);
}
