import { sql } from "kysely";
import { type Clock, deadline } from "../core/clock.ts";
import { unlessAborted } from "../core/unless-aborted.ts";
import type { Database } from "./database.ts";

const LONGEST_MS = 2_000;

/** Why the facts cannot be asked, in a sentence; undefined where they can. Never rejects. */
export async function answers({ db }: Database, clock: Clock): Promise<string | undefined> {
  const late = deadline(clock, LONGEST_MS, new Error("no answer"));
  try {
    await unlessAborted(sql`select 1`.execute(db), late.signal);
    return undefined;
  } catch {
    return `the database did not answer within ${LONGEST_MS / 1_000} s, or refused to`;
  } finally {
    late.clear();
  }
}
