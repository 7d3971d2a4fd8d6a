import type { Kysely } from "kysely";
import type { MessageKey, StoredList } from "../core/threads.ts";
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

/** As they are written down, by id. */
export async function allLists(db: Kysely<Tables>, thread: string): Promise<ReadonlyMap<string, StoredList>> {
  const rows = await db
    .selectFrom("thread_list")
    .select(["id", "parent", "keep", "own"])
    .where("thread", "=", thread)
    .execute();
  // Written by the store alone, from lists of keys.
  return new Map(rows.map(({ own, ...row }) => [row.id, { ...row, own: JSON.parse(own) as MessageKey[] }]));
}

/** Undefined when a part of it is not there. */
export function inFull(
  lists: ReadonlyMap<string, StoredList>,
  id: string,
): readonly MessageKey[] | undefined {
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
