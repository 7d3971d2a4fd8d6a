import type { ChannelId } from "../core/identity.ts";
import { idBehind, rememberAliases } from "../store/aliases.ts";
import { type Placed, rulesFor, type Told } from "./about.ts";

/**
 * Remembers who the owner is, and which chat has rules, where the operator has written another id than the one that stays:
 * what is asked for later goes by that one alone.
 */
export async function rememberWhoIsMeant(told: Told<Placed>): Promise<void> {
  const { trx, channel, event } = told;
  const { from, place } = event;
  const rules = rulesFor(told);
  if (!rules) return;
  const owner = (from.also ?? []).filter((id) => id === rules.owner);
  const chats = (place.also ?? []).filter((id) => Object.hasOwn(rules.chats, id));
  const aliases = [
    ...owner.map((alias) => [alias, from.id] as const),
    ...chats.map((alias) => [alias, place.chat] as const),
  ];
  await rememberAliases(trx, channel, new Map(aliases));
}

/** The ids that somebody's rows may stand under whom the operator calls so. */
export async function idsOfNamed(
  { trx }: Pick<Told, "trx">,
  channel: ChannelId,
  named: string,
): Promise<readonly string[]> {
  const id = await idBehind(trx, channel, named);
  return id === undefined ? [named] : [named, id];
}
