import type { Kysely } from "kysely";
import type { Tables } from "./tables.ts";

export type Dialect = "sqlite" | "postgres";

/**
 * An open database with today's schema. Inside `db.transaction()` only the transaction's own handle may be used:
 * SQLite has one connection, and asking `db` for it from inside waits for ever.
 */
export type Database = {
  readonly db: Kysely<Tables>;
  readonly dialect: Dialect;
  close(): Promise<void>;
};
