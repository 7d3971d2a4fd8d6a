import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Kysely } from "kysely";
import { Client, Pool, types } from "pg";
import { afterAll, describe } from "vitest";
import type { Database } from "../../src/store/database.ts";
import { openPostgres } from "../../src/store/postgres.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { migrate } from "../../src/store/migrate.ts";
import type { Tables } from "../../src/store/tables.ts";
import { settlesAfter } from "./clock.ts";
import { startPglite } from "./pglite.ts";

/**
 * Opens an empty, migrated database; with one that it has opened before, a second connection to the same facts.
 * What is still open at the end of the suite is closed, and everything dropped.
 */
export type OpenDatabase = (same?: Database) => Promise<Database>;

/**
 * What another process would open. Of SQLite it is the same: a second connection of this process that waits for the first one
 * keeps it from ever ending.
 */
export async function besides(database: Database, open: OpenDatabase): Promise<Database> {
  return database.dialect === "sqlite" ? database : await open(database);
}

// A server for tests alone: schemas are made and dropped in it.
const POSTGRES = process.env.PERCH_TEST_POSTGRES ?? "postgres://postgres@127.0.0.1:5432/test";

/** Runs the suite on SQLite and on PostgreSQL (PGlite where no server is reached). */
export function eachDatabase(name: string, suite: (open: OpenDatabase) => void): void {
  describe(`${name} on SQLite`, () => {
    suite(onSqlite());
  });
  describe(`${name} on PostgreSQL`, () => {
    suite(onPostgres());
  });
}

let again: "postgres" | undefined;

/**
 * Runs suites that open their databases with `onStore` once more, on PostgreSQL: `suites` imports them. A file has one such run,
 * and none of its own.
 */
export function onPostgresAgain(suites: () => Promise<unknown>): void {
  describe("on PostgreSQL", async () => {
    again = "postgres";
    await suites();
  });
}

/** A temporary file for each database, or a schema where the suite is run by `onPostgresAgain`. */
export function onStore(): OpenDatabase {
  return serverAgain() ?? onSqlite();
}

/** Undefined where the suite is not run by `onPostgresAgain`. */
export function serverAgain(): OpenDatabase | undefined {
  return again === undefined ? undefined : onPostgres();
}

let isWatched = false;

/** A manual clock stands still until the server has answered, as it does for what happens in this process. */
function watchServer(): void {
  if (isWatched) return;
  isWatched = true;
  let asked = 0;
  const counted = (method: (...given: never[]) => unknown) =>
    function (this: unknown, ...given: never[]): unknown {
      const answer = method.apply(this, given);
      if (!(answer instanceof Promise)) return answer;
      asked += 1;
      const answered = (): void => void (asked -= 1);
      answer.then(answered, answered);
      return answer;
    };
  for (const [of, name] of [
    [Client.prototype, "query"],
    [Pool.prototype, "connect"],
  ] as const)
    Object.assign(of, { [name]: counted((of as unknown as Record<string, () => unknown>)[name]!) }); // both have it
  settlesAfter(() => asked > 0);
}

/** A temporary file for each database. */
export function onSqlite(): OpenDatabase {
  return opener({
    create: async () => join(await mkdtemp(join(tmpdir(), "perch-")), "perch.db"),
    open: openSqlite,
    drop: (path) => rm(dirname(path), { recursive: true, force: true }),
  });
}

/** Where test schemas are made. */
type Server = {
  run(sql: string): Promise<void>;
  open(schema: string): Promise<Database>;
  close(): Promise<void>;
};

/** A schema for each database, on the server at PERCH_TEST_POSTGRES or in PGlite. */
export function onPostgres(): OpenDatabase {
  let server: Promise<Server> | undefined;
  const reach = (): Promise<Server> => (server ??= start());
  // Registered before the opener's own hook, so that it runs after it.
  afterAll(async () => (await server)?.close());
  return opener({
    async create() {
      const schema = newSchema();
      await (await reach()).run(`create schema ${schema}`);
      return schema;
    },
    open: async (schema) => (await reach()).open(schema),
    drop: async (schema) => (await reach()).run(`drop schema ${schema} cascade`),
  });
}

async function start(): Promise<Server> {
  const pool = new Pool({ connectionString: POSTGRES, max: 1, connectionTimeoutMillis: 2000 });
  try {
    await pool.query("select 1");
  } catch (cause) {
    await pool.end();
    if (process.env.PERCH_TESTS_COMPLETE) {
      throw new Error(`no PostgreSQL answers at ${POSTGRES}, and a complete run needs one`, { cause });
    }
    console.warn(`No PostgreSQL answers at ${POSTGRES}: its half of the store's suites runs on PGlite.`);
    return await inThisProcess();
  }
  watchServer();
  return {
    run: async (sql) => void (await pool.query(sql)),
    open: (schema) => openPostgres(urlOf(schema), { connections: 4 }),
    close: () => pool.end(),
  };
}

async function inThisProcess(): Promise<Server> {
  const { INT8, NUMERIC } = types.builtins;
  const server = await startPglite({ [INT8]: Number, [NUMERIC]: Number });
  return {
    run: server.run,
    async open(schema) {
      const db = new Kysely<Tables>({ dialect: server.dialect(schema) });
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
    close: server.close,
  };
}

/** Whether a server answers, for what PGlite cannot show: connections of its own, and their loss. */
export async function postgresAnswers(): Promise<boolean> {
  const pool = new Pool({ connectionString: POSTGRES, max: 1, connectionTimeoutMillis: 2000 });
  try {
    await pool.query("select 1");
    return true;
  } catch (cause) {
    if (process.env.PERCH_TESTS_COMPLETE)
      throw new Error(`no PostgreSQL answers at ${POSTGRES}, and a complete run needs one`, { cause });
    return false;
  } finally {
    await pool.end();
  }
}

/** A schema of a name of its own on the server at PERCH_TEST_POSTGRES, as store.url names it. */
export function freshPostgresUrl(): { readonly url: string; drop(): Promise<void> } {
  const schema = newSchema();
  return {
    url: urlOf(schema),
    async drop() {
      const pool = new Pool({ connectionString: POSTGRES, max: 1 });
      await pool.query(`drop schema if exists ${schema} cascade`);
      await pool.end();
    },
  };
}

function newSchema(): string {
  return `perch_${crypto.randomUUID().replaceAll("-", "")}`;
}

function urlOf(schema: string): string {
  const url = new URL(POSTGRES);
  url.searchParams.set("schema", schema);
  // A machine that loses its power in the middle of a test is no test's concern.
  url.searchParams.set("options", "-c synchronous_commit=off");
  return url.href;
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
