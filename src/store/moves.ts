import { PostgresAdapter, sql } from "kysely";
import type { InboundEvent } from "../core/events.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import { moveApprovals, redirectApprovals } from "./approval-upkeep.ts";
import { moveTasks } from "./background.ts";
import { moveUse } from "./budgets.ts";
import { chatOf, chatsAt, currentThread } from "./chats.ts";
import { withTrace } from "./inbox.ts";
import { moveChatsMemory, movePersonsMemory } from "./memory-moves.ts";
import { moveGrant } from "./people.ts";
import { moveSchedules } from "./schedules.ts";
import type { Queries } from "./tables.ts";

type Move = { readonly channel: ChannelId; readonly from: string; readonly to: string; readonly now: number };

type PlacedEvent = Extract<InboundEvent, { readonly place: unknown }>;

/** The chats in which work may be waiting for the new id, and whether the move was new to us. */
type Moved = { readonly chats: readonly ChatId[]; readonly isNew: boolean };

/**
 * The platform gives a chat another id: the new one becomes a further address of the same chat, in every topic of the old
 * one, and what is still to be sent goes there. Where the new id has a chat already, what that holds moves over.
 */
export async function moveChat(trx: Queries, move: Move): Promise<Moved> {
  const { channel, from, to } = move;
  // A private chat is called as its person is, whose number may be somebody else's from now on.
  await moveGrant(trx, move);
  await movePersonsMemory(trx, move);
  await moveUse(trx, { ...move, scope: "person" });
  const there = new Map((await chatsAt(trx, channel, to)).map(({ topic, chat }) => [topic, chat]));
  const old = await chatsAt(trx, channel, from);
  if (old.length === 0) {
    // Remembered all the same, for the rules that the operator has written.
    const chat = there.get("") ?? (await chatOf(trx, channel, { chat: to, kind: "group" }));
    await pointTo(trx, { channel, chat: from, topic: "" }, chat);
    return { chats: [chat], isNew: true };
  }
  const touched = new Set<ChatId>();
  let isNew = false;
  for (const { topic, chat } of old) {
    const other = there.get(topic);
    touched.add(chat);
    if (other !== chat) {
      isNew = true;
      if (other !== undefined) touched.add(other);
      await lock(trx, [...touched]);
      // What the platform called a message there, it calls another one here.
      await trx.updateTable("inbox").set({ ref: "" }).where("chat_id", "=", chat).execute();
      if (other === undefined) await pointTo(trx, { channel, chat: to, topic }, chat);
      else await merge(trx, { from: other, into: chat, now: move.now });
    }
    // Each time that it is told: a turn or a send that was under way has planned for the old id since.
    await redirect(trx, chat, move);
  }
  return { chats: [...touched], isNew };
}

/** The other ids that a platform's chat has or had, and those that the operator knows it by. */
export async function otherIds(trx: Queries, channel: ChannelId, chat: string): Promise<readonly string[]> {
  const rows = await trx
    .selectFrom("address as one")
    .innerJoin("address as other", "other.chat_id", "one.chat_id")
    .select("other.chat")
    .distinct()
    .where("one.channel", "=", channel)
    .where("one.chat", "=", chat)
    .where("other.chat", "!=", chat)
    .union(
      trx
        .selectFrom("alias")
        .select("alias.alias as chat")
        .where("alias.channel", "=", channel)
        .where("alias.id", "=", chat),
    )
    .orderBy("chat")
    .execute();
  return rows.map((row) => row.chat);
}

async function pointTo(
  trx: Queries,
  address: { readonly channel: ChannelId; readonly chat: string; readonly topic: string },
  chat: ChatId,
): Promise<void> {
  await trx
    .insertInto("address")
    .values({ ...address, chat_id: chat })
    .onConflict((conflict) => conflict.columns(["channel", "chat", "topic"]).doUpdateSet({ chat_id: chat }))
    .execute();
}

/** SQLite has one writer at a time; on PostgreSQL a turn of one of these may be claimed meanwhile. */
async function lock(trx: Queries, chats: readonly ChatId[]): Promise<void> {
  if (!(trx.getExecutor().adapter instanceof PostgresAdapter)) return;
  await trx.selectFrom("chat").select("id").where("id", "in", chats).orderBy("id").forUpdate().execute();
}

