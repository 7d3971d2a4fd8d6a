import type { ContentBlock } from "../core/blocks.ts";
import type { ChatId } from "../core/identity.ts";
import type { Notice, SentenceKey } from "../core/sentences.ts";
import type { AttachmentRow, InboxRow, InboxTask } from "./fact-tables.ts";
import type { TakenAttachment, TurnEvent, WaitingMessage } from "./inbox.ts";
import { isOpenMessage } from "./open-rows.ts";
import { SIGN } from "./signs.ts";
import type { Speaker } from "./speakers.ts";
import type { Queries } from "./tables.ts";

/** What a turn is to know of a message that waits. */
export const WAITING_COLUMNS = [
  "id",
  "payload",
  "sender",
  "agent",
  "thread",
  "intent",
  "digest",
  "received_at",
  "due_at",
  "claims",
  "turn_id",
  "task",
  "sign",
] as const;

/** The rows of the intent of a chat that is next. */
export async function oldestIntent(trx: Queries, chat: ChatId): Promise<readonly IntentRow[]> {
  return await trx
    .selectFrom("inbox")
    .select(WAITING_COLUMNS)
    .where("chat_id", "=", chat)
    .where(isOpenMessage)
    .where("state", "=", "waiting")
    .where("intent", "=", (eb) =>
      eb
        .selectFrom("inbox as oldest")
        .select((inner) => inner.fn.min("oldest.intent").as("intent"))
        .where("oldest.chat_id", "=", chat)
        .where(isOpenMessage)
        .where("oldest.state", "=", "waiting")
        .where("oldest.intent", ">", 0),
    )
    .orderBy("id")
    .execute();
}

/** What has become of the media of messages, or is still to become of them. */
export async function attachmentsOf(
  trx: Queries,
  messages: readonly IntentRow[],
): Promise<readonly (TakenRow & { readonly state: "waiting" | "done" })[]> {
  // Most messages bring none, and their payload says so.
  const ids = messages.filter(({ payload }) => payload.includes('"unfetched"')).map(({ id }) => id);
  if (ids.length === 0) return [];
  return await trx
    .selectFrom("attachment")
    .select(["inbox_id", "seq", "state", "blocks", "notice", "notice_values"])
    .where("inbox_id", "in", ids)
    .orderBy("id")
    .execute();
}

type IntentRow = Pick<
  InboxRow,
  "payload" | "sender" | "agent" | "thread" | "intent" | "received_at" | "due_at" | "claims" | "turn_id"
> & { readonly id: number; readonly digest: number; readonly sign: number; readonly task: "" | InboxTask };

type TakenRow = Pick<AttachmentRow, "inbox_id" | "seq" | "blocks" | "notice" | "notice_values">;

export function toWaiting(
  row: IntentRow,
  attachments: readonly TakenRow[],
  speakers: ReadonlyMap<string, number>,
): WaitingMessage {
  return {
    id: row.id,
    event: JSON.parse(row.payload) as TurnEvent, // as intake writes what waits
    taken: new Map(
      attachments
        .filter((attachment) => attachment.inbox_id === row.id)
        .map((attachment) => [attachment.seq, toTaken(attachment)]),
    ),
    ...spokenBy(speakers, row.sender),
    ...(row.digest === 0 ? {} : { late: row.digest === 1 ? "away" : "paused" }),
    ...(row.sign === SIGN.reaction ? { signed: true } : {}),
  };
}

/** Who has said it. */
export function saidBy({ sender, payload }: Pick<IntentRow, "sender" | "payload">): Speaker {
  // Most people have one id, and the payload says so.
  if (!payload.includes('"also"')) return { id: sender };
  const { from } = JSON.parse(payload) as TurnEvent; // as intake writes what waits
  return { ...from, id: sender };
}

/** What finishAttachment wrote. */
function toTaken({ blocks, notice, notice_values: values }: TakenRow): TakenAttachment {
  return {
    blocks: JSON.parse(blocks) as readonly ContentBlock[],
    ...(notice === ""
      ? {}
      : { notice: { key: notice as SentenceKey, values: JSON.parse(values) as Notice["values"] } }),
  };
}

/** The number of a speaker, where numbers are given. */
export function spokenBy(
  speakers: ReadonlyMap<string, number>,
  person: string,
): { readonly speaker?: number } {
  const speaker = speakers.get(person);
  return speaker === undefined ? {} : { speaker };
}
