import type { ChannelId, ChatId } from "../core/identity.ts";
import type { FactOwner } from "../core/memory.ts";
import type { Queries } from "./tables.ts";

/** Somebody has another id from now on, and is remembered under that. */
export async function movePersonsMemory(
  trx: Queries,
  { channel, from, to }: { readonly channel: ChannelId; readonly from: string; readonly to: string },
): Promise<void> {
  await moveFacts(trx, { channel, scope: "person", from, to });
}

/** One chat takes over what another one holds. */
export async function moveChatsMemory(
  trx: Queries,
  { channel, from, into }: { readonly channel: ChannelId; readonly from: ChatId; readonly into: ChatId },
): Promise<void> {
  await moveFacts(trx, { channel, scope: "chat", from: String(from), to: String(into) });
  await trx.updateTable("memory_work").set({ chat_id: into }).where("chat_id", "=", from).execute();
  await trx
    .deleteFrom("blob_use")
    .where("chat_id", "=", from)
    .where("blob", "in", (eb) => eb.selectFrom("blob_use").select("blob").where("chat_id", "=", into))
    .execute();
  await trx.updateTable("blob_use").set({ chat_id: into }).where("chat_id", "=", from).execute();
}

async function moveFacts(
  trx: Queries,
  of: Pick<FactOwner, "channel" | "scope"> & { readonly from: string; readonly to: string },
): Promise<void> {
  const { channel, scope, from, to } = of;
  const agents = await trx
    .selectFrom("memory_fact")
    .select("agent")
    .distinct()
    .where("channel", "=", channel)
    .where("scope", "=", scope)
    .where("subject", "=", from)
    .execute();
  for (const { agent } of agents) {
    const { last } = await trx
      .selectFrom("memory_fact")
      .select((eb) => eb.fn.max("n").as("last"))
      .where("channel", "=", channel)
      .where("scope", "=", scope)
      .where("subject", "=", to)
      .where("agent", "=", agent)
      .executeTakeFirstOrThrow();
    await trx
      .updateTable("memory_fact")
      // Behind those that are there: a number is one fact's.
      .set((eb) => ({ subject: to, n: eb("n", "+", last ?? 0) }))
      .where("channel", "=", channel)
      .where("scope", "=", scope)
      .where("subject", "=", from)
      .where("agent", "=", agent)
      .execute();
  }
  // Of a thread that both have spoken in one row goes on.
  await trx
    .deleteFrom("memory_work")
    .where("channel", "=", channel)
    .where("scope", "=", scope)
    .where("subject", "=", from)
    .where("thread", "in", (eb) =>
      eb
        .selectFrom("memory_work as other")
        .select("other.thread")
        .where("other.channel", "=", channel)
        .where("other.scope", "=", scope)
        .where("other.subject", "=", to),
    )
    .execute();
  await trx
    .updateTable("memory_work")
    .set({ subject: to })
    .where("channel", "=", channel)
    .where("scope", "=", scope)
    .where("subject", "=", from)
    .execute();
}
