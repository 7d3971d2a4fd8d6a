import type { PlatformId } from "../core/channel.ts";
import type { ChatId } from "../core/identity.ts";
import type { Database } from "./database.ts";
import { assertSender, type DeliveryHold, sentBy } from "./delivery-holds.ts";
import type { PieceState } from "./fact-tables.ts";
import { isOpenPiece } from "./open-rows.ts";
import { insertPieces, type NewPiece } from "./pieces.ts";
import { insertSent } from "./sent.ts";
import type { Queries } from "./tables.ts";

// What becomes of pieces while they are sent. With a hold, each of these is refused with "store.hold_lost" where another
// process sends in the chat by now.

/**
 * Committed before the first byte is written, so that a crash in between is seen. What is found so is not looked at before
 * `settledAt` (epoch ms).
 */
export async function markSending(
  database: Database,
  id: number,
  by: { readonly now: number; readonly settledAt: number },
  hold?: DeliveryHold,
): Promise<void> {
  const { db } = database;
  const { numUpdatedRows } = await db
    .updateTable("piece")
    .set((eb) => ({
      state: "sending",
      attempts: eb("attempts", "+", 1),
      not_before: by.settledAt,
      // What goes once more is still looked for from its first sending on.
      begun_at: eb.case().when("again", "=", 1).then(eb.ref("begun_at")).else(by.now).end(),
    }))
    .where("id", "=", id)
    .where(sentBy(db, hold))
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) await assertSender(db, hold);
}

/**
 * A piece is looked for, or will be from `notBefore` (epoch ms) on. Committed before the search, so that one which ends the
 * process is not made for ever.
 */
export async function noteSearch(
  database: Database,
  id: number,
  search: { readonly attempts: number; readonly notBefore: number },
  hold?: DeliveryHold,
): Promise<void> {
  const { db } = database;
  const { numUpdatedRows } = await db
    .updateTable("piece")
    .set({ attempts: search.attempts, not_before: search.notBefore })
    .where("id", "=", id)
    .where(sentBy(db, hold))
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) await assertSender(db, hold);
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
  hold?: DeliveryHold,
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
      .where(sentBy(trx, hold))
      .executeTakeFirstOrThrow();
    // Its chat was forgotten while it was sent.
    if (numUpdatedRows === 0n) return await assertSender(trx, hold);
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
  hold?: DeliveryHold,
): Promise<void> {
  const { db } = database;
  const { numUpdatedRows } = await db
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
    .where(sentBy(db, hold))
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) await assertSender(db, hold);
}

/** The platform has closed the chat to us: nothing more is tried until the person writes again. */
export async function parkChat(
  database: Database,
  chat: ChatId,
  error: string,
  hold?: DeliveryHold,
): Promise<void> {
  const { db } = database;
  const { numUpdatedRows } = await db
    .updateTable("piece")
    .set({ state: "parked", error })
    .where("chat_id", "=", chat)
    .where(isOpenPiece)
    .where("state", "in", ["planned", "sending"])
    .where(sentBy(db, hold))
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) await assertSender(db, hold);
}
