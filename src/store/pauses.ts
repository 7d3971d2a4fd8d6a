import type { ChatId } from "../core/identity.ts";
import { keepStill } from "./holds.ts";
import { withTrace } from "./inbox.ts";
import { isOpenAttachment, isOpenMessage } from "./open-rows.ts";
import type { Queries } from "./tables.ts";

/** When a pause ends that only a command ends. */
export const UNTIL_RESUMED = Date.UTC(9999, 0);

/** The agent keeps still in a chat until then (epoch ms), because somebody writes there by hand, or a command wished for it. */
export type Pause = { readonly by: "hand" | "command"; readonly until: number };

/**
 * Until when (epoch ms) the agent keeps still in a chat; 0 where it does not. What it would say there unasked waits for
 * that; `UNTIL_RESUMED` is the end of a pause that nobody knows the end of.
 */
export async function pausedUntil(trx: Queries, chat: ChatId, now: number): Promise<number> {
  const pause = await pauseOf(trx, chat, now);
  return pause && pause.until > now ? pause.until : 0;
}

/**
 * The last pause of a chat. One by hand holds for what was said before its end, whenever that comes, and so it is given
 * when it is over, too; one by command ends with its time, or when it is lifted.
 */
export async function pauseOf(trx: Queries, chat: ChatId, now: number): Promise<Pause | undefined> {
  const { until, by, at } = await trx
    .selectFrom("chat")
    .select(["paused_until as until", "paused_by as by", "paused_at as at"])
    .where("id", "=", chat)
    .executeTakeFirstOrThrow();
  if (until === 0) return undefined;
  if (by !== "command") return { by: "hand", until };
  const end = until <= now ? 0 : until === UNTIL_RESUMED || at <= now ? until : until - (at - now);
  // One that is over does not begin again, and one that goes on takes no longer than it was to, when the clock is set back.
  if (end !== until)
    await trx
      .updateTable("chat")
      .set({ paused_until: end, paused_at: now })
      .where("id", "=", chat)
      .where("paused_until", "=", until)
      .execute();
  return end === 0 ? undefined : { by, until: end };
}

/**
 * Whoever the account belongs to has written by hand: the agent keeps still until then, and an earlier end of that gives way
 * to a later one. What waits there and no turn has begun with is kept for a later turn.
 */
export async function pauseByHand(
  trx: Queries,
  chat: ChatId,
  { until, why, now }: { readonly until: number; readonly why: string; readonly now: number },
): Promise<void> {
  await keepStill(trx, chat);
  const known = await pauseOf(trx, chat, now);
  if (known === undefined || known.until < until)
    await trx
      .updateTable("chat")
      .set({ paused_until: until, paused_at: now, paused_by: known?.by ?? "hand" })
      .where("id", "=", chat)
      .execute();
  await keepWaiting(trx, chat, { why, now });
}

/**
 * A command has the agent keep still until then, whatever held before. What waits there is kept, and so will be what a turn
 * is of that answers there just now: from now on it plans nothing to be sent. Gives whether there is one, to be stopped.
 */
export async function pauseByCommand(
  trx: Queries,
  chat: ChatId,
  { until, why, now }: { readonly until: number; readonly why: string; readonly now: number },
): Promise<boolean> {
  await keepStill(trx, chat);
  const claimed = await trx
    .selectFrom("inbox")
    .select("task")
    .distinct()
    .where("chat_id", "=", chat)
    .where(isOpenMessage)
    .where("state", "=", "claimed")
    .where("intent", ">", 0)
    .execute();
  // What Perch itself was asked to do goes on, and what was allowed.
  const cuts = claimed.length > 0 && claimed.every(({ task }) => task === "");
  await trx
    .updateTable("chat")
    .set((eb) => ({
      paused_until: until,
      paused_by: "command",
      paused_at: now,
      ...(cuts ? { paused_epoch: eb.ref("epoch"), stop_epoch: eb.ref("epoch") } : {}),
    }))
    .where("id", "=", chat)
    .execute();
  await keepWaiting(trx, chat, { why, now });
  return cuts;
}

/** The agent speaks again in a chat. */
export async function liftPause(trx: Queries, chat: ChatId): Promise<void> {
  await keepStill(trx, chat);
  await trx.updateTable("chat").set({ paused_until: 0 }).where("id", "=", chat).execute();
}

/**
 * What waits in a chat and no turn has begun with is kept: messages to be told with a later turn; what was to be answered
 * anew is withdrawn. What is asked of Perch itself is still done, and so is what was allowed; what is due at a time waits.
 */
async function keepWaiting(
  trx: Queries,
  chat: ChatId,
  { why, now }: { readonly why: string; readonly now: number },
): Promise<void> {
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
    .where("task", "=", "")
    .where("type", "!=", "scheduled")
    .execute();
  const rows = [...listened, ...waiting];
  if (rows.length === 0) return;
  const left = { why, agent: "", thread: "", intent: 0, during: "" } as const;
  const messages = rows.filter(({ type }) => type === "message").map(({ id }) => id);
  const others = rows.filter(({ type }) => type !== "message").map(({ id }) => id);
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
