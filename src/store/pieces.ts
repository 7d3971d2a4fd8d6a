import type { PieceBody, PlatformId } from "../core/channel.ts";
import type { ChatAddress, ChatId } from "../core/identity.ts";
import { addressOf } from "./chats.ts";
import type { Database } from "./database.ts";
import type { PieceState } from "./fact-tables.ts";
import { isOpenPiece } from "./open-rows.ts";
import type { Queries } from "./tables.ts";

export type NewPiece = {
  readonly chat: ChatId;
  readonly to: ChatAddress;
  /** 0 for what Perch itself says. */
  readonly turn: number;
  readonly seq: number;
  readonly body: PieceBody;
  readonly replyTo?: string;
};

/** A piece that is to be sent, or whose sending was cut off. */
export type OpenPiece = {
  readonly id: number;
  readonly chat: ChatId;
  readonly to: ChatAddress;
  readonly turn: number;
  readonly body: PieceBody;
  readonly replyTo: string;
  readonly state: "planned" | "sending";
  readonly form: string;
  readonly again: boolean;
  readonly attempts: number;
  readonly notBefore: number;
  readonly createdAt: number;
};

// SQLite takes 32,766 bound values in one statement (SQLITE_MAX_VARIABLE_NUMBER); eighteen stand in a row.
const ROWS_IN_STATEMENT = 1_000;

export async function insertPieces(trx: Queries, pieces: readonly NewPiece[], now: number): Promise<void> {
  for (let from = 0; from < pieces.length; from += ROWS_IN_STATEMENT)
    await insertSome(trx, pieces.slice(from, from + ROWS_IN_STATEMENT), now);
}

async function insertSome(trx: Queries, pieces: readonly NewPiece[], now: number): Promise<void> {
  await trx
    .insertInto("piece")
    .values((eb) =>
      pieces.map((piece) => ({
        chat_id: piece.chat,
        // By the chat's own row: its connection may have been renamed since the turn began.
        channel: eb.selectFrom("chat").select("chat.channel").where("chat.id", "=", piece.chat),
        to_chat: piece.to.chat,
        to_topic: piece.to.topic ?? "",
        turn_id: piece.turn,
        seq: piece.seq,
        body: JSON.stringify(piece.body),
        reply_to: piece.replyTo ?? "",
        state: "planned" as const,
        form: "",
        again: 0,
        attempts: 0,
        not_before: 0,
        platform_ids: "[]",
        error: "",
        created_at: now,
        ended_at: 0,
      })),
    )
    .execute();
}

/** The next piece of a chat in the order they were planned; what is parked waits for the person's next message. */
export async function nextPiece(database: Database, chat: ChatId): Promise<OpenPiece | undefined> {
  const row = await database.db
    .selectFrom("piece")
    .selectAll()
    .where("chat_id", "=", chat)
    .where(isOpenPiece)
    .where("state", "in", ["planned", "sending"])
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  return (
    row && {
      id: row.id,
      chat,
      to: addressOf(row.channel, row.to_chat, row.to_topic),
      turn: row.turn_id,
      body: JSON.parse(row.body) as PieceBody, // written by insertPieces
      replyTo: row.reply_to,
      state: row.state as "planned" | "sending", // the query asks for these two
      form: row.form,
      again: row.again === 1,
      attempts: row.attempts,
      notBefore: row.not_before,
      createdAt: row.created_at,
    }
  );
}

/** Committed before the first byte is written, so that a crash in between is seen. */
export async function markSending(database: Database, id: number): Promise<void> {
  await database.db
    .updateTable("piece")
    .set((eb) => ({ state: "sending", attempts: eb("attempts", "+", 1) }))
    .where("id", "=", id)
    .execute();
}

/** The end of a piece; its body is dropped, for what was said stands in the thread. */
export async function endPiece(
  database: Database,
  id: number,
  end: {
    readonly state: Extract<PieceState, "sent" | "unknown" | "failed" | "cancelled">;
    readonly ids?: readonly PlatformId[];
    readonly error?: string;
    readonly now: number;
    /** What is said in the chat about it, planned in the same transaction. */
    readonly notice?: NewPiece;
  },
): Promise<void> {
  const write = async (trx: Queries): Promise<void> => {
    await trx
      .updateTable("piece")
      .set({
        state: end.state,
        body: "",
        platform_ids: JSON.stringify(end.ids ?? []),
        error: end.error ?? "",
        ended_at: end.now,
      })
      .where("id", "=", id)
      .execute();
    if (end.notice) await insertPieces(trx, [end.notice], end.now);
  };
  await (end.notice ? database.db.transaction().execute(write) : write(database.db));
}

/** Puts a piece back to be sent: later, in a simpler form, or once more after an unknown outcome. */
export async function replanPiece(
  database: Database,
  id: number,
  plan: { readonly notBefore: number; readonly error: string; readonly form?: string; readonly again?: true },
): Promise<void> {
  await database.db
    .updateTable("piece")
    .set({
      state: "planned",
      not_before: plan.notBefore,
      error: plan.error,
      ...(plan.form === undefined ? {} : { form: plan.form }),
      ...(plan.again ? { again: 1 } : {}),
    })
    .where("id", "=", id)
    .execute();
}

/** The platform has closed the chat to us: nothing more is tried until the person writes again. */
export async function parkChat(database: Database, chat: ChatId, error: string): Promise<void> {
  await database.db
    .updateTable("piece")
    .set({ state: "parked", error })
    .where("chat_id", "=", chat)
    .where(isOpenPiece)
    .where("state", "in", ["planned", "sending"])
    .execute();
}

/** Gives the number of pieces that go on now. */
export async function unparkChat(trx: Queries, chat: ChatId): Promise<number> {
  const { numUpdatedRows } = await trx
    .updateTable("piece")
    .set({ state: "planned", not_before: 0 })
    .where("chat_id", "=", chat)
    .where(isOpenPiece)
    .where("state", "=", "parked")
    .executeTakeFirstOrThrow();
  return Number(numUpdatedRows);
}
