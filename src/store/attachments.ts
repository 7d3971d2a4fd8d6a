import type { AttachmentOutcome, ContentBlock, Unfetched } from "../core/blocks.ts";
import type { MessageEvent } from "../core/events.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Database } from "./database.ts";
import type { Queries } from "./tables.ts";

/** Marks the media of a message as to be fetched; gives the numbers of the rows. */
export async function insertAttachments(
  trx: Queries,
  inboxId: number,
  of: { readonly chat: ChatId; readonly channel: ChannelId; readonly event: MessageEvent },
): Promise<readonly number[]> {
  const rows = of.event.content.flatMap((part, seq) =>
    part.type === "unfetched"
      ? [
          {
            inbox_id: inboxId,
            seq,
            chat_id: of.chat,
            channel: of.channel,
            state: "waiting" as const,
            attempts: 0,
            blocks: "",
            outcome: "",
          },
        ]
      : [],
  );
  if (rows.length === 0) return [];
  const inserted = await trx.insertInto("attachment").values(rows).returning("id").execute();
  return inserted.map((row) => row.id);
}

export type AttachmentTask = {
  readonly id: number;
  readonly chat: ChatId;
  readonly channel: ChannelId;
  /** How many times it was begun, this one included. A fetch that kills the process is seen here. */
  readonly attempt: number;
  readonly unfetched: Unfetched;
};

/** Begins a fetch, counted before the first byte; undefined when it is done already. */
export async function beginAttachment(database: Database, id: number): Promise<AttachmentTask | undefined> {
  return await database.db.transaction().execute(async (trx) => {
    const row = await trx
      .updateTable("attachment")
      .set((eb) => ({ attempts: eb("attempts", "+", 1) }))
      .where("id", "=", id)
      .where("state", "=", "waiting")
      .returning(["inbox_id", "seq", "chat_id", "channel", "attempts"])
      .executeTakeFirst();
    if (!row) return undefined;
    const { payload } = await trx
      .selectFrom("inbox")
      .select("payload")
      .where("id", "=", row.inbox_id)
      .executeTakeFirstOrThrow();
    const event = JSON.parse(payload) as MessageEvent; // written by insertEvent from a MessageEvent
    const unfetched = event.content[row.seq] as Unfetched; // insertAttachments took the place from this content
    return {
      id,
      chat: row.chat_id,
      channel: row.channel,
      attempt: row.attempts,
      unfetched,
    };
  });
}

/** What a fetch that was interrupted by us, not by a crash, gives back. */
export async function giveBackAttachment(database: Database, id: number): Promise<void> {
  await database.db
    .updateTable("attachment")
    .set((eb) => ({ attempts: eb("attempts", "-", 1) }))
    .where("id", "=", id)
    .where("state", "=", "waiting")
    .execute();
}

export async function finishAttachment(
  database: Database,
  id: number,
  taken: { readonly blocks: readonly ContentBlock[]; readonly outcome: AttachmentOutcome },
): Promise<void> {
  await database.db
    .updateTable("attachment")
    .set({ state: "done", blocks: JSON.stringify(taken.blocks), outcome: taken.outcome })
    .where("id", "=", id)
    .where("state", "=", "waiting")
    .execute();
}
