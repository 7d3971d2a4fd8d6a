import { type Generated, sql } from "kysely";
import { GatewayError } from "../core/errors.ts";
import type { Database, Dialect } from "./database.ts";
import type { Columns, Migration } from "./migration.ts";
import { facts } from "./migrations/0001-facts.ts";
import { threads } from "./migrations/0002-threads.ts";
import { notices } from "./migrations/0003-notices.ts";
import { channels } from "./migrations/0004-channels.ts";
import { connections } from "./migrations/0005-connections.ts";
import { account } from "./migrations/0006-account.ts";
import { agents } from "./migrations/0007-agents.ts";
import { waiting } from "./migrations/0008-waiting.ts";
import { budgets } from "./migrations/0009-budgets.ts";
import { approvals } from "./migrations/0010-approvals.ts";
import { schedules } from "./migrations/0011-schedules.ts";
import { cluster } from "./migrations/0012-cluster.ts";

const MIGRATIONS: readonly Migration[] = [
  facts,
  threads,
  notices,
  channels,
  connections,
  account,
  agents,
  waiting,
  budgets,
  approvals,
  schedules,
  cluster,
];

/**
 * Brings the schema to this program's version, each step in a transaction of its own; several processes may call it
 * at once. `name` is how the operator knows the database: a path or an address without secrets.
 * @throws GatewayError "data.newer" when a newer program has been here whose schema this one cannot work with.
 */
export async function migrate(database: Database, name: string): Promise<void> {
  const columns = COLUMNS[database.dialect];
  while (!(await step(database, name, columns))) {
    // Each step looks at the version again, inside its transaction.
  }
}

/** Whether there was nothing left to do. */
async function step(database: Database, name: string, columns: Columns): Promise<boolean> {
  const { db, dialect } = database;
  return await db.transaction().execute(async (trx) => {
    // Two that create a table at once fail each other, "if not exists" or not; and a step may take as long as it needs.
    if (dialect === "postgres") {
      await sql`set local statement_timeout = 0`.execute(trx);
      await sql`select pg_advisory_xact_lock(hashtext('perch schema'), hashtext(current_schema()))`.execute(
        trx,
      );
    }
    await trx.schema
      .createTable("schema_version")
      .ifNotExists()
      .addColumn("version", "bigint", (column) => column.primaryKey())
      .addColumn("name", "text", (column) => column.notNull())
      .execute();
    const versions = trx.withTables<{ schema_version: VersionRow }>();
    const applied = await versions
      .selectFrom("schema_version")
      .select((eb) => eb.fn.max("version").as("version"))
      .executeTakeFirst();
    const version = applied?.version ?? 0;
    const newest = MIGRATIONS.at(-1)?.version ?? 0;
    if (version > newest) {
      const since = await versions
        .selectFrom("schema_version")
        .select(["bears"])
        .where("version", ">", newest)
        .execute();
      // A newer worker is beside this one, or was: an upgrade that is under way, or was taken back.
      if (since.every(({ bears }) => bears !== null && bears <= newest)) return true;
      throw new GatewayError(
        "data.newer",
        `${name} was written by a newer Perch (schema ${version}; this one knows ${newest}); ` +
          "start that version again, or restore a backup from before the upgrade",
      );
    }
    const next = MIGRATIONS.find((migration) => migration.version > version);
    if (!next) return true;
    await next.up(trx, columns);
    await versions
      .insertInto("schema_version")
      .values({
        version: next.version,
        name: next.name,
        ...(next.bears === undefined ? {} : { bears: next.bears }),
      })
      .execute();
    return next.version === newest;
  });
}

interface VersionRow {
  version: number;
  name: string;
  /** As `Migration.bears`. */
  bears: Generated<number | null>;
}

const COLUMNS: Readonly<Record<Dialect, Columns>> = {
  sqlite: {
    id: "integer",
    // Without autoincrement SQLite gives the number of a deleted last row out again.
    identity: (column) => column.primaryKey().autoIncrement(),
    bytes: "blob",
    key: sql`text`,
  },
  postgres: {
    id: "bigint",
    identity: (column) => column.primaryKey().generatedByDefaultAsIdentity(),
    bytes: "bytea",
    key: sql`text collate "C"`,
  },
};
