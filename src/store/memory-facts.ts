import { sql, type SqlBool } from "kysely";
import type { ThreadId } from "../core/identity.ts";
import type { Fact, FactOwner } from "../core/memory.ts";
import type { Queries } from "./tables.ts";

/** In which message of its thread something was said; absent where that is not known, or has not changed. */
type SaidIn = { readonly saidIn?: string };

/** What becomes of an owner's facts: those that are new, those that have changed, and the numbers of those that go. */
export type FactChanges = {
  readonly added: readonly (Omit<Fact, "id"> & SaidIn)[];
  readonly changed: readonly (Fact & SaidIn)[];
  readonly removed: readonly number[];
};

/** Does with the facts of an owner what is decided on them as they stand now. */
export async function changeFacts(
  trx: Queries,
  owner: FactOwner,
  thread: ThreadId,
  now: number,
  decide: (facts: readonly Fact[]) => FactChanges,
): Promise<void> {
  const facts = await factsOf(trx, owner);
  const { added, changed, removed } = decide(facts);
  if (removed.length > 0)
    await trx.deleteFrom("memory_fact").where(isOwners(owner)).where("n", "in", removed).execute();
  for (const { id, content, confidence, saidAt, saidIn } of changed)
    await trx
      .updateTable("memory_fact")
      .set({
        content,
        confidence,
        said_at: Date.parse(saidAt),
        ...(saidIn === undefined ? {} : { thread, said_in: saidIn }),
      })
      .where(isOwners(owner))
      .where("n", "=", id)
      .execute();
  if (added.length === 0) return;
  const last = Math.max(0, ...facts.map(({ id }) => id));
  await trx
    .insertInto("memory_fact")
    .values(
      added.map(({ content, confidence, saidAt, saidIn = "" }, at) => ({
        ...owner,
        n: last + 1 + at,
        content,
        confidence,
        said_at: Date.parse(saidAt),
        thread,
        said_in: saidIn,
        created_at: now,
      })),
    )
    .execute();
}

/**
 * What is remembered, in the order of its numbers, but for rows that no date can be read of: one must not hide all others.
 * `unread` is told how many, where there are any.
 */
export async function factsOf(
  db: Queries,
  owner: FactOwner,
  unread?: (count: number) => void,
): Promise<readonly Fact[]> {
  const rows = await db
    .selectFrom("memory_fact")
    .select(["n", "content", "confidence", "said_at"])
    .where(isOwners(owner))
    .orderBy("n")
    .execute();
  const facts = rows.flatMap(({ n, content, confidence, said_at }) => {
    const saidAt = new Date(said_at);
    if (Number.isNaN(saidAt.getTime())) return [];
    return [{ id: n, content, confidence, saidAt: saidAt.toISOString() }];
  });
  if (facts.length < rows.length) unread?.(rows.length - facts.length);
  return facts;
}

/**
 * Deletes one fact; whether there was such a one. What was said until `since` (epoch ms) and is not gone through yet could
 * bring it back, so nothing is remembered of that.
 */
export async function forgetFact(
  trx: Queries,
  owner: FactOwner,
  { number, since }: { readonly number: number; readonly since: number },
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom("memory_fact")
    .where(isOwners(owner))
    .where("n", "=", number)
    .executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) return false;
  await trx.updateTable("memory_work").set({ since }).where(isOwners(owner)).execute();
  return true;
}

/** The rows of one owner, in each table of memory. */
export function isOwners({ scope, channel, subject, agent }: FactOwner) {
  return sql<SqlBool>`channel = ${channel} and scope = ${scope} and subject = ${subject} and agent = ${agent}`;
}
