import type { ChatId } from "../core/identity.ts";
import type { Queries } from "./tables.ts";

/**
 * The number by which a person is known in a chat, from 1, and always the same: a name can be taken by others.
 * Only for who holds the chat: two at once would give out one number twice.
 */
export async function speakerNumber(trx: Queries, chat: ChatId, person: string): Promise<number> {
  const known = await trx
    .selectFrom("speaker")
    .select("n")
    .where("chat_id", "=", chat)
    .where("person", "=", person)
    .executeTakeFirst();
  if (known) return known.n;
  const last = await trx
    .selectFrom("speaker")
    .select((eb) => eb.fn.max("n").as("n"))
    .where("chat_id", "=", chat)
    .executeTakeFirst();
  const n = (last?.n ?? 0) + 1;
  await trx.insertInto("speaker").values({ chat_id: chat, person, n }).execute();
  return n;
}
