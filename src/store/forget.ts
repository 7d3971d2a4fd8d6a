import type { BlobRef } from "../core/blocks.ts";
import type { ChannelId, ChatAddress, ChatId } from "../core/identity.ts";
import { forgetApprovals } from "./approval-upkeep.ts";
import { FORGOTTEN } from "./attachments.ts";
import { refsIn } from "./blob-use.ts";
import { addressOf, freshThread } from "./chats.ts";
import type { Database } from "./database.ts";
import { keepStill } from "./holds.ts";
import { insertPieces, type NewPiece } from "./pieces.ts";
import type { Queries } from "./tables.ts";
import { threadsOf } from "./thread-range.ts";

/** What was deleted of a chat. Media are all that it has named, the files of its folder are counted by themselves. */
export type ForgetCounts = {
  readonly messages: number;
  readonly media: number;
  readonly facts: number;
  readonly checkpoints: number;
};

/**
 * Deletes what was said in a chat and all that came of it, in the transaction that takes the wish in: whoever holds the chat
 * holds it no longer, so that a running turn brings nothing back. What recognises repeats stays, without a word: a message
 * that is handed over again is not answered anew. Its files and blobs are `pendingForgets`.
 */
export async function forgetChat(
  trx: Queries,
  of: {
    readonly chat: ChatId;
    readonly to: ChatAddress;
    /** In private: who is forgotten, also where they have spoken in other chats of this connection. */
    readonly person?: string;
    readonly now: number;
  },
): Promise<void> {
  const { chat, to, now } = of;
  await keepStill(trx, chat);
  const named = await everNamed(trx, chat);
  const blobs = await usedBy(trx, named);
  const threads = await dropThreads(trx, chat, named);
  const waiting = await dropWords(trx, chat, now);
  const facts = await dropFacts(trx, of);
  const { checkpoints } = threads;
  const counts = { messages: threads.messages + waiting, media: blobs.length, facts, checkpoints };
  await dropSent(trx, chat, now);
  await trx
    .updateTable("turn")
    .set({ state: "stopped", ended_at: now })
    .where("chat_id", "=", chat)
    .where("state", "=", "running")
    .execute();
  await trx
    .updateTable("chat")
    .set((eb) => ({ owner: "", until: 0, epoch: eb("epoch", "+", 1) }))
    .where("id", "=", chat)
    .execute();
  await note(trx, { chat, to, now, counts, blobs });
  // Of a chat that it has taken over there is a folder, too.
  for (const other of named)
    if (other !== chat) await note(trx, { chat: other, to, now, counts, blobs: [], told: true });
}

async function usedBy(trx: Queries, chats: readonly ChatId[]): Promise<readonly BlobRef[]> {
  const rows = await trx.deleteFrom("blob_use").where("chat_id", "in", chats).returning("blob").execute();
  return [...new Set(rows.map(({ blob }) => blob as BlobRef))]; // as useBlobs has written it
}

/** The threads of all agents, and what was kept beside them; who speaks next begins a new one. */
async function dropThreads(
  trx: Queries,
  chat: ChatId,
  named: readonly ChatId[],
): Promise<Pick<ForgetCounts, "messages" | "checkpoints">> {
  const agents = await trx
    .selectFrom("inbox")
    .select("agent")
    .distinct()
    .where("chat_id", "=", chat)
    .where("agent", "!=", "")
    .execute();
  for (const { agent } of agents) await freshThread(trx, chat, agent);
  const gone = { messages: 0, checkpoints: 0 };
  for (const each of named) {
    const messages = await trx
      .selectFrom("thread_message")
      .select(["thread", "id"])
      .distinct()
      .where(threadsOf(each))
      .execute();
    const { numDeletedRows } = await trx
      .deleteFrom("thread_checkpoint")
      .where(threadsOf(each))
      .executeTakeFirstOrThrow();
    for (const table of ["thread_value", "thread_write", "thread_list", "thread_message"] as const)
      await trx.deleteFrom(table).where(threadsOf(each)).execute();
    gone.messages += messages.length;
    gone.checkpoints += Number(numDeletedRows);
  }
  for (const table of ["thread_fact", "effect", "background_task", "speaker"] as const)
    await trx.deleteFrom(table).where("chat_id", "=", chat).execute();
  await trx.deleteFrom("schedule").where("chat_id", "=", chat).where("origin", "=", "agent").execute();
  return gone;
}

