import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import Sqlite from "better-sqlite3";
import {
  CompiledQuery,
  Kysely,
  sql,
  SqliteDialect,
  SqliteDriver,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
  type SqliteDatabase,
} from "kysely";
import { GatewayError, asError } from "../core/errors.ts";
import type { Database } from "./database.ts";
import { migrate } from "./migrate.ts";
import type { Tables } from "./tables.ts";

const BUSY_TIMEOUT_MS = 5000;

/**
 * Opens the file, creating it (0600) and its folder (0700) where they are missing, and brings its schema up to date.
 * A commit is on the disk when it resolves.
 * @throws GatewayError "data.unusable", "data.newer", or "data.in_use" when another process keeps it locked.
 */
export async function openSqlite(path: string): Promise<Database> {
  const file = openFile(path);
  const db = new Kysely<Tables>({ dialect: new ImmediateSqliteDialect(file, path) });
  const database: Database = {
    db,
    dialect: "sqlite",
    light: (work) =>
      db.connection().execute(async (connection) => {
        await sql`pragma synchronous = normal`.execute(connection);
        try {
          return await connection.transaction().execute(work);
        } finally {
          await sql`pragma synchronous = full`.execute(connection);
        }
      }),
    async erase() {
      // Built anew: `secure_delete` overwrites what is freed, but not what stayed behind where rows were moved to another page.
      await sql`vacuum`.execute(db);
      const { rows } = await sql<{ readonly busy: number }>`pragma wal_checkpoint(truncate)`.execute(db);
      return rows[0]?.busy === 0;
    },
    close: () => db.destroy(),
  };
  try {
    await migrate(database, path);
  } catch (error) {
    await db.destroy();
    file.close(); // destroy closes only what a query has reached
    throw error;
  }
  return database;
}

function openFile(path: string): Sqlite.Database {
  let file: Sqlite.Database | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // SQLite gives -wal and -shm the mode of the file they belong to, so the file is made before SQLite sees it.
    closeSync(openSync(path, "a", 0o600));
    file = new Sqlite(path, { timeout: BUSY_TIMEOUT_MS });
    file.pragma("journal_mode = WAL");
    file.pragma("synchronous = FULL");
    file.pragma("foreign_keys = ON");
    refuseForeign(file, path);
    return file;
  } catch (error) {
    file?.close();
    throw atOpen(error, path);
  }
}

function refuseForeign(file: Sqlite.Database, path: string): void {
  const tables = file.prepare("select name from sqlite_master where type = 'table'").pluck().all();
  if (tables.length === 0 || tables.includes("schema_version")) return;
  throw new GatewayError(
    "data.unusable",
    `${path} is the database of another program (it has a table "${String(tables[0])}"); name another file`,
  );
}

function atOpen(error: unknown, path: string): Error {
  if (error instanceof GatewayError) return error;
  const cause = asError(error);
  const code = "code" in cause ? String(cause.code) : "";
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) {
    return new GatewayError(
      "data.in_use",
      `${path} is locked by another process for more than ${BUSY_TIMEOUT_MS / 1000} s; stop that process first`,
      { cause },
    );
  }
  return new GatewayError("data.unusable", `${path} cannot be used: ${remedy(code, cause)}`, { cause });
}

function remedy(code: string, cause: Error): string {
  if (code === "SQLITE_NOTADB") return "file is not a database; move it away, or name another file";
  if (code.startsWith("SQLITE_CORRUPT")) {
    return "database disk image is malformed; move it and its -wal and -shm files away and restore a backup";
  }
  if (code === "EROFS" || code === "EACCES" || code === "EPERM" || code.startsWith("SQLITE_READONLY")) {
    return "no permission to write there; make the file and its folder writable for this user";
  }
  if (code === "EISDIR") return "it is a folder; name a file in it";
  if (code === "ENOTDIR" || code === "EEXIST") return "a part of its path is not a folder; name another path";
  if (code === "ENOSPC" || code === "SQLITE_FULL") return "the disk is full; make room on it";
  return `${cause.message}; check the disk and the path`;
}

/**
 * Begins every transaction as a writer: two processes that read first and write later would otherwise fail each other
 * with SQLITE_BUSY instead of waiting.
 */
class ImmediateSqliteDialect extends SqliteDialect {
  readonly #file: Sqlite.Database;
  readonly #path: string;

  constructor(file: Sqlite.Database, path: string) {
    super({ database: file });
    this.#file = file;
    this.#path = path;
  }

  override createDriver(): Driver {
    return new ImmediateDriver(this.#file, this.#path);
  }
}

class ImmediateDriver extends SqliteDriver {
  readonly #file: Sqlite.Database;
  readonly #path: string;

  constructor(file: Sqlite.Database, path: string) {
    super({ database: remembering(file) });
    this.#file = file;
    this.#path = path;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    return new TranslatingConnection(await super.acquireConnection(), this.#path);
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("begin immediate"));
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // A full disk makes SQLite roll back by itself; a second rollback would fail and hide why.
    if (this.#file.inTransaction) await super.rollbackTransaction(connection);
  }
}

// A message takes some fifty statements, the same ones each time; lists of varying length make new ones.
const MOST_STATEMENTS = 300;

/** The file with its statements kept prepared, by their text. They are run to their end at once, so none is ever busy. */
function remembering(file: Sqlite.Database): SqliteDatabase {
  const statements = new Map<string, Sqlite.Statement>();
  return {
    close: () => void file.close(),
    prepare(text) {
      const known = statements.get(text);
      if (known) return known;
      if (statements.size >= MOST_STATEMENTS) statements.clear();
      const prepared = file.prepare(text);
      statements.set(text, prepared);
      return prepared;
    },
  };
}

/** Says in our words what the disk says, so that a full disk reads the same wherever it is met. */
class TranslatingConnection implements DatabaseConnection {
  readonly #inner: DatabaseConnection;
  readonly #path: string;

  constructor(inner: DatabaseConnection, path: string) {
    this.#inner = inner;
    this.#path = path;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    try {
      return await this.#inner.executeQuery<Row>(query);
    } catch (error) {
      throw inUse(asError(error), this.#path);
    }
  }

  streamQuery<Row>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<Row>> {
    return this.#inner.streamQuery<Row>(query, chunkSize);
  }
}

function inUse(cause: Error, path: string): Error {
  const code = "code" in cause ? String(cause.code) : "";
  if (/^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|BUSY)/.test(code)) {
    const why = code === "SQLITE_FULL" ? "the disk is full; make room on it" : cause.message;
    return new GatewayError("store.unavailable", `${path}: ${why}`, { cause });
  }
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return atOpen(cause, path);
  return cause;
}
