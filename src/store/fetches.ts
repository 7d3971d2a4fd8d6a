import type { Unfetched } from "../core/blocks.ts";
import type { EditEvent, MessageEvent, Place, Sender } from "../core/events.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import { announcedIn } from "./attachments.ts";
import type { Database } from "./database.ts";

export type AttachmentTask = {
  readonly id: number;
  readonly chat: ChatId;
  readonly channel: ChannelId;
  /** How many times it was begun, this one included. A fetch that kills the process is seen here. */
  readonly attempt: number;
  readonly unfetched: Unfetched;
  /** Who will answer: what is made of a medium depends on who looks at it. */
  readonly agent: string;
  readonly place: Place;
  /** Who has sent it. */
  readonly from: Sender;
  /** Its message becomes a turn only if the agent is called by name in it. */
  readonly listening: boolean;
};

/** Where an attachment belongs that is still to be fetched. */
export async function placeOfAttachment(
  { db }: Database,
  id: number,
): Promise<{ readonly chat: ChatId; readonly channel: ChannelId } | undefined> {
  return await db
    .selectFrom("attachment")
    .select(["chat_id as chat", "channel"])
    .where("id", "=", id)
    .where("state", "=", "waiting")
    .executeTakeFirst();
}

/** Who fetches an attachment: it is theirs until then (epoch ms), unless they renew it. */
export type Fetcher = { readonly owner: string; readonly now: number; readonly until: number };

/** Begins a fetch, counted before the first byte; undefined when it is done already, or somebody is at it. */
export async function beginAttachment(
  database: Database,
  id: number,
  { owner, now, until }: Fetcher,
): Promise<AttachmentTask | undefined> {
  return await database.db.transaction().execute(async (trx) => {
    const row = await trx
      .updateTable("attachment")
      .set((eb) => ({ attempts: eb("attempts", "+", 1), owner, until }))
      .where("id", "=", id)
      .where("state", "=", "waiting")
      .where((eb) => eb.or([eb("owner", "in", ["", owner]), eb("until", "<=", now)]))
      .returning(["inbox_id", "seq", "chat_id", "channel", "attempts"])
      .executeTakeFirst();
    if (!row) return undefined;
    const { payload, agent, state } = await trx
      .selectFrom("inbox")
      .select(["payload", "agent", "state"])
      .where("id", "=", row.inbox_id)
      .executeTakeFirstOrThrow();
    const event = JSON.parse(payload) as MessageEvent | EditEvent; // nothing else has media
    const { unfetched } = announcedIn(event).find(({ seq }) => seq === row.seq)!; // insertAttachments took its place from here
    return {
      id,
      chat: row.chat_id,
      channel: row.channel,
      attempt: row.attempts,
      unfetched,
      agent,
      place: event.place,
      from: event.from,
      listening: state === "listening",
    };
  });
}

/** Whether a fetch is still theirs; then it is until the new end. */
export async function renewAttachment(
  { db }: Database,
  id: number,
  { owner, until }: Pick<Fetcher, "owner" | "until">,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("attachment")
    .set({ until })
    .where("id", "=", id)
    .where("state", "=", "waiting")
    .where("owner", "=", owner)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Others may fetch it at once. */
export async function leaveAttachment({ db }: Database, id: number, owner: string): Promise<void> {
  await db
    .updateTable("attachment")
    .set({ owner: "", until: 0 })
    .where("id", "=", id)
    .where("state", "=", "waiting")
    .where("owner", "=", owner)
    .execute();
}

/** Takes back the count of a fetch: it was interrupted by us, not by a crash, or can no longer end the process. */
export async function giveBackAttachment(database: Database, id: number): Promise<void> {
  await database.db
    .updateTable("attachment")
    .set((eb) => ({ attempts: eb("attempts", "-", 1) }))
    .where("id", "=", id)
    .where("state", "=", "waiting")
    .execute();
}
