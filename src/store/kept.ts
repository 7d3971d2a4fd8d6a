import type { MessageEvent } from "../core/events.ts";
import type { ChannelId, ChatId, Hold, ThreadId } from "../core/identity.ts";
import { MOST_KEPT, trimAsides } from "./asides.ts";
import { fetchWhatLacks } from "./attachments.ts";
import { catchUp } from "./given-back.ts";
import { withTrace } from "./inbox.ts";
import { isAside } from "./open-rows.ts";
import { pausedUntil } from "./pauses.ts";
import type { Queries } from "./tables.ts";

/** Why a message is kept that came while the account's own person had taken over. */
export const TAKEN_OVER = "the owner of the account has written here by hand";
/** Why a message is kept that came while a command had the agent keep still. */
export const PAUSED = "paused here by /pause";

/** A message that the agent would have answered, had it not kept still. */
export type KeptMessage = {
  readonly id: number;
  readonly event: MessageEvent;
  /** Whether a turn had begun with it. */
  readonly begun: boolean;
};

/** What is kept of a chat because the agent kept still there, in the order it came. */
export async function keptMessages(trx: Queries, chat: ChatId): Promise<readonly KeptMessage[]> {
  const rows = await trx
    .selectFrom("inbox")
    .select(["id", "payload", "turn_id as turn"])
    .where("chat_id", "=", chat)
    .where(isAside)
    .where("type", "=", "message")
    .where("why", "in", [TAKEN_OVER, PAUSED])
    .orderBy("id")
    .execute();
  return rows.map(({ id, payload, turn }) => ({
    id,
    event: JSON.parse(payload) as MessageEvent, // as intake writes what it keeps
    begun: turn > 0,
  }));
}

/**
 * Kept messages wait for one turn of all of them, after which nobody waits. Gives the numbers of attachments that are to be
 * fetched for it.
 */
export async function takeUp(
  trx: Queries,
  messages: readonly [KeptMessage, ...KeptMessage[]],
  of: {
    readonly chat: ChatId;
    readonly channel: ChannelId;
    readonly agent: string;
    readonly thread: ThreadId;
    readonly now: number;
  },
): Promise<readonly number[]> {
  const { chat, channel, agent, thread, now } = of;
  // Under the name of one that a turn had begun with, its thread would take what is said since for said already.
  const intent = (messages.findLast(({ begun }) => !begun) ?? messages[0]).id;
  const ids = messages.map(({ id }) => id);
  await trx
    .updateTable("inbox")
    .set({
      state: "waiting",
      why: "",
      agent,
      thread,
      intent,
      digest: 2,
      during: "",
      due_at: now,
      trace: withTrace({ at: now, step: "resumed", joins: intent }),
    })
    .where("id", "in", ids)
    .execute();
  const refs = new Set(messages.map(({ event }) => event.ref));
  const fetched = [];
  for (const { id, event } of messages) {
    // What is quoted beside it is there already.
    const beside = event.quote?.ref !== undefined && refs.has(event.quote.ref);
    const lacks = { chat, channel, event, which: beside ? "own" : "all" } as const;
    fetched.push(...(await fetchWhatLacks(trx, id, lacks)));
  }
  return fetched;
}

/**
 * The end of a turn that a pause has cut off: it sends nothing, and what it is of is kept, as if it had come during the
 * pause. Where that is over already, it waits again.
 */
export async function keepTurn(
  trx: Queries,
  turn: { readonly id: number; readonly hold: Hold },
  now: number,
): Promise<void> {
  const { chat } = turn.hold;
  const paused = (await pausedUntil(trx, chat, now)) > 0;
  const claimed = trx.updateTable("inbox").where("turn_id", "=", turn.id).where("state", "=", "claimed");
  const given = withTrace({ at: now, step: "given back", turn: turn.id });
  await claimed.where("intent", "=", 0).set({ state: "aside", trace: given }).execute();
  // What nobody has said waits until the pause is over by itself.
  await (paused ? claimed.where("type", "=", "scheduled") : claimed)
    .set((eb) => ({ state: "waiting", claims: eb("claims", "-", 1), trace: given }))
    .execute();
  if (!paused) return;
  const why = PAUSED;
  const kept = withTrace({ at: now, step: "aside", why, turn: turn.id });
  const messages = await claimed
    .where("type", "=", "message")
    .set({ state: "aside", why, agent: "", thread: "", intent: 0, during: "", trace: kept })
    .returning(["id", "chat_id", "channel", "payload", "due_at"])
    .execute();
  await catchUp(trx, messages, now);
  const withdrawn = withTrace({ at: now, step: "withdrawn", why, turn: turn.id });
  await claimed.set({ state: "withdrawn", why, payload: "", ended_at: now, trace: withdrawn }).execute();
  await trimAsides(trx, chat, { type: "message", among: "kept", keep: MOST_KEPT, why, now });
}
