import { plainText } from "../core/rendered.ts";
import type { ChannelId, ChatId } from "../core/identity.ts";
import { privateChatOf } from "./chats.ts";
import { isCode, randomCode } from "./codes.ts";
import { grant } from "./people.ts";
import { insertPieces } from "./pieces.ts";
import type { Queries } from "./tables.ts";

/** How long a code can be used, and how long wrong ones are remembered. */
export const CODE_MS = 3_600_000;
/** A connection keeps no more strangers waiting: what they are told and what the owner is told has an end. */
const MOST_PENDING = 3;
/** Of one typist within CODE_MS; then no more codes of theirs are looked at. */
const MOST_WRONG = 5;

/** Somebody who asks to be let in. */
export type Pairing = {
  readonly channel: ChannelId;
  readonly person: string;
  /** Epoch ms. */
  readonly createdAt: number;
};

/** The code of a stranger: within its time the same one. Undefined where enough others wait already. */
export async function pairingCode(
  trx: Queries,
  { channel, person, now }: { readonly channel: ChannelId; readonly person: string; readonly now: number },
): Promise<string | undefined> {
  await trx
    .deleteFrom("pairing")
    .where("channel", "=", channel)
    .where("created_at", "<=", now - CODE_MS)
    .execute();
  const pending = await trx
    .selectFrom("pairing")
    .select(["person", "code"])
    .where("channel", "=", channel)
    .execute();
  const own = pending.find((pairing) => pairing.person === person);
  if (own) return own.code;
  if (pending.length >= MOST_PENDING) return undefined;
  const code = randomCode();
  await trx.insertInto("pairing").values({ channel, person, code, created_at: now }).execute();
  return code;
}

/** Who waits to be let in, oldest first; without their codes. */
export async function pendingPairings(trx: Queries, now: number): Promise<readonly Pairing[]> {
  return await trx
    .selectFrom("pairing")
    .select(["channel", "person", "created_at as createdAt"])
    .where("created_at", ">", now - CODE_MS)
    .orderBy("created_at")
    .execute();
}

/** Who was given a code, in whatever connection; codes are as people type them. */
export async function pairingOf(trx: Queries, typed: string, now: number): Promise<Pairing | undefined> {
  const code = typed.toUpperCase();
  if (!isCode(code)) return undefined;
  return await trx
    .selectFrom("pairing")
    .select(["channel", "person", "created_at as createdAt"])
    .where("code", "=", code)
    .where("created_at", ">", now - CODE_MS)
    .executeTakeFirst();
}

/** Ends a request; whether there was one. A code is used up by it. */
export async function endPairing(
  trx: Queries,
  { channel, person }: Pick<Pairing, "channel" | "person">,
  now: number,
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom("pairing")
    .where("channel", "=", channel)
    .where("person", "=", person)
    .where("created_at", ">", now - CODE_MS)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

/**
 * Lets somebody in who asked to be, and plans to tell them so where they wrote. Gives that chat, if it is known: it is to
 * be woken. The sentence is planned as it is, for their connection may be off now, or open in another process.
 */
export async function letIn(
  trx: Queries,
  { channel, person }: Pick<Pairing, "channel" | "person">,
  by: { readonly grantedBy: string; readonly sentence: string; readonly now: number },
): Promise<ChatId | undefined> {
  const { grantedBy, sentence, now } = by;
  await grant(trx, { channel, person, role: "allowed", grantedBy, at: now });
  const place = await privateChatOf(trx, channel, [person], "stranger");
  if (!place) return undefined;
  const { chat, to } = place;
  const body = { kind: "text", rendered: plainText(sentence) } as const;
  await insertPieces(trx, [{ chat, to, turn: 0, seq: 0, body }], now);
  return chat;
}

/** Until when (epoch ms) no code of a typist is looked at; undefined where the next one is. */
export async function barredUntil(
  trx: Queries,
  { channel, person, now }: { readonly channel: ChannelId; readonly person: string; readonly now: number },
): Promise<number | undefined> {
  const wrong = await trx
    .selectFrom("wrong_code")
    .select("at")
    .where("channel", "=", channel)
    .where("person", "=", person)
    .where("at", ">", now - CODE_MS)
    .orderBy("at", "desc")
    .limit(MOST_WRONG)
    .execute();
  const first = wrong.at(MOST_WRONG - 1);
  return first && first.at + CODE_MS;
}

export async function noteWrongCode(
  trx: Queries,
  { channel, person, now }: { readonly channel: ChannelId; readonly person: string; readonly now: number },
): Promise<void> {
  await trx.insertInto("wrong_code").values({ channel, person, at: now }).execute();
}

/** Forgets what was over at `before` (epoch ms), and strangers who have been told nothing since. */
export async function prunePairing(trx: Queries, before: number): Promise<void> {
  await trx.deleteFrom("pairing").where("created_at", "<", before).execute();
  await trx.deleteFrom("wrong_code").where("at", "<", before).execute();
  await trx.deleteFrom("person").where("role", "=", "stranger").where("at", "<", before).execute();
}
