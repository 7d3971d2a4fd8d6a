import type { Kysely, Transaction } from "kysely";
import type { Tables } from "./tables.ts";

export type Dialect = "sqlite" | "postgres";

/**
 * An open database with today's schema. Inside `db.transaction()` only the transaction's own handle may be used:
 * SQLite has one connection, and asking `db` for it from inside waits for ever.
 */
export type Database = {
  readonly db: Kysely<Tables>;
  readonly dialect: Dialect;
  /**
   * A transaction whose loss in a power cut only means that its work is done again: it survives the end of the process,
   * but is not waited for on the disk. The next full commit brings it there too.
   */
  light<T>(work: (trx: Transaction<Tables>) => Promise<T>): Promise<T>;
  /**
   * What was deleted stands in no file of the database any more when it resolves; false where somebody reads it just now,
   * and it is to be done later. Takes time and room as the database is large. Of a server's files its own upkeep takes care.
   */
  erase(): Promise<boolean>;
  close(): Promise<void>;
};
