import { type ChatId, messageIdOf } from "../core/identity.ts";
import type { KeptRow } from "./edits.ts";
import type { BegunWork } from "./memory.ts";
import type { Queries } from "./tables.ts";

/**
 * A message says something else now, or nothing any more: what it said is remembered no longer, nor what was told of it
 * later. `rows` are all that is known of it. What is being gone through just now may have seen it, and is begun anew.
 */
export async function unsay(
  trx: Queries,
  chat: ChatId,
  rows: readonly KeptRow[],
  { as }: { readonly as: "edited" | "taken back" },
): Promise<void> {
  const own = rows.flatMap(({ intent }) => (intent > 0 ? [intent] : []));
  const turns = rows.flatMap(({ turn }) => (turn > 0 ? [turn] : []));
  const told =
    turns.length === 0
      ? []
      : await trx.selectFrom("turn").select("intent").where("id", "in", turns).execute();
  const intents = [...new Set([...own, ...told.map(({ intent }) => intent)])];
  if (intents.length === 0) return;
  // What was told of it while it was answered stands in the thread under the same intent.
  const again = as === "taken back" || rows.some(({ type, turn }) => type === "edited" && turn > 0);
  await trx
    .updateTable("inbox")
    .set({ unsaid: again ? 2 : 1 })
    .where("chat_id", "=", chat)
    .where("id", "in", intents)
    .execute();
  const threads = [...new Set(rows.map(({ thread }) => thread).filter((thread) => thread !== ""))];
  if (threads.length === 0) return;
  await trx
    .deleteFrom("memory_fact")
    .where("thread", "in", threads)
    .where((eb) =>
      eb.or(
        intents.flatMap((intent) => [
          eb("said_in", "=", messageIdOf(intent)),
          eb("said_in", "like", `${messageIdOf(intent)}/%`),
        ]),
      ),
    )
    .execute();
  await trx
    .updateTable("memory_work")
    .set((eb) => ({ epoch: eb("epoch", "+", 1) }))
    .where("thread", "in", threads)
    .execute();
}

/** Ids of the messages of a thread that say something else by now; with "/" at the end also what follows them under their name. */
export async function unsaidIn(
  db: Queries,
  { chat, thread }: Pick<BegunWork, "chat" | "thread">,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("inbox")
    .select(["intent", "unsaid"])
    .where("chat_id", "=", chat)
    .where("thread", "=", thread)
    .where("unsaid", ">", 0)
    .execute();
  return rows.flatMap(({ intent, unsaid }) =>
    unsaid > 1 ? [messageIdOf(intent), `${messageIdOf(intent)}/`] : [messageIdOf(intent)],
  );
}

/** Ids of the messages that others than the owner have said in a thread, as they are called in it. */
export async function saidByOthers(
  db: Queries,
  { chat, thread, owner }: Pick<BegunWork, "chat" | "thread" | "owner">,
): Promise<readonly string[]> {
  if (owner.scope === "chat") return [];
  const rows = await db
    .selectFrom("inbox")
    .select("intent")
    .distinct()
    .where("chat_id", "=", chat)
    .where("thread", "=", thread)
    .where("intent", ">", 0)
    .where("sender", "!=", owner.subject)
    .where("sender", "!=", "")
    .execute();
  return rows.map(({ intent }) => messageIdOf(intent));
}
