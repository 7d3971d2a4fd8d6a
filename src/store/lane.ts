import type { ChatId } from "../core/identity.ts";
import type { During } from "../core/rules.ts";
import { keepStill } from "./holds.ts";
import { isOpenMessage } from "./open-rows.ts";
import type { Queries } from "./tables.ts";

/** What is done in a chat before what comes now. */
export type Lane = {
  /** Somebody holds the chat: a turn runs there. */
  readonly held: boolean;
  /** What waits, the oldest first. `dueAt` is when its window closes (epoch ms); a task is a command that waits its turn. */
  readonly intents: readonly { readonly intent: number; readonly dueAt: number; readonly task: boolean }[];
  /** What becomes of messages meanwhile, as it was wished for in the chat; "" where the rules say. */
  readonly during: During | "";
  /** Its people know that too much waits. */
  readonly fullTold: boolean;
};

/** Until the transaction ends, no turn of the chat begins or ends, so that what is found stays true. */
export async function laneOf(trx: Queries, chat: ChatId, now: number): Promise<Lane> {
  await keepStill(trx, chat);
  const rows = await trx
    .selectFrom("chat")
    .leftJoin("inbox", (join) =>
      join
        .onRef("inbox.chat_id", "=", "chat.id")
        .on(isOpenMessage)
        .on("inbox.state", "=", "waiting")
        .on("inbox.intent", ">", 0),
    )
    .select((eb) => [
      "chat.owner",
      "chat.until",
      "chat.during",
      "chat.full_told as fullTold",
      "inbox.intent",
      eb.fn.max("inbox.due_at").as("dueAt"),
      eb.fn.max("inbox.task").as("task"),
    ])
    .where("chat.id", "=", chat)
    .groupBy(["chat.id", "inbox.intent"])
    .orderBy("inbox.intent")
    .execute();
  const [first] = rows;
  return {
    held: first !== undefined && first.owner !== "" && first.until > now,
    intents: rows.flatMap(({ intent, dueAt, task }) =>
      intent === null ? [] : [{ intent, dueAt: dueAt ?? 0, task: task !== "" }],
    ),
    during: first?.during ?? "",
    fullTold: first?.fullTold === 1,
  };
}

/** Which of its messages holds the window of an intent open, by its kind. */
export async function windowHeld(
  trx: Queries,
  { chat, intent, dueAt }: { readonly chat: ChatId; readonly intent: number; readonly dueAt: number },
): Promise<string> {
  const row = await trx
    .selectFrom("inbox")
    .select("window")
    .where("chat_id", "=", chat)
    .where(isOpenMessage)
    .where("intent", "=", intent)
    .where("due_at", "=", dueAt)
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  return row?.window ?? "";
}

/** What becomes of messages that come while a turn runs: what is wished for in the chat; "" for what the rules say. */
export async function wishDuring(trx: Queries, chat: ChatId, during: During | ""): Promise<void> {
  await trx.updateTable("chat").set({ during }).where("id", "=", chat).execute();
}

export async function noteFullTold(trx: Queries, chat: ChatId, told: boolean): Promise<void> {
  await trx
    .updateTable("chat")
    .set({ full_told: told ? 1 : 0 })
    .where("id", "=", chat)
    .execute();
}