/** The numbers that threads of a chat begin with: its own, and of each chat that it has taken over. */
async function everNamed(trx: Queries, chat: ChatId): Promise<readonly ChatId[]> {
  const rows = await trx
    .selectFrom("inbox")
    .select("thread")
    .distinct()
    .where("chat_id", "=", chat)
    .where("thread", "!=", "")
    .execute();
  return [...new Set([chat, ...rows.map(({ thread }) => Number(thread.split("/")[0]) as ChatId)])]; // as threadId makes them
}

/** What waits, and what is told later; gives how many messages that were. Of the rest the key and the hash stay. */
async function dropWords(trx: Queries, chat: ChatId, now: number): Promise<number> {
  await trx
    .deleteFrom("attachment")
    .where("chat_id", "=", chat)
    .where("state", "!=", "waiting")
    .where("outcome", "!=", FORGOTTEN)
    .execute();
  // Whoever fetches one is told, and keeps nothing of it.
  await trx
    .updateTable("attachment")
    .set({ state: "done", outcome: FORGOTTEN })
    .where("chat_id", "=", chat)
    .execute();
  const waiting = await trx
    .updateTable("inbox")
    .set({ state: "withdrawn", payload: "", ended_at: now })
    .where("chat_id", "=", chat)
    .where("payload", "!=", "")
    .returning("id")
    .execute();
  await trx
    .updateTable("inbox")
    .set({ content_hash: "", why: "", trace: JSON.stringify({ at: now, step: "forgotten" }) })
    .where("chat_id", "=", chat)
    .execute();
  return waiting.length;
}

/**
 * What is remembered of a group, or of a person and by what was said here. A run of another thread of theirs that has seen
 * what is deleted is begun anew.
 */
async function dropFacts(
  trx: Queries,
  { chat, to, person }: { readonly chat: ChatId; readonly to: ChatAddress; readonly person?: string },
): Promise<number> {
  const { numDeletedRows: said } = await trx
    .deleteFrom("memory_fact")
    .where((eb) =>
      eb.or([
        threadsOf(chat),
        eb.and({ channel: to.channel, scope: "chat", subject: String(chat) }),
        ...(person === undefined ? [] : [eb.and({ channel: to.channel, scope: "person", subject: person })]),
      ]),
    )
    .executeTakeFirstOrThrow();
  await trx.deleteFrom("memory_work").where("chat_id", "=", chat).execute();
  if (person !== undefined)
    await trx
      .updateTable("memory_work")
      .set((eb) => ({ epoch: eb("epoch", "+", 1), held_until: 0 }))
      .where("channel", "=", to.channel)
      .where("scope", "=", "person")
      .where("subject", "=", person)
      .execute();
  return Number(said);
}

/** What was to be sent is not; of what was, not a word is kept, nor where it stands. */
async function dropSent(trx: Queries, chat: ChatId, now: number): Promise<void> {
  await forgetApprovals(trx, chat, now);
  await trx
    .updateTable("piece")
    .set({ state: "cancelled", ended_at: now })
    .where("chat_id", "=", chat)
    .where("ended_at", "=", 0)
    .execute();
  await trx.updateTable("piece").set({ body: "", error: "" }).where("chat_id", "=", chat).execute();
  await trx.deleteFrom("sent").where("chat_id", "=", chat).execute();
  await trx
    .deleteFrom("choice")
    .where("question", "in", (eb) => eb.selectFrom("question").select("id").where("chat_id", "=", chat))
    .execute();
  await trx.deleteFrom("question").where("chat_id", "=", chat).execute();
}