/** What waits in a chat is answered under its new id. */
async function redirect(trx: Queries, chat: ChatId, { from, to }: Move): Promise<void> {
  await trx
    .updateTable("piece")
    .set({ to_chat: to, reply_to: "", replaces: "" })
    .where("chat_id", "=", chat)
    .where("to_chat", "=", from)
    .where("state", "in", ["planned", "sending", "parked", "unknown"])
    .execute();
  for (const table of ["background_task", "schedule"] as const)
    await trx
      .updateTable(table)
      .set({ to_chat: to })
      .where("chat_id", "=", chat)
      .where("to_chat", "=", from)
      .execute();
  await redirectApprovals(trx, chat, { from, to });
  const waiting = await trx
    .selectFrom("inbox")
    .select(["id", "payload"])
    .where("chat_id", "=", chat)
    .where("payload", "!=", "")
    .execute();
  for (const { id, payload } of waiting) {
    const event = JSON.parse(payload) as PlacedEvent; // written by insertEvent
    if (event.place.chat !== from) continue;
    const ref = "ref" in event ? { ref: "" } : {};
    const moved = { ...event, ...ref, place: { ...event.place, chat: to } };
    await trx
      .updateTable("inbox")
      .set({ payload: JSON.stringify(moved) })
      .where("id", "=", id)
      .execute();
  }
}

/**
 * One chat takes over what another one holds: every address that leads there; what was said, so that repeats are known and
 * what waits goes to the thread that goes on; what was sent and asked. What is being sent stays: whoever sends it holds
 * that chat's order.
 */
async function merge(
  trx: Queries,
  { from, into, now }: { readonly from: ChatId; readonly into: ChatId; readonly now: number },
): Promise<void> {
  const agents = await trx
    .selectFrom("inbox")
    .select("agent")
    .distinct()
    .where("chat_id", "=", from)
    .where("thread", "!=", "")
    .where("ended_at", "=", 0)
    .execute();
  for (const { agent } of agents) {
    await trx
      .updateTable("inbox")
      .set({
        thread: await currentThread(trx, into, agent),
        trace: withTrace({ at: now, step: "moved", chat: into }),
      })
      .where("chat_id", "=", from)
      .where("agent", "=", agent)
      .where("thread", "!=", "")
      .where("ended_at", "=", 0)
      .execute();
  }
  await renameRepeats(trx, { from, into });
  await moveTasks(trx, { from, into });
  await moveSchedules(trx, { from, into });
  await moveApprovals(trx, { from, into }, async (agent) => await currentThread(trx, into, agent));
  const { channel } = await trx
    .selectFrom("chat")
    .select("channel")
    .where("id", "=", into)
    .executeTakeFirstOrThrow();
  await moveChatsMemory(trx, { channel, from, into });
  await moveUse(trx, { scope: "chat", channel, from: String(from), to: String(into) });
  const pause = await trx
    .selectFrom("chat")
    .select(["paused_until", "paused_by", "paused_at"])
    .where("id", "=", from)
    .executeTakeFirstOrThrow();
  await trx
    .updateTable("chat")
    .set(pause)
    .where("id", "=", into)
    .where("paused_until", "<", pause.paused_until)
    .execute();
  for (const table of ["address", "inbox", "attachment", "turn", "sent", "question"] as const)
    await trx.updateTable(table).set({ chat_id: into }).where("chat_id", "=", from).execute();
  await trx
    .updateTable("piece")
    .set({ chat_id: into })
    .where("chat_id", "=", from)
    .where("state", "in", ["parked", "sent", "failed", "cancelled"])
    .execute();
}

/** What was handed over under both ids has one key in both chats, and a chat has room for one of each. */
async function renameRepeats(
  trx: Queries,
  { from, into }: { readonly from: ChatId; readonly into: ChatId },
): Promise<void> {
  await trx
    .updateTable("inbox")
    .set({ event_key: sql<string>`event_key || ' ' || id` })
    .where("chat_id", "=", from)
    .where("event_key", "in", (eb) => eb.selectFrom("inbox").select("event_key").where("chat_id", "=", into))
    .execute();
}
