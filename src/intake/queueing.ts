import type { MessageEvent } from "../core/events.ts";
import { wasAlbumRefused } from "../store/inbox.ts";
import { noteFullTold } from "../store/lane.ts";
import { type About, addressIn, answer } from "./about.ts";
import type { Placing } from "./placing.ts";

/** What follows a message that was put into the lane of its chat: a word where that is full, a sign that it waits. */
export async function afterPlacing(about: About<MessageEvent>, row: number, placing: Placing): Promise<void> {
  const { trx, chat, event, now, after, effects } = about;
  const { full, fullTold, interrupts, rules } = placing;
  const limit = rules.queueLimit;
  if (full === "refused") {
    const known = { channel: about.channel, sender: event.from.id, album: event.albumId ?? "", now, row };
    // An album is one thing that was said.
    if (event.albumId !== undefined && (await wasAlbumRefused(trx, chat, known))) return;
    return await answer(about, "waiting.full", { limit }, { names: true });
  }
  if (full === "joins" && !fullTold) {
    await noteFullTold(trx, chat, true);
    await answer(about, "waiting.joined", { limit }, { names: true });
  }
  // Only what opens an intent says that there is room again.
  if (full === undefined && placing.joins === undefined && fullTold) await noteFullTold(trx, chat, false);
  if (interrupts) after.push(() => effects.interrupt(chat));
  if (!placing.waits || rules.waitingSign === "off" || event.ref === "") return;
  // One sign is enough for an album, and one line for all that is answered together.
  if (placing.joins !== undefined && (rules.waitingSign === "line" || placing.why === "album")) return;
  const at = Math.max(placing.dueAt, now);
  const sign = { chat, row, to: addressIn(about), ref: event.ref, as: rules.waitingSign, at };
  after.push(() => effects.sign(sign));
}
