import { type Selectable, sql } from "kysely";
import type { PieceBody, PlatformId } from "../core/channel.ts";
import type { ChatAddress, ChatId } from "../core/identity.ts";
import { refsIn, useBlobs } from "./blob-use.ts";
import { addressOf } from "./chats.ts";
import { ANSWER_WITHIN_MS, choiceKey, insertQuestion, type NewChoice, type Waits } from "./choices.ts";
import type { Database } from "./database.ts";
import type { DeliveryHold } from "./delivery-holds.ts";
import type { PieceRow } from "./fact-tables.ts";
import { isOpenPiece, isPieceInDoubt } from "./open-rows.ts";
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
  readonly choices?: Offered;
};

/** Without labels the question is answered in words. */
export type Offered = {
  readonly labels: readonly string[];
  readonly person: string;
  readonly waits?: Waits;
  /** Epoch ms; a day from now without it. */
  readonly expiresAt?: number;
};

/** A piece that is to be sent, whose sending was cut off, or of which it may still be found out whether it was sent. */
export type OpenPiece = {
  readonly id: number;
  readonly chat: ChatId;
  readonly to: ChatAddress;
  readonly turn: number;
  /** Of the message that its turn answers; 0 for what Perch itself says. */
  readonly intent: number;
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
  /** By which right it is sent, where several processes could. */
  readonly hold?: DeliveryHold;
};

// SQLite takes 32,766 bound values in one statement (SQLITE_MAX_VARIABLE_NUMBER); twenty stand in a row.
const ROWS_IN_STATEMENT = 1_000;

export async function insertPieces(trx: Queries, pieces: readonly NewPiece[], now: number): Promise<void> {
  const rows: PlannedPiece[] = [];
  for (const piece of pieces)
    rows.push(piece.choices ? await withButtons(trx, piece, piece.choices, now) : piece);
  for (let from = 0; from < rows.length; from += ROWS_IN_STATEMENT)
    await insertSome(trx, rows.slice(from, from + ROWS_IN_STATEMENT), now);
}

/** A question is asked in the transaction that plans its text, so that no button leads to nothing. */
async function withButtons(
  trx: Queries,
  piece: NewPiece,
  { labels, person, waits, expiresAt }: Offered,
  now: number,
): Promise<PlannedPiece> {
  const { chat, body } = piece;
  if (body.kind !== "text") return piece;
  const means = waits && "approval" in waits ? YES_OR_NO : [];
  const choices = labels.map((label, at): NewChoice => ({
    label,
    key: choiceKey(),
    means: means[at] ?? "say",
  }));
  // What is chosen will be shown in words below it.
  const { text, marks } = body.rendered;
  const rendered = { text, marks };
  const question = await insertQuestion(trx, {
    chat,
    person,
    rendered,
    choices,
    expiresAt: expiresAt ?? now + ANSWER_WITHIN_MS,
    ...(waits ? { waits } : {}),
  });
  const buttons = choices.map(({ label, key }) => ({ label, key }));
  return {
    ...piece,
    body: buttons.length === 0 ? body : { ...body, choices: buttons },
    // What goes on with the answer is looked for by where it was asked.
    question: waits ? question : "",
  };
}

/** What the buttons of an approval mean, in the order of their labels. */
const YES_OR_NO = ["allow", "refuse"] as const;

type PlannedPiece = NewPiece & { readonly question?: string };

async function insertSome(trx: Queries, pieces: readonly PlannedPiece[], now: number): Promise<void> {
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
        question: piece.question ?? "",
      })),
    )
    .execute();
}

const intentOfPiece = sql<number | null>`(select intent from turn where turn.id = piece.turn_id)`.as(
  "intent",
);

/** The next piece of a chat in the order they were planned; what is parked waits for the person's next message. */
export async function nextPiece(
  database: Database,
  chat: ChatId,
  hold?: DeliveryHold,
): Promise<OpenPiece | undefined> {
  const row = await database.db
    .selectFrom("piece")
    .selectAll()
    .select(intentOfPiece)
    .where("chat_id", "=", chat)
    .where(isOpenPiece)
    .where("state", "in", ["planned", "sending"])
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  return row && toOpen(row, hold);
}

/** Each is looked for on the platform, so a chat that lost many at once is not kept waiting for all of them. */
const MOST_IN_DOUBT = 5;

/** Pieces of a chat of which it may still be found out whether they were sent. */
export async function piecesInDoubt(
  database: Database,
  chat: ChatId,
  hold?: DeliveryHold,
): Promise<readonly OpenPiece[]> {
  const rows = await database.db
    .selectFrom("piece")
    .selectAll()
    .select(intentOfPiece)
    .where("chat_id", "=", chat)
    .where(isPieceInDoubt)
    .orderBy("id")
    .limit(MOST_IN_DOUBT)
    .execute();
  return rows.map((row) => toOpen(row, hold));
}

function toOpen(
  row: Selectable<PieceRow> & { readonly intent: number | null },
  hold: DeliveryHold | undefined,
): OpenPiece {
  return {
    id: row.id,
    chat: row.chat_id,
    to: addressOf(row.channel, row.to_chat, row.to_topic),
    turn: row.turn_id,
    intent: row.intent ?? 0,
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
    ids: JSON.parse(row.platform_ids) as readonly PlatformId[], // written by endPiece
    ...(hold ? { hold } : {}),
  };
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
