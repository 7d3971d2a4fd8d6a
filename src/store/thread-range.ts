import { sql, type SqlBool } from "kysely";
import type { ChatId, ThreadId } from "../core/identity.ts";
import type { Queries } from "./tables.ts";

/** All threads of a chat, by the index on `thread`: "7/helper/1" lies between "7/" and "70". */
export function threadsOf(chat: ChatId) {
  return sql<SqlBool>`thread >= ${`${chat}/`} and thread < ${`${chat}0`}`;
}

/** The threads of a chat that have a state, of whichever agent. */
export async function threadsIn(db: Queries, chat: ChatId): Promise<readonly ThreadId[]> {
  const rows = await db
    .selectFrom("thread_checkpoint")
    .select("thread")
    .distinct()
    .where(threadsOf(chat))
    .orderBy("thread")
    .execute();
  return rows.map(({ thread }) => thread);
}
