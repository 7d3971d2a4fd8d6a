import type { ChannelId, ChatId } from "../core/identity.ts";
import type { Database } from "./database.ts";
import type { Role } from "./fact-tables.ts";
import type { Queries } from "./tables.ts";

export type Grant = {
  readonly channel: ChannelId;
  readonly person: string;
  readonly role: Role;
  readonly grantedBy: string;
  readonly at: number;
};

export async function allGrants(database: Database): Promise<readonly Grant[]> {
  const rows = await database.db.selectFrom("person").selectAll().orderBy("at").execute();
  return rows.map(({ channel, person, role, granted_by, at }) => ({
    channel,
    person,
    role,
    grantedBy: granted_by,
    at,
  }));
}

/**
 * What was granted to a person or refused under any of their ids, or that they are a stranger who was told so; a refusal
 * comes first. Read anew for each event: a revocation holds at once.
 */
export async function grantOf(
  trx: Queries,
  channel: ChannelId,
  ids: readonly string[],
): Promise<Pick<Grant, "role" | "at"> | undefined> {
  const rows = await trx
    .selectFrom("person")
    .select(["role", "at"])
    .where("channel", "=", channel)
    .where("person", "in", ids)
    .execute();
  return rows.toSorted(byRank)[0];
}

/** Somebody has another id from now on; of what was granted under both, what comes first holds. */
export async function moveGrant(
  trx: Queries,
  { channel, from, to }: { readonly channel: ChannelId; readonly from: string; readonly to: string },
): Promise<void> {
  const rows = await trx
    .selectFrom("person")
    .selectAll()
    .where("channel", "=", channel)
    .where("person", "in", [from, to])
    .execute();
  const [first] = rows.toSorted(byRank);
  if (!first || !rows.some(({ person }) => person === from)) return;
  await trx.deleteFrom("person").where("channel", "=", channel).where("person", "=", from).execute();
  const { role, granted_by: grantedBy, at } = first;
  await grant(trx, { channel, person: to, role, grantedBy, at });
}

type Ranked = Pick<Grant, "role" | "at">;

function byRank(one: Ranked, other: Ranked): number {
  return RANKS[one.role] - RANKS[other.role] || other.at - one.at;
}

const RANKS: Readonly<Record<Role, number>> = { refused: 0, owner: 1, allowed: 2, stranger: 3 };

export async function hasOwner(database: Database, channel: ChannelId): Promise<boolean> {
  return (await grantedOwners(database.db, channel)).length > 0;
}

/** Who became the owner in chat; whom the operator names is in the rules. */
export async function grantedOwners(trx: Queries, channel: ChannelId): Promise<readonly string[]> {
  const owners = await trx
    .selectFrom("person")
    .select("person")
    .where("channel", "=", channel)
    .where("role", "=", "owner")
    .execute();
  return owners.map(({ person }) => person);
}

export async function grant(trx: Queries, given: Grant): Promise<void> {
  const { channel, person, role, grantedBy, at } = given;
  await trx
    .insertInto("person")
    .values({ channel, person, role, granted_by: grantedBy, at })
    .onConflict((conflict) =>
      conflict.columns(["channel", "person"]).doUpdateSet({ role, granted_by: grantedBy, at }),
    )
    .execute();
}

/** Whether there was such a grant. */
export async function revoke(database: Database, channel: ChannelId, person: string): Promise<boolean> {
  const { numDeletedRows } = await database.db
    .deleteFrom("person")
    .where("channel", "=", channel)
    .where("person", "=", person)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

/** The one-time code that makes who presents it the owner. The first `code` that was offered stays until it is used. */
export async function claimCode(
  database: Database,
  channel: ChannelId,
  code: string,
  now: number,
): Promise<string> {
  await database.db
    .insertInto("claim_code")
    .values({ channel, code, created_at: now })
    .onConflict((conflict) => conflict.column("channel").doNothing())
    .execute();
  const row = await database.db
    .selectFrom("claim_code")
    .select("code")
    .where("channel", "=", channel)
    .executeTakeFirstOrThrow();
  return row.code;
}

/** Whether the code was right; it is used up then, in the same statement. */
export async function useClaimCode(trx: Queries, channel: ChannelId, code: string): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom("claim_code")
    .where("channel", "=", channel)
    .where("code", "=", code)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

/**
 * When the `n`th newest turn of a person in a connection was asked for, epoch ms; what was taken back is none, and what is
 * listened to counts as long as it may become one.
 */
export async function nthTurnAt(
  trx: Queries,
  { channel, ids, n }: { readonly channel: ChannelId; readonly ids: readonly string[]; readonly n: number },
): Promise<number | undefined> {
  const row = await trx
    .selectFrom("inbox")
    .select("received_at")
    .where("channel", "=", channel)
    .where("sender", "in", ids)
    .where((eb) => eb.or([eb("intent", "=", eb.ref("id")), eb("state", "=", "listening")]))
    .where("state", "!=", "withdrawn")
    // What was allowed was asked for with the turn that has wished for it.
    .where("task", "!=", "approved")
    .orderBy("received_at", "desc")
    .offset(n - 1)
    .limit(1)
    .executeTakeFirst();
  return row?.received_at;
}

/**
 * Who has sent a message of a chat, by what the platform calls it, or was answered with it; undefined where that is nobody,
 * or was long ago.
 */
export async function personBehind(trx: Queries, chat: ChatId, ref: string): Promise<string | undefined> {
  const sent = await trx
    .selectFrom("inbox")
    .select("sender")
    .where("chat_id", "=", chat)
    .where("ref", "=", ref)
    .where("type", "=", "message")
    .where("sender", "!=", "")
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  if (sent) return sent.sender;
  const answered = await trx
    .selectFrom("sent")
    .innerJoin("piece", "piece.id", "sent.piece_id")
    .innerJoin("inbox", "inbox.turn_id", "piece.turn_id")
    .select("inbox.sender")
    .where("sent.chat_id", "=", chat)
    .where("sent.ref", "=", ref)
    .where("piece.turn_id", "!=", 0) // else it is what Perch itself says
    .where("inbox.sender", "!=", "")
    .orderBy("inbox.id")
    .limit(1)
    .executeTakeFirst();
  return answered?.sender;
}
