import { type ChatId, idsOf } from "../core/identity.ts";
import type { Queries } from "./tables.ts";

/** Somebody by the id that stays, and others of theirs. */
export type Speaker = { readonly id: string; readonly also?: readonly string[] };

/**
 * The numbers by which people are known in a chat, from 1, and always the same: a name can be taken by others. By their ids.
 * Only for who holds the chat: two at once would give out one number twice.
 */
export async function speakerNumbers(
  trx: Queries,
  chat: ChatId,
  people: readonly Speaker[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await trx
    .selectFrom("speaker")
    .select(["person", "n"])
    .where("chat_id", "=", chat)
    .where("person", "in", people.flatMap(idsOf))
    .execute();
  const known = new Map(rows.map(({ person, n }) => [person, n]));
  for (const person of people) {
    const as = idsOf(person).find((id) => known.has(id));
    if (as !== undefined) known.set(person.id, known.get(as) ?? 0);
  }
  const others = [...new Set(people.map(({ id }) => id))].filter((id) => !known.has(id));
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
