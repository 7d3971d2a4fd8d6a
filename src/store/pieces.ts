import type { Selectable } from "kysely";
import type { PieceBody, PlatformId } from "../core/channel.ts";
import type { ChatAddress, ChatId } from "../core/identity.ts";
import { refsIn, useBlobs } from "./blob-use.ts";
import { addressOf } from "./chats.ts";
import { ANSWER_WITHIN_MS, choiceKey, insertQuestion } from "./choices.ts";
import type { Database } from "./database.ts";
import type { PieceRow, PieceState } from "./fact-tables.ts";
import { isOpenPiece, isPieceInDoubt } from "./open-rows.ts";
import { insertSent } from "./sent.ts";
import type { Queries } from "./tables.ts";

export type NewPiece = {
  readonly chat: ChatId;
  readonly to: ChatAddress;
  /** 0 for what Perch itself says. */
  readonly turn: number;
  readonly seq: number;
  readonly body: PieceBody;
  readonly replyTo?: string;
  /** A message of ours that it is put in the place of. */
  readonly replaces?: PlatformId;
  /** What can be pressed below this text, and by whom; "" for everybody who may talk there. */
  readonly choices?: { readonly labels: readonly string[]; readonly person: string };
};

/** A piece that is to be sent, whose sending was cut off, or of which it may still be found out whether it was sent. */
export type OpenPiece = {
  readonly id: number;
  readonly chat: ChatId;
  readonly to: ChatAddress;
  readonly turn: number;
  readonly seq: number;
  readonly body: PieceBody;
  readonly replyTo: string;
  /** "" for a message of its own. */
  readonly replaces: PlatformId;
  readonly state: "planned" | "sending" | "unknown";
  readonly form: string;
  /** It goes, or went, once more: the outcome of its first sending is not known. */
  readonly again: boolean;
  readonly attempts: number;
  readonly notBefore: number;
  readonly createdAt: number;
  /** When the sending was begun that it is looked for by; 0 before. */
  readonly begunAt: number;
  /** When it was left as unknown; 0 before. */
  readonly endedAt: number;
  /** Where it stands that went once more. */
  readonly ids: readonly PlatformId[];
};

// SQLite takes 32,766 bound values in one statement (SQLITE_MAX_VARIABLE_NUMBER); twenty stand in a row.
const ROWS_IN_STATEMENT = 1_000;

export async function insertPieces(trx: Queries, pieces: readonly NewPiece[], now: number): Promise<void> {
  const rows: NewPiece[] = [];
  for (const piece of pieces)
    rows.push(piece.choices ? await withButtons(trx, piece, piece.choices, now) : piece);
  for (let from = 0; from < rows.length; from += ROWS_IN_STATEMENT)
    await insertSome(trx, rows.slice(from, from + ROWS_IN_STATEMENT), now);
}

/** A question is asked in the transaction that plans its text, so that no button leads to nothing. */
async function withButtons(
  trx: Queries,
  piece: NewPiece,
  { labels, person }: NonNullable<NewPiece["choices"]>,
  now: number,
): Promise<NewPiece> {
  const { chat, body } = piece;
  if (body.kind !== "text") return piece;
  const choices = labels.map((label) => ({ label, key: choiceKey() }));
  // What is chosen will be shown in words below it.
  const { text, marks } = body.rendered;
  const rendered = { text, marks };
  await insertQuestion(trx, { chat, person, rendered, choices, expiresAt: now + ANSWER_WITHIN_MS });
  return { ...piece, body: { ...body, choices } };
}

async function insertSome(trx: Queries, pieces: readonly NewPiece[], now: number): Promise<void> {
  for (const { chat, body } of pieces)
    if (body.kind !== "text") await useBlobs(trx, chat, refsIn(JSON.stringify(body)));
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
        replaces: piece.replaces ?? "",
        state: "planned" as const,
        form: "",
        again: 0,
        attempts: 0,
        not_before: 0,
        platform_ids: "[]",
        error: "",
        created_at: now,
        begun_at: 0,
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
  return row && toOpen(row);
}

/** Each is looked for on the platform, so a chat that lost many at once is not kept waiting for all of them. */
const MOST_IN_DOUBT = 5;

