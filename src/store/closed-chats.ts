import type { ChatId } from "../core/identity.ts";
import { isOpenPiece } from "./open-rows.ts";
import type { Queries } from "./tables.ts";

/**
 * Nothing more is begun to be sent to a chat under this id of the platform's until it is open again, or somebody writes
 * there. What is on its way is left to whoever sends it.
 */
export async function holdBack(trx: Queries, chat: ChatId, to: string, error: string): Promise<void> {
  await trx
    .updateTable("piece")
    .set({ state: "parked", error })
    .where("chat_id", "=", chat)
    .where(isOpenPiece)
    .where("state", "=", "planned")
    .where("to_chat", "=", to)
    .execute();
}
