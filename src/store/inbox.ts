import { sql } from "kysely";
import type { ContentBlock } from "../core/blocks.ts";
import type { EditEvent, InboundEvent, MessageEvent, ReactionEvent, ScheduledEvent } from "../core/events.ts";
import type { ChannelId, ChatId, ThreadId } from "../core/identity.ts";
import type { During } from "../core/rules.ts";
import type { Notice } from "../core/sentences.ts";
import type { InboxState, InboxTask } from "./fact-tables.ts";
import { isOpenAttachment, isOpenMessage } from "./open-rows.ts";
import type { Queries } from "./tables.ts";

export type NewEvent = {
  readonly channel: ChannelId;
  readonly chat: ChatId;
  readonly key: string;
  readonly type: InboundEvent["type"] | ScheduledEvent["type"];
  readonly payload: string;
  readonly payloadHash: string;
  /** Of what can be seen of a message; "" for what is none. */
  readonly contentHash: string;
  readonly sender: string;
  readonly ref: string;
  /** The row of the message that was edited or taken back. */
  readonly about?: number;
  readonly state: InboxState;
  readonly why: string;
  readonly agent: string;
  readonly thread: ThreadId;
  readonly intent: number;
  /** It is answered with all that came late. */
  readonly digest?: true;
  /** What is to be done with the thread instead of a turn. */
  readonly task?: InboxTask;
  readonly album: string;
  /** As of `InboxRow`. */
  readonly characters?: number;
  readonly window?: string;
  readonly during?: During | "";
  readonly receivedAt: number;
  readonly dueAt: number;
  readonly trace: TraceStep;
};

/** One decision about a message, as `perch why` prints it. No text of the message is in it. */
export type TraceStep = { readonly at: number; readonly step: string; readonly [detail: string]: unknown };

/**
 * Commits an event, unless the chat holds one of the same key and payload already.
 * The check and the mark are one statement, so that two deliveries at once make one row.
 */
export async function insertEvent(trx: Queries, event: NewEvent): Promise<number | undefined> {
  const open = event.state === "waiting" || event.state === "listening" || event.state === "aside";
  const row = await trx
    .insertInto("inbox")
    .values({
      channel: event.channel,
      chat_id: event.chat,
      event_key: event.key,
      type: event.type,
      payload_hash: event.payloadHash,
      payload: open ? event.payload : "",
      content_hash: event.contentHash,
      sender: event.sender,
      ref: event.ref,
      about: event.about ?? 0,
      state: event.state,
      why: event.why,
      agent: event.agent,
      thread: event.thread,
      intent: event.intent,
      digest: event.digest ? 1 : 0,
      task: event.task ?? "",
      album: event.album,
      characters: event.characters ?? 0,
      window: event.window ?? "",
      during: event.during ?? "",
      received_at: event.receivedAt,
      due_at: event.dueAt,
      claims: 0,
      turn_id: 0,
      ended_at: open ? 0 : event.receivedAt,
      trace: JSON.stringify(event.trace),
    })
    .onConflict((conflict) =>
      conflict.columns(["channel", "chat_id", "event_key", "payload_hash"]).doNothing(),
    )
    .returning("id")
    .executeTakeFirst();
  return row?.id;
}

/**
 * The latest intent of this sender that no turn has claimed yet; rather the one that holds the album, if one does.
 * Times are epoch ms; `album` is "" for an intent without an item of it. Of what came late it is everybody's.
 */
export type OpenIntent = {
  readonly intent: number;
  readonly firstAt: number;
  readonly dueAt: number;
  readonly album: string;
  readonly during: During | "";
  readonly messages: number;
  readonly characters: number;
  /** The same of the album's items alone. */
  readonly albumMessages: number;
  readonly albumCharacters: number;
};

export async function latestIntent(
  trx: Queries,
  of: {
    readonly chat: ChatId;
    readonly sender: string;
    /** Whether it came late. */
    readonly digest?: boolean;
    readonly agent: string;
    readonly thread: ThreadId;
    /** "" for a message that belongs to none. */
    readonly album: string;
  },
): Promise<OpenIntent | undefined> {
  const row = await trx
    .selectFrom("inbox")
    .select((eb) => [
      "intent",
      eb.fn.min("received_at").as("firstAt"),
      eb.fn.max("due_at").as("dueAt"),
      eb.fn.max(eb.case().when("album", "=", of.album).then(of.album).else("").end()).as("ofAlbum"),
      eb.fn.max("during").as("during"),
      eb.fn.countAll().as("messages"),
      eb.fn.sum("characters").as("characters"),
      eb.fn.sum(eb.case().when("album", "=", of.album).then(1).else(0).end()).as("albumMessages"),
      eb.fn
        .sum(eb.case().when("album", "=", of.album).then(eb.ref("characters")).else(0).end())
        .as("albumCharacters"),
    ])
    .where("chat_id", "=", of.chat)
    .where(isOpenMessage)
    .where("state", "=", "waiting")
    .where("turn_id", "=", 0)
    .where("intent", ">", 0)
    .where("task", "=", "")
    .where("digest", "=", of.digest ? 1 : 0)
    .$if(!of.digest, (query) => query.where("sender", "=", of.sender))
    .where("agent", "=", of.agent)
    .where("thread", "=", of.thread)
    .groupBy("intent")
    .orderBy("ofAlbum", "desc")
    .orderBy("intent", "desc")
    .limit(1)
    .executeTakeFirst();
  return (
    row && {
      intent: row.intent,
      firstAt: row.firstAt,
      dueAt: row.dueAt,
      album: row.ofAlbum,
      during: row.during,
      messages: Number(row.messages),
      characters: Number(row.characters),
      albumMessages: Number(row.albumMessages),
      albumCharacters: Number(row.albumCharacters),
    }
  );
}

