import type { PlatformId } from "../core/channel.ts";
import type { ChatId, ThreadId } from "../core/identity.ts";
import type { Database } from "./database.ts";
import type { InboxRow, InboxState, TurnState } from "./fact-tables.ts";
import { keepStill } from "./holds.ts";
import { type OpenIntent, type TraceStep, withTrace } from "./inbox.ts";
import { isAside, isOpenMessage } from "./open-rows.ts";
import type { Queries } from "./tables.ts";

/** What is known of a message, or of an edit of it that was not done at once. */
export type KeptRow = {
  readonly id: number;
  readonly type: InboxRow["type"];
  readonly state: InboxState;
  readonly why: string;
  readonly sender: string;
  readonly agent: string;
  readonly thread: ThreadId;
  readonly intent: number;
  /** The last turn that began with it, 0 before the first, and how that ended. */
  readonly turn: number;
  readonly ended: TurnState | null;
  readonly receivedAt: number;
  readonly contentHash: string;
  readonly payload: string;
};

/**
 * All that is known of a message by what the platform calls it, the newest first: itself, and each edit and each taking
 * back that was more than noted down. Until the transaction ends, no turn begins or ends with any of it.
 */
export async function rowsOf(trx: Queries, chat: ChatId, ref: string): Promise<readonly KeptRow[]> {
  if (ref === "") return []; // what nobody can name
  await keepStill(trx, chat);
  return await trx
    .selectFrom("inbox")
    .leftJoin("turn", "turn.id", "inbox.turn_id")
    .select([
      "inbox.id",
      "inbox.type",
      "inbox.state",
      "inbox.why",
      "inbox.sender",
      "inbox.agent",
      "inbox.thread",
      "inbox.intent",
      "inbox.turn_id as turn",
      "turn.state as ended",
      "inbox.received_at as receivedAt",
      "inbox.content_hash as contentHash",
      "inbox.payload",
    ])
    .where("inbox.chat_id", "=", chat)
    .where("inbox.ref", "=", ref)
    .where("inbox.type", "in", ["message", "edited", "deleted"])
    .orderBy("inbox.id", "desc")
    .execute();
}

/** Whether no turn of a chat has begun after this one. */
export async function isNewestTurn(trx: Queries, chat: ChatId, turn: number): Promise<boolean> {
  const later = await trx
    .selectFrom("turn")
    .select("id")
    .where("id", ">", turn)
    .where("chat_id", "=", chat)
    .where("state", "!=", "abandoned")
    .limit(1)
    .executeTakeFirst();
  return later === undefined;
}

/** The window of an intent that waits. */
export async function windowOf(
  trx: Queries,
  chat: ChatId,
  intent: number,
): Promise<Pick<OpenIntent, "firstAt" | "dueAt">> {
  const { firstAt, dueAt } = await trx
    .selectFrom("inbox")
    .select((eb) => [eb.fn.min("received_at").as("firstAt"), eb.fn.max("due_at").as("dueAt")])
    .where("chat_id", "=", chat)
    .where(isOpenMessage)
    .where("state", "=", "waiting")
    .where("intent", "=", intent)
    .executeTakeFirstOrThrow();
  return { firstAt, dueAt };
}

/** Puts other content into a row that nobody has been told of yet. */
export async function rewrite(
  trx: Queries,
  row: number,
  as: {
    readonly payload: string;
    readonly contentHash: string;
    readonly characters?: number;
    readonly dueAt: number;
    readonly now: number;
  },
): Promise<void> {
  await trx
    .updateTable("inbox")
    .set({
      payload: as.payload,
      content_hash: as.contentHash,
      ...(as.characters === undefined ? {} : { characters: as.characters }),
      due_at: as.dueAt,
      trace: withTrace({ at: as.now, step: "edited" }),
    })
    .where("id", "=", row)
    .execute();
}

/** Adds a decision about a message that is over. */
export async function noteOn(trx: Queries, row: number, step: TraceStep): Promise<void> {
  await trx
    .updateTable("inbox")
    .set({ trace: withTrace(step) })
    .where("id", "=", row)
    .execute();
}

/** Takes back what nobody has been told of yet, with its media. */
export async function withdrawRows(
  trx: Queries,
  rows: readonly number[],
  { why, now }: { readonly why: string; readonly now: number },
): Promise<void> {
  if (rows.length === 0) return;
  await trx
    .updateTable("inbox")
    .set({
      state: "withdrawn",
      why,
      payload: "",
      ended_at: now,
      trace: withTrace({ at: now, step: "withdrawn", why }),
    })
    .where("id", "in", rows)
    .execute();
  await trx.updateTable("attachment").set({ state: "done" }).where("inbox_id", "in", rows).execute();
}

/** What the agent was told of while it answered is done with that answer. */
export async function endCorrected(
  trx: Queries,
  chat: ChatId,
  { rows, turn, now }: { readonly rows: readonly number[]; readonly turn: number; readonly now: number },
): Promise<void> {
  await trx
    .updateTable("inbox")
    .set({
      state: "consumed",
      payload: "",
      turn_id: turn,
      // Of an edit that would have had a turn of its own: it is no intent now.
      intent: 0,
      ended_at: now,
      trace: withTrace({ at: now, step: "told while it ran", turn }),
    })
    .where("id", "in", rows)
    .where("chat_id", "=", chat)
    .where("state", "in", ["aside", "waiting"])
    .execute();
}

/** Takes back what is about messages that end without an answer. */
export async function withdrawFollowing(
  trx: Queries,
  chat: ChatId,
  { messages, now }: { readonly messages: readonly number[]; readonly now: number },
): Promise<void> {
  const following = (await followingOf(trx, chat, messages)).map(({ id }) => id);
  await withdrawRows(trx, following, { why: "the turn of its message came to no answer", now });
}

/** What was said of messages since a turn took them up and nobody was told of yet, in the order it came. */
export async function followingOf(trx: Queries, chat: ChatId, messages: readonly number[]) {
  const rows = trx
    .selectFrom("inbox")
    .select(["id", "type", "about", "payload", "content_hash"])
    .where("chat_id", "=", chat)
    .where("about", "in", messages);
  const told = await rows.where(isAside).execute();
  const answered = await rows.where(isOpenMessage).where("state", "=", "waiting").execute();
  return [...told, ...answered].toSorted((one, other) => one.id - other.id);
}

/** The one message that our answer to what was edited stands in, so that a new answer can take its place. */
export async function answerBefore(database: Database, edit: number): Promise<PlatformId | undefined> {
  const pieces = await database.db
    .selectFrom("inbox as edit")
    .innerJoin("inbox as edited", "edited.id", "edit.about")
    .innerJoin("piece", "piece.turn_id", "edited.turn_id")
    .select(["piece.state", "piece.platform_ids"])
    .where("edit.id", "=", edit)
    .where("edited.turn_id", ">", 0)
    .limit(2)
    .execute();
  const [piece, ...more] = pieces;
  if (!piece || more.length > 0 || piece.state !== "sent") return undefined;
  const [id, ...others] = JSON.parse(piece.platform_ids) as readonly PlatformId[]; // written by endPiece
  return others.length === 0 ? id : undefined;
}
