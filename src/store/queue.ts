import { sql } from "kysely";
import { isQuoted } from "./attachments.ts";
import type { Database } from "./database.ts";
import type { InboxState, PieceState } from "./fact-tables.ts";
import { withTrace } from "./inbox.ts";

/** A message that is not done, without a word of its text. */
export type QueuedMessage = {
  readonly id: number;
  readonly channel: string;
  readonly chat: number;
  readonly state: InboxState;
  readonly agent: string;
  readonly receivedAt: number;
  readonly claims: number;
};

const LISTED = [
  "id",
  "channel",
  "chat_id as chat",
  "state",
  "agent",
  "received_at as receivedAt",
  "claims",
] as const;

export async function queued(database: Database): Promise<readonly QueuedMessage[]> {
  return await database.db
    .selectFrom("inbox")
    .select(LISTED)
    .where("state", "in", ["listening", "waiting", "claimed", "dead"])
    .orderBy("id")
    .execute();
}

/** Lets a message that was set aside wait again, with its crashes forgotten; whether there was such a one. */
export async function retryDead(database: Database, id: number, now: number): Promise<boolean> {
  const { numUpdatedRows } = await database.db
    .updateTable("inbox")
    .set({
      state: "waiting",
      claims: 0,
      ended_at: 0,
      why: "",
      trace: withTrace({ at: now, step: "retried" }),
    })
    .where("id", "=", id)
    .where("state", "=", "dead")
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** What became of one message: its decisions in order, its media, its turn and the pieces of the answer. */
export type Story = {
  readonly id: number;
  readonly channel: string;
  readonly chat: number;
  /** The first message of what it is answered with; 0 where it is not. */
  readonly intent: number;
  readonly state: InboxState;
  readonly why: string;
  readonly receivedAt: number;
  readonly steps: readonly {
    readonly at: number;
    readonly step: string;
    readonly [detail: string]: unknown;
  }[];
  readonly attachments: readonly {
    /** It belongs to the message that this one answers. */
    readonly quoted: boolean;
    readonly state: "waiting" | "done";
    /** "" where there is none: it is being fetched, or was taken back. */
    readonly outcome: string;
    /** The key of the sentence that says why it is no use; "" where it is some. */
    readonly notice: string;
    readonly attempts: number;
  }[];
  readonly pieces: readonly {
    readonly id: number;
    readonly state: PieceState;
    readonly attempts: number;
    readonly error: string;
    /** When the last of it arrived, and was read, epoch ms; 0 where nobody has said so. */
    readonly deliveredAt: number;
    readonly readAt: number;
  }[];
};

export async function storyOf(database: Database, id: number): Promise<Story | undefined> {
  const { db } = database;
  const row = await db.selectFrom("inbox").selectAll().where("id", "=", id).executeTakeFirst();
  if (!row) return undefined;
  const attachments = await db
    .selectFrom("attachment")
    .select(["seq", "state", "outcome", "notice", "attempts"])
    .where("inbox_id", "=", id)
    .orderBy("seq")
    .execute();
  const pieces = await db
    .selectFrom("piece")
    .leftJoin("sent", "sent.piece_id", "piece.id")
    .select((eb) => [
      "piece.id",
      "piece.state",
      "piece.attempts",
      "piece.error",
      eb.fn.coalesce(eb.fn.max("sent.delivered_at"), sql<number>`0`).as("deliveredAt"),
      eb.fn.coalesce(eb.fn.max("sent.read_at"), sql<number>`0`).as("readAt"),
    ])
    .where("piece.turn_id", "=", row.turn_id)
    .where("piece.turn_id", ">", 0)
    .groupBy(["piece.id", "piece.state", "piece.attempts", "piece.error"])
    .orderBy("piece.id")
    .execute();
  return {
    id,
    channel: row.channel,
    chat: row.chat_id,
    intent: row.intent,
    state: row.state,
    why: row.why,
    receivedAt: row.received_at,
    steps: row.trace.split("\n").map((line) => JSON.parse(line) as Story["steps"][number]), // written by insertEvent and withTrace
    attachments: attachments.map(({ seq, ...rest }) => ({ quoted: isQuoted(seq), ...rest })),
    pieces,
  };
}

/** The numbers of the newest messages, for who does not know one. */
export async function newestMessages(database: Database, limit: number): Promise<readonly QueuedMessage[]> {
  return await database.db.selectFrom("inbox").select(LISTED).orderBy("id", "desc").limit(limit).execute();
}
