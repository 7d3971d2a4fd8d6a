import type { ChannelId, ChatAddress, ChatId } from "../core/identity.ts";
import { addressOf } from "./chats.ts";
import type { Queries } from "./tables.ts";

/** A message of ours, by the platform's ids. */
type Named = { readonly channel: ChannelId; readonly chat: string; readonly ref: string };

/** A message of ours has arrived or was read, at `at` (epoch ms); the first time counts, and what was read has arrived. */
export async function noteReceipt(
  trx: Queries,
  { channel, chat, ref }: Named,
  { status, at }: { readonly status: "delivered" | "read"; readonly at: number },
): Promise<void> {
  const columns = status === "read" ? (["delivered_at", "read_at"] as const) : (["delivered_at"] as const);
  for (const column of columns)
    await trx
      .updateTable("sent")
      .set({ [column]: at })
      .where("channel", "=", channel)
      .where("chat", "=", chat)
      .where("ref", "=", ref)
      .where(column, "=", 0)
      .execute();
}

/** A piece that the platform has refused after all, and where it was to stand. */
export type Refused = {
  readonly piece: number;
  readonly chat: ChatId;
  readonly to: ChatAddress;
  /** 0 for what Perch itself says. */
  readonly turn: number;
};

/** Ends a piece that counted as sent as failed; undefined where no such piece is known, or it has failed already. */
export async function refuseSent(
  trx: Queries,
  { channel, chat, ref }: Named,
  { why, now }: { readonly why: string; readonly now: number },
): Promise<Refused | undefined> {
  const row = await trx
    .updateTable("piece")
    .set({ state: "failed", error: why, body: "", ended_at: now })
    .where("id", "in", (eb) =>
      eb
        .selectFrom("sent")
        .select("piece_id")
        .where("channel", "=", channel)
        .where("chat", "=", chat)
        .where("ref", "=", ref),
    )
    .where("state", "in", ["sent", "unknown"])
    .returning(["id", "chat_id", "channel", "to_chat", "to_topic", "turn_id"])
    .executeTakeFirst();
  return (
    row && {
      piece: row.id,
      chat: row.chat_id,
      to: addressOf(row.channel, row.to_chat, row.to_topic),
      turn: row.turn_id,
    }
  );
}
