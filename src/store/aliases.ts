import type { ChannelId } from "../core/identity.ts";
import type { Queries } from "./tables.ts";

/** Remembers other ids by which people and chats are known; the newest holder of an alias is whose it is. */
export async function rememberAliases(
  trx: Queries,
  channel: ChannelId,
  /** The id that stays, by the alias. */
  aliases: ReadonlyMap<string, string>,
): Promise<void> {
  if (aliases.size === 0) return;
  await trx
    .insertInto("alias")
    .values([...aliases].map(([alias, id]) => ({ channel, alias, id })))
    .onConflict((conflict) =>
      conflict.columns(["channel", "alias"]).doUpdateSet((eb) => ({ id: eb.ref("excluded.id") })),
    )
    .execute();
}

/** What the operator calls whoever has an id that stays. */
export async function aliasesOf(trx: Queries, channel: ChannelId, id: string): Promise<readonly string[]> {
  const rows = await trx
    .selectFrom("alias")
    .select("alias")
    .where("channel", "=", channel)
    .where("id", "=", id)
    .orderBy("alias")
    .execute();
  return rows.map(({ alias }) => alias);
}

/** The id that stays of whoever is known by an alias; undefined where nobody is. */
export async function idBehind(trx: Queries, channel: ChannelId, alias: string): Promise<string | undefined> {
  const row = await trx
    .selectFrom("alias")
    .select("id")
    .where("channel", "=", channel)
    .where("alias", "=", alias)
    .executeTakeFirst();
  return row?.id;
}
