import type { BlobRef } from "../core/blocks.ts";
import type { ChatId } from "../core/identity.ts";
import type { Database } from "./database.ts";
import { isOpenPiece, isPieceInDoubt } from "./open-rows.ts";
import { chunks } from "./thread-rows.ts";
import type { Queries } from "./tables.ts";
import { threadsOf } from "./thread-range.ts";

const REF = /sha256:[0-9a-f]{64}/g;

/** The blobs that a serialised thing names, wherever in it. */
export function refsIn(text: string): readonly BlobRef[] {
  return text.includes("sha256:") ? [...new Set(text.match(REF))].map((ref) => ref as BlobRef) : []; // as REF has it
}

/** A chat names blobs from this transaction on: as long as it does they stay. */
export async function useBlobs(trx: Queries, chat: ChatId, refs: readonly BlobRef[]): Promise<void> {
  for (const chunk of chunks([...new Set(refs)]))
    await trx
      .insertInto("blob_use")
      .values(chunk.map((blob) => ({ blob, chat_id: chat })))
      .onConflict((conflict) => conflict.columns(["blob", "chat_id"]).doNothing())
      .execute();
}

/** Of these, the blobs that no chat uses. */
export async function unused(db: Queries, refs: readonly BlobRef[]): Promise<readonly BlobRef[]> {
  const used = new Set<string>();
  for (const chunk of chunks(refs)) {
    const rows = await db.selectFrom("blob_use").select("blob").where("blob", "in", chunk).execute();
    for (const { blob } of rows) used.add(blob);
  }
  return refs.filter((ref) => !used.has(ref));
}

/** The next chats by number, behind `after`, that are to be gone over. */
export async function chatsAfter(db: Queries, after: number, limit: number): Promise<readonly ChatId[]> {
  const rows = await db
    .selectFrom("chat")
    .select("id")
    .where("id", ">", after as ChatId)
    .orderBy("id")
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/**
 * Brings the uses of a chat in step with what it shows: threads, what waits or is told later, and what is still to be sent.
 * What nothing of it names any more is used no longer. Whatever was not written down as a use is, so that no fault of ours
 * takes away what somebody can still see.
 */
export async function surveyUses(database: Database, chat: ChatId): Promise<void> {
  await database.light(async (trx) => {
    const named = await namedBy(trx, chat);
    const rows = await trx.selectFrom("blob_use").select("blob").where("chat_id", "=", chat).execute();
    const known = new Set(rows.map(({ blob }) => blob));
    const fresh = [...named].filter((ref) => !known.has(ref));
    await useBlobs(trx, chat, fresh);
    const over = [...known].filter((blob) => !named.has(blob as BlobRef)); // as it was written down
    for (const chunk of chunks(over))
      await trx.deleteFrom("blob_use").where("chat_id", "=", chat).where("blob", "in", chunk).execute();
  });
}

async function namedBy(trx: Queries, chat: ChatId): Promise<ReadonlySet<BlobRef>> {
  const named = new Set<BlobRef>();
  const add = (text: string | Uint8Array): void => {
    for (const ref of refsIn(typeof text === "string" ? text : Buffer.from(text).toString("latin1")))
      named.add(ref);
  };
  const messages = await trx.selectFrom("thread_message").select("body").where(threadsOf(chat)).execute();
  for (const { body } of messages) add(body);
  for (const table of ["thread_value", "thread_write"] as const) {
    const rows = await trx.selectFrom(table).select("bytes").where(threadsOf(chat)).execute();
    for (const { bytes } of rows) add(bytes);
  }
  const attachments = await trx
    .selectFrom("attachment")
    .select("blocks")
    .where("inbox_id", "in", (eb) =>
      eb.selectFrom("inbox").select("id").where("chat_id", "=", chat).where("payload", "!=", ""),
    )
    .execute();
  for (const { blocks } of attachments) add(blocks);
  for (const open of [isOpenPiece, isPieceInDoubt]) {
    const pieces = await trx
      .selectFrom("piece")
      .select("body")
      .where("chat_id", "=", chat)
      .where(open)
      .execute();
    for (const { body } of pieces) add(body);
  }
  return named;
}
