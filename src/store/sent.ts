import type { KnownAround, PlatformId } from "../core/channel.ts";
import type { ChatAddress, ChatId } from "../core/identity.ts";
import type { Database } from "./database.ts";
import type { Queries } from "./tables.ts";

/**
 * Writes down where a piece stands. A message that was put in the place of an older one keeps that one's time; and where it
 * only shows what was pressed below it, it is still what the agent has said.
 */
export async function insertSent(
  trx: Queries,
  piece: number,
  refs: readonly PlatformId[],
  now: number,
): Promise<void> {
  if (refs.length === 0) return;
  await trx
    .insertInto("sent")
    .values((eb) => {
      const row = eb.selectFrom("piece").where("piece.id", "=", piece);
      return refs.map((ref) => ({
        // By the piece's own row: its connection may have been renamed since it was read.
        channel: row.select("piece.channel"),
        chat: row.select("piece.to_chat"),
        ref,
        chat_id: row.select("piece.chat_id"),
        piece_id: piece,
        at: now,
      }));
    })
    .onConflict((conflict) =>
      conflict
        .columns(["channel", "chat", "ref"])
        .doUpdateSet((eb) => ({ piece_id: eb.ref("excluded.piece_id") }))
        .where((eb) =>
          eb.exists(
            eb.selectFrom("piece").select("id").where("id", "=", piece).where("turn_id", "!=", OF_OURS),
          ),
        ),
    )
    .execute();
}

/** In the place of a turn: what Perch itself says. */
const OF_OURS = 0;

/** What lies further away than so many messages is no help to whoever looks between two of them. */
const MOST_KNOWN = 50;

/**
 * What is recorded of a platform's chat, whatever the topic, around a send that was begun at `begunAt` and had its effect
 * by `overAt`, if it had one (epoch ms). Nearest first.
 *
 * Only what we began to send after `overAt` has certainly come later: what people say may have been on its way to us for
 * long. The rest is given where nothing is certain; a piece can be found before it, but that it is not there says nothing.
 */
export async function knownAround(
  database: Database,
  { to, begunAt, overAt }: { readonly to: ChatAddress; readonly begunAt: number; readonly overAt: number },
): Promise<KnownAround & { readonly certain: boolean }> {
  const { db } = database;
  const ours = db
    .selectFrom("sent")
    .select(["sent.ref", "sent.at"])
    .where("sent.channel", "=", to.channel)
    .where("sent.chat", "=", to.chat)
    .limit(MOST_KNOWN);
  const theirs = db
    .selectFrom("inbox")
    .select(["ref", "received_at as at"])
    .where("chat_id", "in", (eb) =>
      eb
        .selectFrom("address")
        .select("address.chat_id")
        .where("address.channel", "=", to.channel)
        .where("address.chat", "=", to.chat),
    )
    .where("type", "=", "message")
    .limit(MOST_KNOWN);

  const before = nearest(
    begunAt,
    await ours.where("sent.at", "<=", begunAt).orderBy("sent.at", "desc").execute(),
    await theirs.where("received_at", "<=", begunAt).orderBy("received_at", "desc").execute(),
  );
  const later = await ours
    .innerJoin("piece", "piece.id", "sent.piece_id")
    .where("sent.at", ">=", overAt)
    .where("piece.begun_at", ">=", overAt)
    .orderBy("sent.at")
    .execute();
  if (later.length > 0) return { before, after: nearest(begunAt, later), certain: true };
  const after = nearest(
    begunAt,
    await ours.where("sent.at", ">", begunAt).orderBy("sent.at").execute(),
    await theirs.where("received_at", ">", begunAt).orderBy("received_at").execute(),
  );
  return { before, after, certain: false };
}

/** Of earlier sends nobody may know by now where they stand. */
const EARLIER_MS = 24 * 3_600_000;

/**
 * Whether we have written to other topics of the same chat since the sending of a piece was begun, or shortly before
 * without knowing where that stands: their messages stand among its own.
 */
export async function otherTopicsWritten(
  database: Database,
  { chat, to, begunAt }: { readonly chat: ChatId; readonly to: ChatAddress; readonly begunAt: number },
): Promise<boolean> {
  const { db } = database;
  const others = db
    .selectFrom("address")
    .select("address.chat_id")
    .where("address.channel", "=", to.channel)
    .where("address.chat", "=", to.chat)
    .where("address.chat_id", "!=", chat);
  if ((await others.limit(1).execute()).length === 0) return false;
  const written = await db
    .selectFrom("piece")
    .select("id")
    .where("chat_id", "in", others)
    .where("begun_at", ">", begunAt - EARLIER_MS)
    .where((eb) =>
      eb.or([eb("ended_at", ">", begunAt), eb("state", "in", ["sending", "unknown"]), eb("again", "=", 1)]),
    )
    .limit(1)
    .execute();
  return written.length > 0;
}

type Recorded = { readonly ref: PlatformId; readonly at: number };

function nearest(to: number, ...lists: readonly (readonly Recorded[])[]): readonly PlatformId[] {
  const inOrder = lists.flat().toSorted((one, other) => Math.abs(one.at - to) - Math.abs(other.at - to));
  return [...new Set(inOrder.map(({ ref }) => ref))].slice(0, MOST_KNOWN);
}

/** Whether nothing that was sent or is to be sent there stands below a piece of ours, but what takes an older one's place. */
export async function isNewestOfOurs(trx: Queries, chat: ChatId, piece: number): Promise<boolean> {
  const later = await trx
    .selectFrom("piece")
    .select("id")
    .where("chat_id", "=", chat)
    .where("id", ">", piece)
    .where("replaces", "=", "")
    .where("state", "!=", "cancelled")
    .limit(1)
    .executeTakeFirst();
  return later === undefined;
}
