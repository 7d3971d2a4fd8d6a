import type { Sender } from "../core/events.ts";
import { type ChannelId, idsOf } from "../core/identity.ts";
import { type Grant, grantOf } from "../store/people.ts";
import type { Queries } from "../store/tables.ts";
import type { About } from "./about.ts";
import type { Granted } from "./admit.ts";

/** What was granted to somebody in chat, and when they were last told why they get no answer. */
export async function standingIn(
  trx: Queries,
  channel: ChannelId,
  person: Sender,
): Promise<Pick<About, "granted" | "toldAt">> {
  const known = await grantOf(trx, channel, idsOf(person));
  return { granted: grantedAs(known), toldAt: toldAt(known) };
}

export async function grantedTo(trx: Queries, channel: ChannelId, person: Sender): Promise<Granted> {
  return (await standingIn(trx, channel, person)).granted;
}

type Known = Pick<Grant, "role" | "at"> | undefined;

function grantedAs(known: Known): Granted {
  return known?.role === "owner" || known?.role === "allowed" ? known.role : undefined;
}

function toldAt(known: Known): number {
  if (known?.role === "refused") return Infinity;
  return known?.role === "stranger" ? known.at : 0;
}
