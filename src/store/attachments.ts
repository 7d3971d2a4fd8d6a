import type { AttachmentOutcome, ContentBlock, Unfetched } from "../core/blocks.ts";
import type { EditEvent, MessageEvent } from "../core/events.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Notice } from "../core/sentences.ts";
import type { Database } from "./database.ts";
import { NOT_ADDRESSED, trimAsides } from "./asides.ts";
import { refsIn, useBlobs } from "./blob-use.ts";
import { type TraceStep, withTrace } from "./inbox.ts";
import type { Queries } from "./tables.ts";

/**
 * Marks media of a message as to be fetched; gives the numbers of the rows. What it quotes comes with it only on
 * request: where the quoted message stands beside it, its media are there already.
 */
export async function insertAttachments(
  trx: Queries,
  inboxId: number,
  of: {
    readonly chat: ChatId;
    readonly channel: ChannelId;
    readonly event: MessageEvent | EditEvent;
    readonly which: "own" | "quoted" | "all";
  },
): Promise<readonly number[]> {
  return await insertAt(trx, inboxId, of, seqsOf(of));
}

/**
 * The same of a message that was kept for a while: what became of its media before that stays, and what was not fetched then
 * is to be fetched now.
 */
export async function fetchWhatLacks(
  trx: Queries,
  inboxId: number,
  of: Parameters<typeof insertAttachments>[2],
): Promise<readonly number[]> {
  const rows = trx.deleteFrom("attachment").where("inbox_id", "=", inboxId).where("blocks", "=", "");
  await rows.execute();
  const kept = await trx.selectFrom("attachment").select("seq").where("inbox_id", "=", inboxId).execute();
  const there = new Set(kept.map(({ seq }) => seq));
  return await insertAt(
    trx,
    inboxId,
    of,
    seqsOf(of).filter((seq) => !there.has(seq)),
  );
}

function seqsOf({ event, which }: Parameters<typeof insertAttachments>[2]): readonly number[] {
  return announcedIn(event)
    .map(({ seq }) => seq)
    .filter((seq) => which === "all" || isQuoted(seq) === (which === "quoted"));
}

async function insertAt(
  trx: Queries,
  inboxId: number,
  of: { readonly chat: ChatId; readonly channel: ChannelId },
  seqs: readonly number[],
): Promise<readonly number[]> {
  if (seqs.length === 0) return [];
  const rows = seqs.map((seq) => ({
    inbox_id: inboxId,
    seq,
    chat_id: of.chat,
    channel: of.channel,
    state: "waiting" as const,
    attempts: 0,
    blocks: "",
    outcome: "",
    notice: "",
    notice_values: "",
  }));
  const inserted = await trx.insertInto("attachment").values(rows).returning("id").execute();
  return inserted.map((row) => row.id);
}

/**
 * Brings the media of a message that waits in step with what it says now. What is still there keeps what became of it,
 * wherever it stands now; what is gone is forgotten. Gives the numbers of what is new and to be fetched.
 */
export async function replaceAttachments(
  trx: Queries,
  inboxId: number,
  of: {
    readonly chat: ChatId;
    readonly channel: ChannelId;
    readonly before: MessageEvent["content"];
    readonly after: MessageEvent["content"];
  },
): Promise<readonly number[]> {
  const rows = await trx
    .selectFrom("attachment")
    .select(["id", "seq"])
    .where("inbox_id", "=", inboxId)
    .where("seq", ">=", 0)
    .orderBy("seq")
    .execute();
  const left = rows.map((row) => ({ ...row, looks: looksOf(of.before[row.seq]) }));
  const fresh: number[] = [];
  for (const [seq, part] of of.after.entries()) {
    if (part.type !== "unfetched") continue;
    const at = left.findIndex(({ looks }) => looks === looksOf(part));
    const [kept] = at < 0 ? [] : left.splice(at, 1);
    if (!kept) fresh.push(seq);
    else if (kept.seq !== seq)
      await trx.updateTable("attachment").set({ seq }).where("id", "=", kept.id).execute();
  }
  const gone = left.map(({ id }) => id);
  if (gone.length > 0) await trx.deleteFrom("attachment").where("id", "in", gone).execute();
  return await insertAt(trx, inboxId, of, fresh);
}

/** What a medium is known by: platforms give the same file out under another reference. */
function looksOf(part: MessageEvent["content"][number] | undefined): string {
  return part?.type === "unfetched" ? JSON.stringify([part.kind, part.declared]) : "";
}

/** The media of a message by the places of their rows: those of its content, and below 0 those of what it quotes. */
export function announcedIn({
  content,
  quote,
}: MessageEvent | EditEvent): readonly { readonly seq: number; readonly unfetched: Unfetched }[] {
  return [
    ...(quote?.media ?? []).map((unfetched, at) => ({ seq: quotedSeq(at), unfetched })),
    ...content.flatMap((part, seq) => (part.type === "unfetched" ? [{ seq, unfetched: part }] : [])),
  ];
}

