import { sql } from "kysely";
import type { ChatId } from "../core/identity.ts";
import type { Queries } from "./tables.ts";

/** A day of a chat, as it is counted there. */
export type UnaskedDay = { readonly chat: ChatId; readonly day: string };

/** Counts a message that nobody has asked for; false where the day has had `most` of them. */
export async function takeUnasked(
  trx: Queries,
  { chat, day, most }: UnaskedDay & { readonly most: number },
): Promise<boolean> {
  if (most < 1) return false;
  const row = await trx
    .insertInto("unasked")
    .values({ chat_id: chat, day, n: 1 })
    .onConflict((conflict) =>
      conflict
        .columns(["chat_id", "day"])
        .doUpdateSet({ n: sql<number>`unasked.n + 1` })
        .where("unasked.n", "<", most),
    )
    .returning("n")
    .executeTakeFirst();
  return row !== undefined;
}

/** One that was counted is not sent. */
export async function giveUnaskedBack(trx: Queries, { chat, day }: UnaskedDay): Promise<void> {
  await trx
    .updateTable("unasked")
    .set((eb) => ({ n: eb("n", "-", 1) }))
    .where("chat_id", "=", chat)
    .where("day", "=", day)
    .where("n", ">", 0)
    .execute();
}

/** Whether somebody has spoken to the agent of a chat since (epoch ms): what is told then, they wait for. */
export async function wasSpokenTo(db: Queries, chat: ChatId, since: number): Promise<boolean> {
  const row = await db
    .selectFrom("inbox")
    .select("id")
    .where("chat_id", "=", chat)
    .where("intent", ">", 0)
    .where("sender", "!=", "")
    .where("received_at", ">", since)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
