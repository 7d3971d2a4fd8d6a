import type { ChannelId } from "../core/identity.ts";
import type { Database } from "./database.ts";

/** A connection that the operator renamed keeps its chats: every row that carries the name gets the new one. */
export async function renameChannel(database: Database, was: ChannelId, now: ChannelId): Promise<void> {
  await database.db.transaction().execute(async (trx) => {
    for (const table of [
      "chat",
      "address",
      "inbox",
      "attachment",
      "piece",
      "person",
      "claim_code",
      "channel_state",
      "channel_lease",
      "sent",
      "alias",
      "pairing",
      "wrong_code",
      "memory_fact",
      "memory_work",
      "forgotten",
      "background_task",
      "schedule",
      "use_count",
    ] as const) {
      await trx.updateTable(table).set({ channel: now }).where("channel", "=", was).execute();
    }
  });
}