/** The place of a medium of the quoted message, by its own place there. */
export function quotedSeq(at: number): number {
  return -1 - at;
}

export function isQuoted(seq: number): boolean {
  return seq < 0;
}

/**
 * Commits what became of an attachment, and with it, of a message that was listened to, whether it becomes a turn.
 * Gives the numbers of attachments that are to be fetched now; undefined where all of its chat was forgotten meanwhile.
 */
export async function finishAttachment(
  database: Database,
  id: number,
  taken: {
    readonly blocks: readonly ContentBlock[];
    readonly outcome: AttachmentOutcome;
    readonly notice?: Notice;
  },
  heard?: {
    readonly named: boolean;
    /** How many messages that are not for the agent are kept in its chat, to be told with a turn. */
    readonly context: number;
    readonly now: number;
  },
  /** Counts what it took, in the same transaction. */
  count?: (trx: Queries) => Promise<void>,
): Promise<readonly number[] | undefined> {
  return await database.db.transaction().execute(async (trx) => {
    const row = await trx
      .updateTable("attachment")
      .set({
        state: "done",
        blocks: JSON.stringify(taken.blocks),
        outcome: taken.outcome,
        notice: taken.notice?.key ?? "",
        notice_values: taken.notice === undefined ? "" : JSON.stringify(taken.notice.values),
      })
      .where("id", "=", id)
      .where("state", "=", "waiting")
      .returning(["inbox_id", "chat_id"])
      .executeTakeFirst();
    if (!row) return (await isForgotten(trx, id)) ? undefined : [];
    await useBlobs(trx, row.chat_id, refsIn(JSON.stringify(taken.blocks)));
    await count?.(trx);
    if (!heard) return [];
    return await (heard.named
      ? becomeTurn(trx, row.inbox_id, { at: heard.now, step: "called by name" })
      : refuseUnnamed(trx, row.inbox_id, heard));
  });
}

/** The outcome of what was being fetched when all of its chat was forgotten. */
export const FORGOTTEN = "forgotten";

async function isForgotten(trx: Queries, id: number): Promise<boolean> {
  const row = await trx
    .selectFrom("attachment")
    .select("id")
    .where("id", "=", id)
    .where("outcome", "=", FORGOTTEN)
    .executeTakeFirst();
  return row !== undefined;
}

/** What was listened to is for the agent: it waits for its turn like an addressed one, as an intent of its own. */
export async function becomeTurn(trx: Queries, inboxId: number, step: TraceStep): Promise<readonly number[]> {
  const row = await trx
    .updateTable("inbox")
    .set({ state: "waiting", intent: inboxId, trace: withTrace(step) })
    .where("id", "=", inboxId)
    .where("state", "=", "listening")
    .returning(["chat_id", "channel", "payload"])
    .executeTakeFirst();
  if (!row) return [];
  const event = JSON.parse(row.payload) as MessageEvent; // written by insertEvent from a MessageEvent
  return await insertAttachments(trx, inboxId, {
    chat: row.chat_id,
    channel: row.channel,
    event,
    which: "quoted",
  });
}

/** Nobody was called: once all of it is heard, the message is kept or forgotten like any other that is not for us. */
async function refuseUnnamed(
  trx: Queries,
  inboxId: number,
  { context, now }: { readonly context: number; readonly now: number },
): Promise<readonly number[]> {
  const more = await trx
    .selectFrom("attachment")
    .select("id")
    .where("inbox_id", "=", inboxId)
    .where("state", "=", "waiting")
    .limit(1)
    .executeTakeFirst();
  if (more) return [];
  const why = NOT_ADDRESSED;
  const unnamed = await trx
    .updateTable("inbox")
    .set(
      context > 0
        ? { state: "aside", why, agent: "", thread: "", trace: withTrace({ at: now, step: "aside", why }) }
        : {
            state: "refused",
            why,
            payload: "",
            ended_at: now,
            trace: withTrace({ at: now, step: "refused", why }),
          },
    )
    .where("id", "=", inboxId)
    .where("state", "=", "listening")
    .returning("chat_id")
    .executeTakeFirst();
  if (!unnamed) return [];
  await forgetTaken(trx, [inboxId]);
  if (context > 0)
    await trimAsides(trx, unnamed.chat_id, {
      type: "message",
      among: "overheard",
      keep: context,
      why,
      now,
    });
  return [];
}

/** What the media of messages became stands in their thread now, or nowhere; their outcomes are kept. */
export async function forgetTaken(trx: Queries, inboxIds: readonly number[]): Promise<void> {
  await trx
    .updateTable("attachment")
    .set({ blocks: "", notice_values: "" })
    .where("inbox_id", "in", inboxIds)
    .execute();
}
