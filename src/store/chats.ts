import type { Place } from "../core/events.ts";
import { type ChannelId, type ChatAddress, type ChatId, threadId, type ThreadId } from "../core/identity.ts";
import type { Language } from "../core/sentences.ts";
import type { Queries } from "./tables.ts";

/** The number of the chat behind a platform's address; the first event of an address makes one. */
export async function chatOf(trx: Queries, channel: ChannelId, place: Place): Promise<ChatId> {
  const known = await chatAt(trx, channel, place);
  if (known !== undefined) return known;
  const { id } = await trx
    .insertInto("chat")
    .values({ channel, kind: place.kind, owner: "", epoch: 0, until: 0 })
    .returning("id")
    .executeTakeFirstOrThrow();
  const made = await trx
    .insertInto("address")
    .values({ channel, chat: place.chat, topic: place.topic ?? "", chat_id: id })
    .onConflict((conflict) => conflict.columns(["channel", "chat", "topic"]).doNothing())
    .returning("chat_id")
    .executeTakeFirst();
  if (made) return id;
  // On PostgreSQL another process may have made it meanwhile; its commit is what the insert waited for.
  await trx.deleteFrom("chat").where("id", "=", id).execute();
  return (await chatAt(trx, channel, place)) ?? id;
}

async function chatAt(trx: Queries, channel: ChannelId, place: Place): Promise<ChatId | undefined> {
  const row = await trx
    .selectFrom("address")
    .select("chat_id")
    .where("channel", "=", channel)
    .where("chat", "=", place.chat)
    .where("topic", "=", place.topic ?? "")
    .executeTakeFirst();
  return row?.chat_id;
}

/** What is known of a platform's chat: the chats of all of its topics; `topic` is "" without one. */
export async function chatsAt(
  trx: Queries,
  channel: ChannelId,
  chat: string,
): Promise<readonly { readonly topic: string; readonly chat: ChatId }[]> {
  return await trx
    .selectFrom("address")
    .select(["topic", "chat_id as chat"])
    .where("channel", "=", channel)
    .where("chat", "=", chat)
    .orderBy("topic")
    .execute();
}

/**
 * Where somebody of these last spoke to an agent in private, or asked a connection to be let in; undefined where none of them
 * has since what is done was forgotten. Of several addresses of that chat any will do: a platform that has moved it says so
 * when it is sent to.
 */
export async function privateChatOf(
  trx: Queries,
  channel: ChannelId,
  people: readonly string[],
  as: "known" | "stranger",
): Promise<{ readonly chat: ChatId; readonly to: ChatAddress; readonly person: string } | undefined> {
  if (people.length === 0) return undefined;
  const row = await trx
    .selectFrom("inbox")
    .innerJoin("chat", "chat.id", "inbox.chat_id")
    .innerJoin("address", "address.chat_id", "chat.id")
    .select(["chat.id", "address.chat", "address.topic", "inbox.sender"])
    .where("inbox.channel", "=", channel)
    .where("inbox.sender", "in", people)
    .where("chat.kind", "=", "private")
    // What the account's own person writes by hand stands in other people's chats, and is of no agent.
    .$if(as === "known", (query) => query.where("inbox.agent", "!=", ""))
    .orderBy("inbox.received_at", "desc")
    .limit(1)
    .executeTakeFirst();
  return row && { chat: row.id, to: addressOf(channel, row.chat, row.topic), person: row.sender };
}

export function addressOf(channel: ChannelId, chat: string, topic: string): ChatAddress {
  return topic === "" ? { channel, chat } : { channel, chat, topic };
}

/** The thread that new messages of a chat go to. */
export async function currentThread(trx: Queries, chat: ChatId, agent: string): Promise<ThreadId> {
  const row = await trx
    .selectFrom("thread_count")
    .select("n")
    .where("chat_id", "=", chat)
    .where("agent", "=", agent)
    .executeTakeFirst();
  return threadId(chat, agent, row?.n ?? 1);
}

/** Starts a fresh thread; the old one is kept. */
export async function freshThread(trx: Queries, chat: ChatId, agent: string): Promise<void> {
  await trx
    .insertInto("thread_count")
    .values({ chat_id: chat, agent, n: 2 })
    .onConflict((conflict) =>
      conflict.columns(["chat_id", "agent"]).doUpdateSet((eb) => ({ n: eb("thread_count.n", "+", 1) })),
    )
    .execute();
}

/** What people of a chat wrote in when it last could be told. */
export async function languageOfChat(db: Queries, chat: ChatId): Promise<Language> {
  const row = await db.selectFrom("chat").select("language").where("id", "=", chat).executeTakeFirst();
  return row?.language || "en";
}

/** One of the ids that the platform has or had for a chat; undefined where nobody has written there. */
export async function anAddressOf(
  trx: Queries,
  channel: ChannelId,
  chat: ChatId,
): Promise<string | undefined> {
  const row = await trx
    .selectFrom("address")
    .select("chat")
    .where("channel", "=", channel)
    .where("chat_id", "=", chat)
    .limit(1)
    .executeTakeFirst();
  return row?.chat;
}