async function note(
  trx: Queries,
  of: {
    readonly chat: ChatId;
    readonly to: ChatAddress;
    readonly now: number;
    readonly counts: ForgetCounts;
    readonly blobs: readonly BlobRef[];
    /** It is told of with another. */
    readonly told?: true;
  },
): Promise<void> {
  const { chat, to, now, counts } = of;
  // It was wished for twice, and the first is not done yet.
  const before = await trx
    .deleteFrom("forgotten")
    .where("chat_id", "=", chat)
    .returning(["blobs", "files", "counts", "told"])
    .executeTakeFirst();
  const earlier = before?.told === 0 ? (JSON.parse(before.counts) as ForgetCounts) : undefined; // as written below
  await trx
    .insertInto("forgotten")
    .values({
      chat_id: chat,
      channel: to.channel,
      to_chat: to.chat,
      to_topic: to.topic ?? "",
      at: now,
      counts: JSON.stringify(earlier ? sum(earlier, counts) : counts),
      blobs: JSON.stringify([...new Set([...refsIn(before?.blobs ?? ""), ...of.blobs])]),
      files: -1,
      told: of.told ? 1 : 0,
    })
    .execute();
}

function sum(one: ForgetCounts, other: ForgetCounts): ForgetCounts {
  return {
    messages: one.messages + other.messages,
    media: one.media + other.media,
    facts: one.facts + other.facts,
    checkpoints: one.checkpoints + other.checkpoints,
  };
}

/** A chat whose rows are deleted, and not yet all of its files. */
export type PendingForget = {
  readonly chat: ChatId;
  readonly channel: ChannelId;
  readonly to: ChatAddress;
  /** Epoch ms. */
  readonly at: number;
  readonly counts: ForgetCounts;
  readonly blobs: readonly BlobRef[];
  /** Undefined until they are counted: then they are set aside, and what is in the chat's folder now is of after that. */
  readonly files: number | undefined;
  readonly told: boolean;
};

export async function pendingForgets(db: Queries, chat?: ChatId): Promise<readonly PendingForget[]> {
  const rows = await db
    .selectFrom("forgotten")
    .selectAll()
    .$if(chat !== undefined, (query) => query.where("chat_id", "=", chat as ChatId)) // just looked at
    .execute();
  return rows.map((row) => ({
    chat: row.chat_id,
    channel: row.channel,
    to: addressOf(row.channel, row.to_chat, row.to_topic),
    at: row.at,
    counts: JSON.parse(row.counts) as ForgetCounts, // as note writes it
    blobs: refsIn(row.blobs),
    files: row.files < 0 ? undefined : row.files,
    told: row.told === 1,
  }));
}

/** The files are set aside, and so many; what another process has counted before it began to remove them stays. */
export async function noteFiles(db: Queries, chat: ChatId, files: number): Promise<void> {
  await db
    .updateTable("forgotten")
    .set({ files })
    .where("chat_id", "=", chat)
    .where("files", "=", -1)
    .execute();
}

/** What is said in the chat about it, planned with the mark that it is: once, whoever comes first. */
export async function noteTold(
  database: Database,
  chat: ChatId,
  pieces: readonly NewPiece[],
  now: number,
): Promise<void> {
  await database.db.transaction().execute(async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable("forgotten")
      .set({ told: 1 })
      .where("chat_id", "=", chat)
      .where("told", "=", 0)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows > 0n) await insertPieces(trx, pieces, now);
  });
}

export async function endForget(db: Queries, chat: ChatId): Promise<void> {
  await db.deleteFrom("forgotten").where("chat_id", "=", chat).where("told", "=", 1).execute();
}

/**
 * Whether somebody may be about to name a blob: media are being fetched, or a turn runs. Also in the chat that was forgotten,
 * where people have gone on since.
 */
export async function anybodyAtWork(db: Queries, now: number): Promise<boolean> {
  const fetching = await db
    .selectFrom("attachment")
    .select("id")
    .where("state", "=", "waiting")
    .limit(1)
    .executeTakeFirst();
  if (fetching) return true;
  const held = await db
    .selectFrom("chat")
    .select("id")
    .where("owner", "!=", "")
    .where("until", ">", now)
    .limit(1)
    .executeTakeFirst();
  return held !== undefined;
}
