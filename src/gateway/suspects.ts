import type { ChatId } from "../core/identity.ts";
import { suspects } from "../store/upkeep.ts";
import type { GatewayParts } from "./parts.ts";

/**
 * Runs what was in flight when earlier processes ended, one after another. Never rejects: a suspect that fails without
 * ending the process has its turn with all the others. Where there are other processes nobody is alone; there no two suspects
 * run at once (`claimTurn`).
 */
export async function runSuspects(
  { database, log, others }: Pick<GatewayParts, "database" | "log" | "others">,
  by: {
    readonly fetch: (attachment: number) => Promise<void>;
    readonly turn: (chat: ChatId) => Promise<void>;
    readonly draining: () => boolean;
  },
): Promise<void> {
  if (others) return;
  try {
    const { chats, attachments } = await suspects(database);
    if (chats.length + attachments.length === 0) return;
    const many = { chats: chats.length, attachments: attachments.length };
    log.warn(many, "work that was in flight at two crashes is run alone before everything else");
    for (const attachment of attachments) if (!by.draining()) await by.fetch(attachment);
    for (const chat of chats) if (!by.draining()) await by.turn(chat);
  } catch (err) {
    log.error({ err }, "work that was in flight at two crashes could not be run alone");
  }
}
