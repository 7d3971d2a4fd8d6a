import { PostgresAdapter, sql } from "kysely";
import { GatewayError } from "../core/errors.ts";
import type { ChatId } from "../core/identity.ts";
import type { Database } from "./database.ts";
import type { Queries } from "./tables.ts";

/**
 * The right to send in a chat, where several processes could: a piece that is found as being sent was left so by whoever had
 * it before. One process alone needs none.
 */
export type DeliveryHold = { readonly chat: ChatId; readonly owner: string; readonly epoch: number };

/** Takes the right to send in a chat, until then (epoch ms) unless it is renewed; undefined while another process has it. */
export async function holdDelivery(
  { db }: Database,
  chat: ChatId,
  { owner, now, until }: { readonly owner: string; readonly now: number; readonly until: number },
): Promise<DeliveryHold | undefined> {
  const taken = await db
    .updateTable("chat")
    .set((eb) => ({
      deliver_owner: owner,
      deliver_epoch: eb("deliver_epoch", "+", 1),
      deliver_until: until,
    }))
    .where("id", "=", chat)
    .where((eb) => eb.or([eb("deliver_owner", "in", ["", owner]), eb("deliver_until", "<=", now)]))
    .returning("deliver_epoch as epoch")
    .executeTakeFirst();
  return taken && { chat, owner, epoch: taken.epoch };
}

/** Whether it is still theirs; then it is until the new end. */
export async function renewDelivery({ db }: Database, hold: DeliveryHold, until: number): Promise<boolean> {
  return await change(db, hold, { deliver_until: until });
}

/** Others may send there at once. */
export async function leaveDelivery({ db }: Database, hold: DeliveryHold): Promise<void> {
  await change(db, hold, { deliver_owner: "", deliver_until: 0 });
}

async function change(
  db: Queries,
  { chat, owner, epoch }: DeliveryHold,
  to: { readonly deliver_owner?: string; readonly deliver_until: number },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("chat")
    .set(to)
    .where("id", "=", chat)
    .where("deliver_owner", "=", owner)
    .where("deliver_epoch", "=", epoch)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/**
 * The condition of each change of a piece by whoever sends it, in the same statement; without a hold, none. PostgreSQL keeps
 * the next one waiting for the right until that has committed.
 */
export function sentBy(db: Queries, hold: DeliveryHold | undefined) {
  if (!hold) return sql<boolean>`1 = 1`;
  const { chat, owner, epoch } = hold;
  const kept = db.getExecutor().adapter instanceof PostgresAdapter ? sql`for share` : sql``;
  return sql<boolean>`piece.chat_id = ${chat} and exists (select 1 from chat where id = ${chat} and deliver_owner = ${owner} and deliver_epoch = ${epoch} ${kept})`;
}

/** Why a change has found no piece: its chat may have been forgotten. @throws GatewayError "store.hold_lost" otherwise. */
export async function assertSender(db: Queries, hold: DeliveryHold | undefined): Promise<void> {
  if (!hold) return;
  const held = await db
    .selectFrom("chat")
    .select("id")
    .where("id", "=", hold.chat)
    .where("deliver_owner", "=", hold.owner)
    .where("deliver_epoch", "=", hold.epoch)
    .executeTakeFirst();
  if (!held)
    throw new GatewayError(
      "store.hold_lost",
      `chat ${hold.chat} is sent to by another process now; nothing was written`,
    );
}
