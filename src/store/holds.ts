import { PostgresAdapter, type Transaction } from "kysely";
import { GatewayError } from "../core/errors.ts";
import type { ChatId, Hold } from "../core/identity.ts";
import type { Queries, Tables } from "./tables.ts";

/**
 * The first thing in the transaction of every commit of a turn.
 * @throws GatewayError "store.hold_lost" when another holder has come since.
 */
export async function assertHeld(trx: Transaction<Tables>, hold: Hold): Promise<void> {
  await heldAs(trx, hold);
}

/** The same, in the commit that ends the turn; gives whether a pause has cut it off, and whether its people have stopped it. */
export async function heldAs(
  trx: Transaction<Tables>,
  hold: Hold,
): Promise<{ readonly cutOff: boolean; readonly stopped: boolean }> {
  const held = await trx
    .selectFrom("chat")
    .select(["paused_epoch", "stop_epoch"])
    .where("id", "=", hold.chat)
    .where("owner", "=", hold.owner)
    .where("epoch", "=", hold.epoch)
    // SQLite has one writer at a time; PostgreSQL keeps the next holder waiting until this has committed.
    .$if(trx.getExecutor().adapter instanceof PostgresAdapter, (query) => query.forUpdate())
    .executeTakeFirst();
  if (!held) {
    throw new GatewayError(
      "store.hold_lost",
      `chat ${hold.chat} is held by another worker now; nothing was written`,
    );
  }
  return { cutOff: held.paused_epoch === hold.epoch, stopped: held.stop_epoch === hold.epoch };
}

/**
 * Until the transaction ends, no turn of the chat begins or ends, and nobody else does this. SQLite has one writer at a time
 * anyway.
 */
export async function keepStill(trx: Queries, chat: ChatId): Promise<void> {
  if (trx.getExecutor().adapter instanceof PostgresAdapter)
    await trx.selectFrom("chat").select("id").where("id", "=", chat).forUpdate().execute();
}

/** The turn that runs in a chat is to end: whoever runs it learns so with its commit, or when it renews its hold. */
export async function stopHeld(trx: Queries, chat: ChatId): Promise<void> {
  await trx
    .updateTable("chat")
    .set((eb) => ({ stop_epoch: eb.ref("epoch") }))
    .where("id", "=", chat)
    .where("owner", "!=", "")
    .execute();
}
