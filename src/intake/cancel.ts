import { idsOf } from "../core/identity.ts";
import type { SentenceKey } from "../core/sentences.ts";
import { type KeptRow, rowsOf, withdrawRows } from "../store/edits.ts";
import { answeredBy, isAnswered, newestWaiting, refOfRow } from "../store/queued.ts";
import { type About, answer, isOwner } from "./about.ts";
import { earlierOf, pendingIn } from "./earlier.ts";
import { unsign } from "./unsigning.ts";

/** `/cancel`: takes back the message that it answers, or the newest that waits of whoever asks for it. */
export async function cancel(about: About): Promise<void> {
  return await answer(about, await cancelled(about));
}

async function cancelled(about: About): Promise<SentenceKey> {
  const { trx, channel, chat, event } = about;
  const people = idsOf(event.from);
  const quoted = event.type === "message" ? event.quote?.ref : undefined;
  if (quoted === undefined) {
    const newest = await newestWaiting(trx, chat, people);
    if (newest !== undefined) return await cancelRef(about, newest);
    return (await isAnswered(trx, chat, people)) ? "cancel.running" : "cancel.nothing";
  }
  // Whoever answers the line of ours means the message that it stands below.
  const at = { channel, chat: event.place.chat, ref: quoted };
  return await cancelRef(about, (await answeredBy(trx, at)) ?? quoted);
}

/** Takes back the message of a row, if it still waits and whoever asks for it may; gives what they are told. */
export async function cancelRow(about: About, row: number): Promise<SentenceKey> {
  return await cancelRef(about, await refOfRow(about.trx, about.chat, row));
}

/** The rest of its intent stays, and may have waited for its media alone. */
async function cancelRef(about: About, ref: string): Promise<SentenceKey> {
  const { trx, chat, event, now, after, effects } = about;
  const rows = await rowsOf(trx, chat, ref);
  const said = rows.find(({ type }) => type === "message");
  if (!said) return "cancel.gone";
  if (!idsOf(event.from).includes(said.sender) && !isOwner(about)) return "cancel.not_yours";
  const earlier = earlierOf(rows);
  if (earlier.is === "running") return "cancel.running";
  if (earlier.is !== "untold" || earlier.row.state !== "waiting") return "cancel.gone";
  await withdraw(about, earlier.row, pendingIn(rows));
  after.push(() => effects.turn(chat, now, earlier.row.agent));
  return "cancel.done";
}

async function withdraw(about: About, row: KeptRow, pending: readonly number[]): Promise<void> {
  const { trx, now } = about;
  await unsign(about, row.id);
  await withdrawRows(trx, [...pending, row.id], { why: "cancelled", now });
}
