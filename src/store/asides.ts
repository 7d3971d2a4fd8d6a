import type { DeleteEvent, EditEvent, MessageEvent, ReactionEvent, ScheduledEvent } from "../core/events.ts";
import type { ChatId, ThreadId } from "../core/identity.ts";
import { type Known, withTrace } from "./inbox.ts";
import { isAside } from "./open-rows.ts";
import type { Speaker } from "./speakers.ts";
import type { Queries } from "./tables.ts";

/** What the agent is told with a turn that is of something else. */
export type Aside = {
  readonly id: number;
  readonly event: AsideEvent;
  /** In a group: by which number whoever said it, or took it back, is known there. */
  readonly speaker?: number;
  /** How many messages before it were to be told as well, and were too many to be kept. */
  readonly leftOut?: number;
};

export type AsideEvent =
  | MessageEvent
  | Known<EditEvent>
  | Known<DeleteEvent>
  | Known<ReactionEvent>
  | ScheduledEvent;

/** A message that is being answered was edited or taken back. `id` is the row of that, `about` the row of the message. */
export type Correction = {
  readonly id: number;
  readonly about: number;
  readonly event: Known<EditEvent> | Known<DeleteEvent>;
};

/** At most so many of what is told of earlier messages, for each sort, are kept in a chat that has no turn. */
export const MOST_NOTES = 20;

/** As many messages are kept in a chat that the agent did not answer though they were for it, or were written by hand. */
export const MOST_KEPT = 50;

/** Who said, did or took back something. */
export function personOf(event: AsideEvent): Speaker {
  return event.type === "deleted" ? { id: event.known.by } : event.from;
}

/** Why a message that is not for the agent was left; others are kept for reasons of their own. */
export const NOT_ADDRESSED = "not addressed";
/** Why a message is kept that the account's own person has written by hand. */
export const BY_HAND = "written by hand by the owner of the account";

/**
 * What waits to be told with a turn on this thread, in the order it came; apart from it what is about its own messages,
 * which an earlier attempt at the turn has not been told of.
 */
export async function asidesFor(
  trx: Queries,
  turn: { readonly chat: ChatId; readonly thread: ThreadId; readonly messages: readonly number[] },
): Promise<{ readonly told: readonly Aside[]; readonly corrections: readonly Correction[] }> {
  const rows = await trx
    .selectFrom("inbox")
    .select(["id", "payload", "about", "left_out as leftOut"])
    .where("chat_id", "=", turn.chat)
    .where(isAside)
    .where("thread", "in", ["", turn.thread])
    .orderBy("id")
    .execute();
  const asides = rows.map(({ payload, ...row }) => ({
    ...row,
    event: JSON.parse(payload) as AsideEvent, // as intake writes what it keeps
  }));
  const others = asides.filter(({ about }) => !turn.messages.includes(about));
  return {
    told: others.map(({ id, event, leftOut }) => ({ id, event, ...(leftOut === 0 ? {} : { leftOut }) })),
    corrections: asides.flatMap(({ id, about, event }) =>
      turn.messages.includes(about) && (event.type === "edited" || event.type === "deleted")
        ? [{ id, about, event }]
        : [],
    ),
  };
}

/** Gives asides to a turn: they end with it, and wait again when it is given back. */
export async function claimAsides(
  trx: Queries,
  asides: readonly Aside[],
  { turn, now }: { readonly turn: number; readonly now: number },
): Promise<void> {
  if (asides.length === 0) return;
  await trx
    .updateTable("inbox")
    .set({ state: "claimed", turn_id: turn, trace: withTrace({ at: now, step: "told", turn }) })
    .where(
      "id",
      "in",
      asides.map(({ id }) => id),
    )
    .execute();
}

/**
 * Keeps the newest `keep` asides of a sort in a chat; of the older ones nobody is told but, of messages that were for the
 * agent, how many they were.
 */
export async function trimAsides(
  trx: Queries,
  chat: ChatId,
  of: {
    readonly type: AsideEvent["type"];
    /** Of messages: those that were not addressed, or those that are kept for reasons of their own. */
    readonly among?: "overheard" | "kept";
    readonly keep: number;
    /** Why the older ones end. */
    readonly why: string;
    readonly now: number;
  },
): Promise<void> {
  const { among } = of;
  const dropped = await trx
    .updateTable("inbox")
    .set({
      state: "refused",
      why: of.why,
      payload: "",
      ended_at: of.now,
      trace: withTrace({ at: of.now, step: "dropped", kept: of.keep }),
    })
    .where("chat_id", "=", chat)
    .where(isAside)
    .where("type", "=", of.type)
    .$if(among !== undefined, (query) => query.where("why", among === "kept" ? "!=" : "=", NOT_ADDRESSED))
    .where("id", "<=", (eb) =>
      eb
        .selectFrom("inbox as newest")
        .select("newest.id")
        .where("newest.chat_id", "=", chat)
        .where(isAside)
        .where("newest.type", "=", of.type)
        .$if(among !== undefined, (query) =>
          query.where("newest.why", among === "kept" ? "!=" : "=", NOT_ADDRESSED),
        )
        .orderBy("newest.id", "desc")
        .offset(of.keep)
        .limit(1),
    )
    .returning("left_out as before")
    .execute();
  if (among !== "kept" || dropped.length === 0) return;
  const count = dropped.reduce((sum, { before }) => sum + before, dropped.length);
  await trx
    .updateTable("inbox")
    .set((eb) => ({ left_out: eb("left_out", "+", count) }))
    .where("id", "=", (eb) =>
      eb
        .selectFrom("inbox as oldest")
        .select((inner) => inner.fn.min("oldest.id").as("id"))
        .where("oldest.chat_id", "=", chat)
        .where(isAside)
        .where("oldest.type", "=", of.type)
        .where("oldest.why", "!=", NOT_ADDRESSED),
    )
    .execute();
}

/** What an agent's old thread was to be told is nothing to its new one. */
export async function dropAsides(trx: Queries, chat: ChatId, agent: string, now: number): Promise<void> {
  await trx
    .updateTable("inbox")
    .set({
      state: "withdrawn",
      why: "its thread was ended before a turn",
      payload: "",
      ended_at: now,
      trace: withTrace({ at: now, step: "withdrawn" }),
    })
    .where("chat_id", "=", chat)
    .where(isAside)
    .where("agent", "in", ["", agent])
    .execute();
}
