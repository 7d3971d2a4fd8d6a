import type { ReactionEvent } from "../core/events.ts";
import type { ChannelId, ChatId, ThreadId } from "../core/identity.ts";
import { keepStill } from "./holds.ts";
import { type Known, withTrace } from "./inbox.ts";
import { isAside, isOpenMessage } from "./open-rows.ts";
import type { Queries } from "./tables.ts";

/** A message of ours that an agent has said. */
export type OwnMessage = {
  readonly chat: ChatId;
  /** In which topic of the platform's chat it stands; "" without one. */
  readonly topic: string;
  readonly turn: number;
  readonly agent: string;
  readonly thread: ThreadId;
  /** Epoch ms. */
  readonly sentAt: number;
  /** Nothing that an agent has said since stands below it. */
  readonly newest: boolean;
};

/** Undefined for what is no message of ours, or one that Perch itself has said, or was forgotten. */
export async function ownMessage(
  trx: Queries,
  at: { readonly channel: ChannelId; readonly chat: string; readonly ref: string },
): Promise<OwnMessage | undefined> {
  const row = await trx
    .selectFrom("sent")
    .innerJoin("piece", "piece.id", "sent.piece_id")
    .innerJoin("turn", "turn.id", "piece.turn_id")
    .select([
      "sent.chat_id as chat",
      "sent.at as sentAt",
      "piece.id as piece",
      "piece.to_topic as topic",
      "turn.id as turn",
      "turn.agent",
      "turn.thread",
    ])
    .where("sent.channel", "=", at.channel)
    .where("sent.chat", "=", at.chat)
    .where("sent.ref", "=", at.ref)
    .executeTakeFirst();
  if (!row) return undefined;
  const later = await trx
    .selectFrom("sent")
    .innerJoin("piece", "piece.id", "sent.piece_id")
    .select("piece.id")
    .where("sent.chat_id", "=", row.chat)
    .where("sent.piece_id", ">", row.piece)
    .where("piece.turn_id", "not in", [0, row.turn])
    .limit(1)
    .executeTakeFirst();
  const { chat, topic, turn, agent, thread, sentAt } = row;
  return { chat, topic, turn, agent, thread, sentAt, newest: later === undefined };
}

/** What somebody thinks of a message of ours and no agent has been told of yet, nor is until the transaction ends. */
export async function pendingReaction(
  trx: Queries,
  of: { readonly chat: ChatId; readonly ref: string; readonly sender: string },
): Promise<{ readonly id: number; readonly event: Known<ReactionEvent> } | undefined> {
  await keepStill(trx, of.chat);
  const rows = trx
    .selectFrom("inbox")
    .select(["id", "payload"])
    .where("chat_id", "=", of.chat)
    .where("type", "=", "reaction")
    .where("ref", "=", of.ref)
    .where("sender", "=", of.sender);
  const row =
    (await rows.where(isAside).executeTakeFirst()) ??
    (await rows
      .where(isOpenMessage)
      .where("state", "=", "waiting")
      .where("turn_id", "=", 0)
      .executeTakeFirst());
  return row && { id: row.id, event: JSON.parse(row.payload) as Known<ReactionEvent> }; // as intake writes what it keeps
}

export async function rewriteReaction(
  trx: Queries,
  id: number,
  { event, now }: { readonly event: Known<ReactionEvent>; readonly now: number },
): Promise<void> {
  await trx
    .updateTable("inbox")
    .set({ payload: JSON.stringify(event), trace: withTrace({ at: now, step: "changed" }) })
    .where("id", "=", id)
    .execute();
}
