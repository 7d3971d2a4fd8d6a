import type { DeliveryEvent } from "../core/events.ts";
import { say } from "../core/sentences.ts";
import { insertPieces } from "../store/pieces.ts";
import { noteReceipt, refuseSent } from "../store/receipts.ts";
import type { Told } from "./about.ts";
import { ageOf } from "./lateness.ts";

/** What has become of a message of ours after the platform had taken it; of what is no message of ours, nothing. */
export async function takeDelivery(told: Told<DeliveryEvent>): Promise<void> {
  const { trx, channel, event, now } = told;
  const { chat, ref, status, sentAt } = event;
  if (status === "refused") return await refused(told);
  await noteReceipt(trx, { channel, chat, ref }, { status, at: now - ageOf(sentAt, now) });
}

/** The chat is told once of a part of an answer, whatever it consists of; of what Perch itself says it is not. */
async function refused(told: Told<DeliveryEvent>): Promise<void> {
  const { trx, channel, event, now, after, effects, log } = told;
  const { why = "the platform has refused it" } = event;
  const piece = await refuseSent(trx, { channel, chat: event.chat, ref: event.ref }, { why, now });
  if (!piece) return;
  const { chat, to, turn } = piece;
  after.push(() => log.error({ channel, chat, piece: piece.piece }, "a piece was refused after it was sent"));
  const [body] = told.words(channel, say("piece.failed", "en", { what: "a message" }));
  if (turn === 0 || !body) return;
  await insertPieces(trx, [{ chat, to, turn: 0, seq: 0, body }], now);
  after.push(() => effects.deliver(chat));
}
