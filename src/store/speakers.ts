import type { ChatId } from "../core/identity.ts";
import type { Queries } from "./tables.ts";

/**
 * The numbers by which people are known in a chat, from 1, and always the same: a name can be taken by others.
 * Only for who holds the chat: two at once would give out one number twice.
 */
export async function speakerNumbers(
  trx: Queries,
  chat: ChatId,
  people: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await trx
    .selectFrom("speaker")
    .select(["person", "n"])
    .where("chat_id", "=", chat)
    .where("person", "in", people)
    .execute();
  const known = new Map(rows.map(({ person, n }) => [person, n]));
  const others = [...new Set(people)].filter((person) => !known.has(person));
  if (others.length === 0) return known;
  const last = await trx
    .selectFrom("speaker")
    .select((eb) => eb.fn.max("n").as("n"))
    .where("chat_id", "=", chat)
    .executeTakeFirst();
  const added = others.map((person, at) => ({ chat_id: chat, person, n: (last?.n ?? 0) + 1 + at }));
  await trx.insertInto("speaker").values(added).execute();
  return new Map([...known, ...added.map(({ person, n }) => [person, n] as const)]);
}