/** Pieces of a chat of which it may still be found out whether they were sent. */
export async function piecesInDoubt(database: Database, chat: ChatId): Promise<readonly OpenPiece[]> {
  const rows = await database.db
    .selectFrom("piece")
    .selectAll()
    .where("chat_id", "=", chat)
    .where(isPieceInDoubt)
    .orderBy("id")
    .limit(MOST_IN_DOUBT)
    .execute();
  return rows.map(toOpen);
}

function toOpen(row: Selectable<PieceRow>): OpenPiece {
  return {
    id: row.id,
    chat: row.chat_id,
    to: addressOf(row.channel, row.to_chat, row.to_topic),
    turn: row.turn_id,
    seq: row.seq,
    body: JSON.parse(row.body) as PieceBody, // written by insertPieces
    replyTo: row.reply_to,
    replaces: row.replaces,
    state: row.state as OpenPiece["state"], // the queries ask for these
    form: row.form,
    again: row.again === 1,
    attempts: row.attempts,
    notBefore: row.not_before,
    createdAt: row.created_at,
    begunAt: row.begun_at,
    endedAt: row.ended_at,
    ids: JSON.parse(row.platform_ids) as readonly PlatformId[], // written here
  };
}

/**
 * Committed before the first byte is written, so that a crash in between is seen. What is found so is not looked at before
 * `settledAt` (epoch ms).
 */
export async function markSending(
  database: Database,
  id: number,
  by: { readonly now: number; readonly settledAt: number },
): Promise<void> {
  await database.db
    .updateTable("piece")
    .set((eb) => ({
      state: "sending",
      attempts: eb("attempts", "+", 1),
      not_before: by.settledAt,
      // What goes once more is still looked for from its first sending on.
      begun_at: eb.case().when("again", "=", 1).then(eb.ref("begun_at")).else(by.now).end(),
    }))
    .where("id", "=", id)
    .execute();
}

/**
 * A piece is looked for, or will be from `notBefore` (epoch ms) on. Committed before the search, so that one which ends the
 * process is not made for ever.
 */
export async function noteSearch(
  database: Database,
  id: number,
  search: { readonly attempts: number; readonly notBefore: number },
): Promise<void> {
  await database.db
    .updateTable("piece")
    .set({ attempts: search.attempts, not_before: search.notBefore })
    .where("id", "=", id)
    .execute();
}

/** The end of a piece; its body is dropped, for what was said stands in the thread. */
export async function endPiece(
  database: Database,
  id: number,
  end: {
    readonly state: Extract<PieceState, "sent" | "unknown" | "failed" | "cancelled">;
    /** Where it stands. */
    readonly ids?: readonly PlatformId[];
    readonly error?: string;
    readonly now: number;
    /** Whether it was sent may still be found out: the body is kept. */
    readonly inDoubt?: true;
    /** What takes its place or is said in the chat about it, planned in the same transaction. */
    readonly further?: NewPiece;
  },
): Promise<void> {
  const write = async (trx: Queries): Promise<void> => {
    const { numUpdatedRows } = await trx
      .updateTable("piece")
      .set({
        state: end.state,
        ...(end.inDoubt ? {} : { body: "" }),
        platform_ids: JSON.stringify(end.ids ?? []),
        error: end.error ?? "",
        not_before: 0,
        ended_at: end.now,
      })
      .where("id", "=", id)
      .where("state", "!=", "cancelled")
      .executeTakeFirstOrThrow();
    // Its chat was forgotten while it was sent.
    if (numUpdatedRows === 0n) return;
    await insertSent(trx, id, end.ids ?? [], end.now);
    if (end.further) await insertPieces(trx, [end.further], end.now);
  };
  await (end.ids || end.further ? database.db.transaction().execute(write) : write(database.db));
}

/** Puts a piece back to be sent: later, in a simpler form, or once more after an unknown outcome. */
export async function replanPiece(
  database: Database,
  id: number,
  plan: {
    readonly notBefore: number;
    readonly error: string;
    readonly form?: string;
    readonly again?: boolean;
    /** As a message of its own. */
    readonly anew?: boolean;
  },
): Promise<void> {
  await database.db
    .updateTable("piece")
    .set({
      state: "planned",
      not_before: plan.notBefore,
      error: plan.error,
      ...(plan.form === undefined ? {} : { form: plan.form }),
      ...(plan.again === undefined ? {} : { again: plan.again ? 1 : 0 }),
      ...(plan.anew ? { replaces: "" } : {}),
    })
    .where("id", "=", id)
    // Its chat was forgotten while it was sent.
    .where("state", "!=", "cancelled")
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
