import type { ChannelId } from "../core/identity.ts";
import { grantedOwners } from "../store/people.ts";
import type { Queries } from "../store/tables.ts";
import { idsOfNamed } from "./aliases.ts";

/** Who owns a connection, by the ids that their rows may stand under; `named` is whom the operator calls so. */
export async function ownersOf(
  trx: Queries,
  channel: ChannelId,
  named: string | undefined,
): Promise<readonly string[]> {
  return named === undefined ? await grantedOwners(trx, channel) : await idsOfNamed({ trx }, channel, named);
}
