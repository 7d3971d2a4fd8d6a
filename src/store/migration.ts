import type { ColumnDefinitionBuilder, RawBuilder, Transaction } from "kysely";
import type { Tables } from "./tables.ts";

/** One step of the schema, forward only. It uses `trx.schema` and raw SQL: the live table types change after it. */
export type Migration = {
  readonly version: number;
  readonly name: string;
  /**
   * Programs that know the schema up to this version go on with the new one: it has only tables and columns more, with
   * defaults, and whatever it stops to use is still filled. Without it an older program does not start on it.
   */
  readonly bears?: number;
  up(trx: Transaction<Tables>, columns: Columns): Promise<void>;
};

/**
 * What the dialects call differently. Integers of any kind are `"bigint"` on both, JSON is `"text"`.
 * `.addColumn("id", columns.id, columns.identity).addColumn("key", columns.key, (c) => c.notNull())`
 */
export type Columns = {
  /** The type of a number that the database gives out; with `identity`, the primary key. */
  readonly id: "integer" | "bigint";
  identity(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder;
  readonly bytes: "blob" | "bytea";
  /** Text that is compared and sorted byte by byte, whatever the server's locale is. */
  readonly key: RawBuilder<unknown>;
};
