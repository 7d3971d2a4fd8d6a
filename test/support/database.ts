import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Kysely, PostgresDialect } from "kysely";
import { Pool, types } from "pg";
import { afterAll, describe } from "vitest";
import type { Database } from "../../src/store/database.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { migrate } from "../../src/store/migrate.ts";
import type { Tables } from "../../src/store/tables.ts";
import { startPglite, type Server } from "./pglite.ts";

/**
 * Opens an empty, migrated database; with one that it has opened before, a second connection to the same facts.
 * What is still open at the end of the suite is closed, and everything dropped.
 */
export type OpenDatabase = (same?: Database) => Promise<Database>;

// A server for tests alone: schemas are made and dropped in it.
const POSTGRES = process.env.PERCH_TEST_POSTGRES ?? "postgres://postgres@127.0.0.1:5432/test";
const { INT8, NUMERIC } = types.builtins;

/** Runs the suite on SQLite and on PostgreSQL (PGlite where no server is reached). */
export function eachDatabase(name: string, suite: (open: OpenDatabase) => void): void {
  describe(`${name} on SQLite`, () => {
    suite(onSqlite());
  });
  describe(`${name} on PostgreSQL`, () => {
    suite(onPostgres());
  });
}

/** A temporary file for each database. */
export function onSqlite(): OpenDatabase {
  return opener({
    create: async () => join(await mkdtemp(join(tmpdir(), "perch-")), "perch.db"),
    open: openSqlite,
    drop: (path) => rm(dirname(path), { recursive: true, force: true }),
  });
}

/** A schema for each database, on the server at PERCH_TEST_POSTGRES or in PGlite. */
function onPostgres(): OpenDatabase {
  let server: Promise<Server> | undefined;
  const reach = (): Promise<Server> => (server ??= start());
  // Registered before the opener's own hook, so that it runs after it.
  afterAll(async () => (await server)?.close());
  return opener({
    async create() {
      const schema = `perch_${crypto.randomUUID().replaceAll("-", "")}`;
      await (await reach()).run(`create schema ${schema}`);
      return schema;
    },
    async open(schema) {
      const db = new Kysely<Tables>({ dialect: (await reach()).dialect(schema) });
      const database: Database = {
        db,
        dialect: "postgres",
        light: (work) => db.transaction().execute(work),
        erase: async () => true,
        close: () => db.destroy(),
      };
      await migrate(database, schema);
      return database;
    },
    drop: async (schema) => (await reach()).run(`drop schema ${schema} cascade`),
  });
}

async function start(): Promise<Server> {
  types.setTypeParser(INT8, Number);
  types.setTypeParser(NUMERIC, Number);
  const pool = new Pool({ connectionString: POSTGRES, max: 1, connectionTimeoutMillis: 2000 });
  try {
    await pool.query("select 1");
  } catch (cause) {
    await pool.end();
    if (process.env.PERCH_TESTS_COMPLETE) {
      throw new Error(`no PostgreSQL answers at ${POSTGRES}, and a complete run needs one`, { cause });
    }
    console.warn(`No PostgreSQL answers at ${POSTGRES}: its half of the store's suites runs on PGlite.`);
    return await startPglite({ [INT8]: Number, [NUMERIC]: Number });
  }
  return {
    run: async (sql) => void (await pool.query(sql)),
    dialect: (schema) =>
      new PostgresDialect({
        pool: new Pool({ connectionString: POSTGRES, max: 4, options: `-c search_path=${schema}` }),
      }),
    close: () => pool.end(),
  };
}

function opener(how: {
  create(): Promise<string>;
  open(place: string): Promise<Database>;
  drop(place: string): Promise<void>;
}): OpenDatabase {
  const places = new Map<Database, string>();
  const open = new Set<Database>();
  afterAll(async () => {
    await Promise.all([...open].map((database) => database.close()));
    for (const place of new Set(places.values())) await how.drop(place);
  });
  return async (same) => {
    const place = (same && places.get(same)) ?? (await how.create());
    const inner = await how.open(place);
    const database: Database = {
      ...inner,
      async close() {
        if (open.delete(database)) await inner.close();
      },
    };
    places.set(database, place);
    open.add(database);
    return database;
  };
}
