import type { ChatId } from "../core/identity.ts";
import { isOpenMessage } from "./open-rows.ts";
import type { Queries } from "./tables.ts";

/** What whoever waits was shown, as `inbox.sign` has it. */
export const SIGN = { reaction: 1, line: 2 } as const;

/** Whether a message still waits and was shown no sign; from now on it was. The check and the mark are one statement. */
export async function markSigned(
  trx: Queries,
  { chat, row, sign }: { readonly chat: ChatId; readonly row: number; readonly sign: keyof typeof SIGN },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("inbox")
    .set({ sign: SIGN[sign] })
    .where("id", "=", row)
    .where("chat_id", "=", chat)
    .where("state", "=", "waiting")
    .where("sign", "=", 0)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

export async function stillWaits(db: Queries, row: number): Promise<boolean> {
  const found = await db.selectFrom("inbox").select("state").where("id", "=", row).executeTakeFirst();
  return found?.state === "waiting";
}

/** What the platform calls the messages of a chat that wait under a reaction of ours; of one row alone where one is named. */
export async function signedRefs(trx: Queries, chat: ChatId, row?: number): Promise<readonly string[]> {
  const rows = await trx
    .selectFrom("inbox")
    .select("ref")
    .where("chat_id", "=", chat)
    .where(isOpenMessage)
    .where("state", "=", "waiting")
    .where("sign", "=", SIGN.reaction)
    .$if(row !== undefined, (query) => query.where("id", "=", row ?? 0))
    .orderBy("id")
    .execute();
  return rows.map(({ ref }) => ref);
}
