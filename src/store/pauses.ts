import type { ChatId } from "../core/identity.ts";
import { keepStill } from "./holds.ts";
import { withTrace } from "./inbox.ts";
import { isOpenAttachment, isOpenMessage } from "./open-rows.ts";
import type { Queries } from "./tables.ts";

/** Until when (epoch ms) the agent keeps still in a chat; 0 where it never had to. */
export async function pausedUntil(trx: Queries, chat: ChatId): Promise<number> {
  const { until } = await trx
    .selectFrom("chat")
    .select("paused_until as until")
    .where("id", "=", chat)
    .executeTakeFirstOrThrow();
  return until;
}

/**
 * The agent keeps still in a chat until then; an earlier end of that gives way to a later one. What waits there and no turn
 * has begun with is kept for a later turn: messages to be told with it; what was to be answered anew is withdrawn.
 */
export async function pauseChat(
  trx: Queries,
  chat: ChatId,
  { until, why, now }: { readonly until: number; readonly why: string; readonly now: number },
): Promise<void> {
  await keepStill(trx, chat);
  await trx
    .updateTable("chat")
    .set({ paused_until: until })
    .where("id", "=", chat)
    .where("paused_until", "<", until)
    .execute();
  const listened = await trx
    .selectFrom("inbox")
    .select(["id", "type"])
    .where("state", "=", "listening")
    .where("id", "in", (eb) =>
      eb.selectFrom("attachment").select("inbox_id").where(isOpenAttachment).where("chat_id", "=", chat),
    )
    .execute();
  const waiting = await trx
    .selectFrom("inbox")
    .select(["id", "type"])
    .where("chat_id", "=", chat)
    .where(isOpenMessage)
    .where("state", "=", "waiting")
    .where("turn_id", "=", 0)
    .execute();
  const rows = [...listened, ...waiting];
  if (rows.length === 0) return;
  const messages = rows.filter(({ type }) => type === "message").map(({ id }) => id);
  const others = rows.filter(({ type }) => type !== "message").map(({ id }) => id);
  const left = { why, agent: "", thread: "", intent: 0 };
  if (messages.length > 0)
    await trx
      .updateTable("inbox")
      .set({ ...left, state: "aside", trace: withTrace({ at: now, step: "aside", why }) })
      .where("id", "in", messages)
      .execute();
  if (others.length > 0)
    await trx
      .updateTable("inbox")
      .set({
        ...left,
        state: "withdrawn",
        payload: "",
        ended_at: now,
        trace: withTrace({ at: now, step: "withdrawn", why }),
      })
      .where("id", "in", others)
      .execute();
  await trx
    .updateTable("attachment")
    .set({ state: "done" })
    .where("state", "=", "waiting")
    .where(
      "inbox_id",
      "in",
      rows.map(({ id }) => id),
    )
    .execute();
}
