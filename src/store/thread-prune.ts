import type { Transaction } from "kysely";
import type { CheckpointCommit, MessageKey, StoredValue } from "../core/threads.ts";
import type { Tables } from "./tables.ts";
import { allLists, inFull } from "./thread-lists.ts";
import type { Sources } from "./thread-rows.ts";

type Trx = Transaction<Tables>;

/** Leaves the newest checkpoint of each namespace, and what a pending interrupt needs: its writes and its subgraphs. */
export async function prune(trx: Trx, commit: CheckpointCommit, sources: Sources): Promise<void> {
  const { thread, namespace, id } = commit;
  await trx
    .deleteFrom("thread_checkpoint")
    .where("thread", "=", thread)
    .where("namespace", "=", namespace)
    .where("id", "!=", id)
    .execute();
  await trx
    .deleteFrom("thread_value")
    .where("thread", "=", thread)
    .where("namespace", "=", namespace)
    .where((eb) =>
      eb.not(
        eb.or(
          Object.entries(sources).map(([channel, source]) =>
            eb.and([eb("channel", "=", channel), eb("source", "=", source)]),
          ),
        ),
      ),
    )
    .execute();
  // Writes of later steps may have come before this checkpoint, since only checkpoints wait for each other.
  await trx
    .deleteFrom("thread_write")
    .where("thread", "=", thread)
    .where("namespace", "=", namespace)
    .where("checkpoint", "<", id)
    .execute();
  if (namespace === "") await dropFinishedTasks(trx, commit);
  if (commit.rewritten) await dropOrphans(trx, thread);
}

/**
 * A namespace with ":" belongs to one run of one task (`tools:<task>`). It is needed while the outermost checkpoint
 * during which it was made is the newest: then its task has not ended, or waits for an answer.
 */
async function dropFinishedTasks(trx: Trx, { thread, id }: CheckpointCommit): Promise<void> {
  const ended = await trx
    .selectFrom("thread_checkpoint")
    .select("namespace")
    .distinct()
    .where("thread", "=", thread)
    .where("namespace", "like", "%:%")
    .where("root", "!=", id)
    .execute();
  if (ended.length === 0) return;
  const namespaces = ended.map(({ namespace }) => namespace);
  for (const table of ["thread_checkpoint", "thread_value", "thread_write"] as const) {
    await trx.deleteFrom(table).where("thread", "=", thread).where("namespace", "in", namespaces).execute();
  }
}

/** Deletes lists and messages that nothing means any more: what a rewritten history has left behind. */
async function dropOrphans(trx: Trx, thread: string): Promise<void> {
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

async function allRefs(
  trx: Trx,
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
