import { sql } from "kysely";
import { isOpenMessage, isOpenPiece, isOpenTask } from "./open-rows.ts";
import type { Queries } from "./tables.ts";

/** How much waits of one kind, and since when the oldest of it could have been done (epoch ms); 0 where nothing waits. */
export type Depth = { readonly what: string; readonly depth: number; readonly since: number };

/** What waits in the database, for all processes. What waits for a window or a time that is still to come does not count. */
export async function depths(db: Queries, now: number): Promise<readonly Depth[]> {
  const [turns, attachments, pieces, tasks] = await Promise.all([
    db
      .selectFrom("inbox")
      .select((eb) => [eb.fn.countAll().as("n"), eb.fn.min("due_at").as("since")])
      .where(isOpenMessage)
      .where("state", "=", "waiting")
      .where("due_at", "<=", now)
      .executeTakeFirstOrThrow(),
    db
      .selectFrom("attachment")
      .innerJoin("inbox", "inbox.id", "attachment.inbox_id")
      .select((eb) => [eb.fn.countAll().as("n"), eb.fn.min("inbox.received_at").as("since")])
      .where(sql<boolean>`attachment.state = 'waiting'`) // as isOpenAttachment, where two tables have a state
      .executeTakeFirstOrThrow(),
    db
      .selectFrom("piece")
      .select((eb) => [eb.fn.countAll().as("n"), eb.fn.min("created_at").as("since")])
      .where(isOpenPiece)
      .where("state", "in", ["planned", "sending"])
      .where("not_before", "<=", now)
      .executeTakeFirstOrThrow(),
    db
      .selectFrom("background_task")
      .select((eb) => [eb.fn.countAll().as("n"), eb.fn.min("started_at").as("since")])
      .where(isOpenTask)
      .where("status", "=", "pending")
      .executeTakeFirstOrThrow(),
  ]);
  const rows = { messages: turns, attachments, pieces, tasks };
  return Object.entries(rows).map(([what, { n, since }]) => ({
    what,
    depth: Number(n),
    since: since ?? 0,
  }));
}
