import type { Place } from "../core/events.ts";
import type { ChatId, ThreadId } from "../core/identity.ts";
import { asksQuestion, isOpenMessage } from "./open-rows.ts";
import type { Queries } from "./tables.ts";

/** Two chats have become one, whose thread goes on. */
export async function moveApprovals(
  trx: Queries,
  { from, into }: { readonly from: ChatId; readonly into: ChatId },
  threadOf: (agent: string) => Promise<ThreadId>,
): Promise<void> {
  const rows = await trx
    .updateTable("approval")
    .set({ chat_id: into })
    .where("chat_id", "=", from)
    .returning(["id", "agent", "state"])
    .execute();
  for (const { id, agent } of rows.filter(({ state }) => state === "open")) {
    const thread = await threadOf(agent);
    await trx.updateTable("approval").set({ thread }).where("id", "=", id).execute();
    await trx.updateTable("question").set({ thread }).where("approval", "=", id).execute();
  }
}

/** The platform calls the chat by another id: results are told there. */
export async function redirectApprovals(
  trx: Queries,
  chat: ChatId,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const rows = await trx
    .selectFrom("approval")
    .select(["id", "place"])
    .where("chat_id", "=", chat)
    .where("state", "in", ["noted", "open"])
    .execute();
  for (const { id, place } of rows) {
    const known = JSON.parse(place) as Place; // as noteApproval writes it
    if (known.chat !== from) continue;
    const moved = JSON.stringify({ ...known, chat: to });
    await trx.updateTable("approval").set({ place: moved }).where("id", "=", id).execute();
  }
}

/** All of a chat is forgotten: what waits there, and what is asked about it elsewhere. */
export async function forgetApprovals(trx: Queries, chat: ChatId, now: number): Promise<void> {
  const about = trx
    .selectFrom("question")
    .innerJoin("approval", "approval.id", "question.approval")
    .select("question.id")
    .where("approval.chat_id", "=", chat);
  await trx
    .updateTable("piece")
    .set({ state: "cancelled", body: "", ended_at: now })
    .where(asksQuestion)
    .where("question", "in", about)
    .where("state", "in", ["planned", "parked", "sending"])
    .execute();
  await trx.deleteFrom("choice").where("question", "in", about).execute();
  // In this order, as whoever answers one takes them.
  await trx
    .deleteFrom("question")
    .where("approval", "in", (eb) => eb.selectFrom("approval").select("id").where("chat_id", "=", chat))
    .execute();
  await trx.deleteFrom("approval").where("chat_id", "=", chat).execute();
  // What was asked here about other chats can be answered nowhere any more.
  await trx
    .updateTable("approval")
    .set({ state: "expired", answered_at: now })
    .where("state", "=", "open")
    .where("id", "in", (eb) =>
      eb.selectFrom("question").select("approval").where("chat_id", "=", chat).where("approval", "!=", ""),
    )
    .execute();
}

/**
 * Forgets what was decided or over before `before` (epoch ms), and what was noted then by a turn that never ended; not what
 * was allowed and still waits for its turn.
 */
export async function pruneApprovals(trx: Queries, before: number): Promise<number> {
  const { numDeletedRows } = await trx
    .deleteFrom("approval")
    .where("noted_at", "<", before)
    .where("expires_at", "<", before)
    .where("thread", "not in", (eb) => eb.selectFrom("inbox").select("thread").where("state", "=", "dead"))
    .where("intent", "not in", (eb) => eb.selectFrom("inbox").select("inbox.id").where(isOpenMessage))
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
