import type { ChannelId, ChatId } from "../core/identity.ts";
import { isOpenMessage } from "./open-rows.ts";
import { keepStill } from "./holds.ts";
import type { Queries } from "./tables.ts";

/** What the platform calls the newest message of a person that waits and no turn has begun with; undefined without one. */
export async function newestWaiting(
  trx: Queries,
  chat: ChatId,
  people: readonly string[],
): Promise<string | undefined> {
  await keepStill(trx, chat);
  const row = await trx
    .selectFrom("inbox")
    .select("ref")
    .where("chat_id", "=", chat)
    .where(isOpenMessage)
    .where("state", "=", "waiting")
    .where("turn_id", "=", 0)
    .where("type", "=", "message")
    .where("task", "=", "")
    .where("ref", "!=", "")
    .where("sender", "in", people)
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.ref;
}

/** Whether a turn has begun with a message of a person, and has not ended. */
export async function isAnswered(trx: Queries, chat: ChatId, people: readonly string[]): Promise<boolean> {
  const row = await trx
    .selectFrom("inbox")
    .select("id")
    .where("chat_id", "=", chat)
    .where(isOpenMessage)
    .where("turn_id", ">", 0)
    .where("intent", ">", 0)
    .where("sender", "in", people)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** What the message of ours answers that the platform calls so; undefined where it is none of ours, or answers nothing. */
export async function answeredBy(
  trx: Queries,
  at: { readonly channel: ChannelId; readonly chat: string; readonly ref: string },
): Promise<string | undefined> {
  const row = await trx
    .selectFrom("sent")
    .innerJoin("piece", "piece.id", "sent.piece_id")
    .select("piece.reply_to as ref")
    .where("sent.channel", "=", at.channel)
    .where("sent.chat", "=", at.chat)
    .where("sent.ref", "=", at.ref)
    .executeTakeFirst();
  return row === undefined || row.ref === "" ? undefined : row.ref;
}

/** What the platform calls the message of a row. */
export async function refOfRow(trx: Queries, chat: ChatId, row: number): Promise<string> {
  const found = await trx
    .selectFrom("inbox")
    .select("ref")
    .where("id", "=", row)
    .where("chat_id", "=", chat)
    .executeTakeFirst();
  return found?.ref ?? "";
}

/** A message that waits, as `/queue` lists it: never a word of its text. */
export type WaitingShown = { readonly id: number; readonly name: string; readonly receivedAt: number };

/** What waits in a chat, the oldest first. */
export async function shownWaiting(trx: Queries, chat: ChatId): Promise<readonly WaitingShown[]> {
  const rows = await trx
    .selectFrom("inbox")
    .select(["id", "payload", "received_at as receivedAt"])
    .where("chat_id", "=", chat)
    .where(isOpenMessage)
    .where("state", "=", "waiting")
    .where("intent", ">", 0)
    .where("task", "=", "")
    .orderBy("intent")
    .orderBy("id")
    .execute();
  return rows.map(({ id, payload, receivedAt }) => ({ id, name: nameIn(payload), receivedAt }));
}

/** Who has said it, as they call themselves; what begins by itself has nobody. */
function nameIn(payload: string): string {
  const { from } = JSON.parse(payload) as { readonly from?: { readonly name?: string } }; // as intake writes what waits
  return from?.name ?? "";
}
