import { PostgresAdapter, type Transaction } from "kysely";
import { GatewayError } from "../core/errors.ts";
import type { ChatId, Hold } from "../core/identity.ts";
import type { Queries, Tables } from "./tables.ts";

/**
 * The first thing in the transaction of every commit of a turn.
 * @throws GatewayError "store.hold_lost" when another holder has come since.
 */
export async function assertHeld(trx: Transaction<Tables>, hold: Hold): Promise<void> {
  const held = await trx
    .selectFrom("chat")
    .select("id")
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
}

/**
 * Until the transaction ends, no turn of the chat begins or ends, and nobody else does this. SQLite has one writer at a time
 * anyway.
 */
export async function keepStill(trx: Queries, chat: ChatId): Promise<void> {
  if (trx.getExecutor().adapter instanceof PostgresAdapter)
    await trx.selectFrom("chat").select("id").where("id", "=", chat).forUpdate().execute();
}