/** Items of an album arrive within seconds of each other, and have been seen to take eleven. */
const ALBUM_FOR_MS = 60_000;

type Album = {
  readonly channel: ChannelId;
  readonly sender: string;
  readonly album: string;
  readonly now: number;
};

/** Whether an item of this sender's album was for us: it waits for its turn, has it, or had it just now. */
export async function hasAlbum(trx: Queries, chat: ChatId, of: Album): Promise<boolean> {
  return (await itemsOf(trx, chat, of).where("intent", ">", 0).limit(1).executeTakeFirst()) !== undefined;
}

/** Whether an item of it that came before this row was refused just now. */
export async function wasAlbumRefused(
  trx: Queries,
  chat: ChatId,
  { row, ...of }: Album & { readonly row: number },
): Promise<boolean> {
  const refused = itemsOf(trx, chat, of).where("state", "=", "refused").where("id", "<", row);
  return (await refused.limit(1).executeTakeFirst()) !== undefined;
}

function itemsOf(trx: Queries, chat: ChatId, { channel, sender, album, now }: Album) {
  return trx
    .selectFrom("inbox")
    .select("id")
    .where("channel", "=", channel)
    .where("sender", "=", sender)
    .where("received_at", ">", now - ALBUM_FOR_MS)
    .where("chat_id", "=", chat)
    .where("album", "=", album);
}

/** Whether the message that a reply names by `ref` belongs to an intent that waits. */
export async function isInIntent(
  trx: Queries,
  chat: ChatId,
  { intent, ref }: { readonly intent: number; readonly ref: string },
): Promise<boolean> {
  const message = await trx
    .selectFrom("inbox")
    .select("id")
    .where("chat_id", "=", chat)
    .where(isOpenMessage)
    .where("intent", "=", intent)
    .where("ref", "=", ref)
    .limit(1)
    .executeTakeFirst();
  return message !== undefined;
}

/**
 * Takes back what waits in a chat and no turn has begun with; gives the number of messages. One that is still listened
 * to is taken back as well, but not counted: nobody knows yet whether it is for us.
 */
export async function withdrawWaiting(trx: Queries, chat: ChatId, now: number): Promise<number> {
  const gone = {
    state: "withdrawn",
    why: "stopped before its turn began",
    payload: "",
    ended_at: now,
    trace: withTrace({ at: now, step: "withdrawn" }),
  } as const;
  const listened = await trx
    .updateTable("inbox")
    .set(gone)
    .where("state", "=", "listening")
    .where("id", "in", (eb) =>
      eb.selectFrom("attachment").select("inbox_id").where(isOpenAttachment).where("chat_id", "=", chat),
    )
    .returning("id")
    .execute();
  const waiting = await trx
    .updateTable("inbox")
    .set(gone)
    .where("chat_id", "=", chat)
    .where("state", "=", "waiting")
    .where("intent", ">", 0)
    .where(isOpenMessage)
    .returning("id")
    .execute();
  const ids = [...listened, ...waiting].map((row) => row.id);
  if (ids.length > 0)
    await trx.updateTable("attachment").set({ state: "done" }).where("inbox_id", "in", ids).execute();
  return waiting.length;
}

/** A message that joined nothing opens an intent of its own number. */
export async function openIntent(trx: Queries, inboxId: number): Promise<void> {
  await trx.updateTable("inbox").set({ intent: inboxId }).where("id", "=", inboxId).execute();
}

/** What is known of the message that an event is about, looked up while it is known. */
export type KnownMessage = {
  /** It is the one that was answered last, or our last answer. */
  readonly newest: boolean;
  /** When it came, epoch ms. */
  readonly at: number;
  /** Whose it is, by the platform's id. */
  readonly by: string;
};

/** An event about an earlier message, as it is kept. */
export type Known<Event extends InboundEvent> = Event & { readonly known: KnownMessage };

/** What a turn can be of. */
export type TurnEvent = MessageEvent | EditEvent | Known<ReactionEvent> | ScheduledEvent;

/** A waiting message as a turn takes it: the event, and what became of its media by the places of their rows. */
export type WaitingMessage = {
  readonly id: number;
  readonly event: TurnEvent;
  readonly taken: ReadonlyMap<number, TakenAttachment>;
  /** In a group: by which number its sender is known there. */
  readonly speaker?: number;
  /** It came while we were away, or while the agent kept still, and is answered with all of its chat that did. */
  readonly late?: "away" | "paused";
  /** A reaction of ours at it shows that it waits. */
  readonly signed?: true;
};

export type TakenAttachment = {
  readonly blocks: readonly ContentBlock[];
  /** Where it is no use to the agent, what the person is told. */
  readonly notice?: Notice;
};

/** What a row was before a turn that came to nothing: a message waits again, an aside is one again. */
export const beforeClaim = sql<InboxState>`case when intent > 0 then 'waiting' else 'aside' end`;

/** Adds a decision to the trace of messages. */
export function withTrace(step: TraceStep): ReturnType<typeof sql<string>> {
  return sql<string>`trace || ${`\n${JSON.stringify(step)}`}`;
}

/** How much waits in a chat, for `/status`. */
export async function countWaiting(db: Queries, chat: ChatId): Promise<number> {
  const row = await db
    .selectFrom("inbox")
    .select((eb) => eb.fn.countAll().as("n"))
    .where("chat_id", "=", chat)
    .where(isOpenMessage)
    .where("state", "=", "waiting")
    .executeTakeFirstOrThrow();
  return Number(row.n);
}
