import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresDialect,
  type QueryResult,
  sql,
  type TransactionBuilder,
  type TransactionSettings,
} from "kysely";
import { Pool, type PoolClient, types } from "pg";
import { asError } from "../core/errors.ts";
import type { Database } from "./database.ts";
import { migrate } from "./migrate.ts";
import { atOpen, isBroken, isContention, inUse } from "./postgres-errors.ts";
import { serverAt, type ServerAddress } from "./postgres-url.ts";
import type { Tables } from "./tables.ts";

export type PostgresOptions = {
  /** Connections that this process has at most. */
  readonly connections?: number;
  /** What the server's own list of sessions calls this process. */
  readonly name?: string;
};

const CONNECTIONS = 10;
/** A server that does not answer is away; whoever waits so long for a free connection learns that it is overloaded. */
const CONNECT_MS = 5_000;
/** No statement of ours takes seconds; one that does waits for somebody who has stalled. */
const STATEMENT_MS = 30_000;
/** A process that stalls in a transaction keeps others from its chat no longer than this. */
const IDLE_IN_TRANSACTION_MS = 30_000;
/** A server that went away without a word: nothing on this side ends the wait sooner. */
const ANSWER_MS = STATEMENT_MS + 5_000;
const KEEP_ALIVE_MS = 10_000;

/** Two that waited for each other: one was refused by the server, and finds the way free now. */
const TRIES_OF_CONTENTION = 5;

const { INT8, NUMERIC } = types.builtins;
const NUMBERS: ReadonlySet<number> = new Set([INT8, NUMERIC]);

/**
 * Opens the facts on a PostgreSQL server, in the schema that `?schema=` names (made where it is missing) or that the server
 * gives this user, and brings it up to date. A server that goes away makes queries fail quickly, and those after its return
 * succeed; a transaction that was in another's way is begun anew, so what it does outside of the database must bear
 * that. No message names user or password.
 * @throws GatewayError "store.unavailable" where the server is not reached, "data.unusable", "data.newer".
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Database> {
  const server = serverAt(url);
  const pool = poolFor(server, options);
  const db = new PatientKysely({ dialect: new PooledDialect(pool, server, "begin") });
  // It survives the end of this process; a server that loses its power takes the last half second of these back.
  const relaxed = new PatientKysely({
    dialect: new PooledDialect(pool, server, "begin; set local synchronous_commit = off"),
  });
  const database: Database = {
    db,
    dialect: "postgres",
    light: (work) => relaxed.transaction().execute(work),
    erase: async () => true,
    close: () => pool.end(),
  };
  try {
    await makeSchema(db, server);
    await migrate(database, server.name);
  } catch (error) {
    await pool.end();
    throw atOpen(asError(error), server);
  }
  return database;
}

function poolFor(
  server: ServerAddress,
  { connections = CONNECTIONS, name = "perch" }: PostgresOptions,
): Pool {
  const pool = new Pool({
    connectionString: server.url,
    ...(server.options === "" ? {} : { options: server.options }),
    max: connections,
    application_name: name,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    query_timeout: ANSWER_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types: {
      // Ours stay far below 2^53; the driver would hand them out as text.
      getTypeParser: (id: Parameters<typeof types.getTypeParser>[0], format?: "text" | "binary") =>
        NUMBERS.has(id) && format !== "binary" ? Number : types.getTypeParser(id, format),
    },
  });
  // A connection that breaks while it is idle, or held, is taken out of the pool: the next query has another one.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

async function makeSchema(db: Kysely<Tables>, { schema }: ServerAddress): Promise<void> {
  if (schema === undefined) return;
  const { rows } = await sql`select 1 from pg_namespace where nspname = ${schema}`.execute(db);
  if (rows.length === 0) await sql`create schema if not exists ${sql.id(schema)}`.execute(db);
}

/** Begins a transaction anew that the server has ended because it and another one waited for each other. */
class PatientKysely extends Kysely<Tables> {
  override transaction(): TransactionBuilder<Tables> {
    return patient(super.transaction());
  }
}

function patient(builder: TransactionBuilder<Tables>): TransactionBuilder<Tables> {
  const execute = builder.execute.bind(builder);
  const setIsolationLevel = builder.setIsolationLevel.bind(builder);
  return Object.assign(builder, {
    execute: <T>(work: Parameters<typeof execute<T>>[0]) => untilFree(() => execute(work)),
    setIsolationLevel: (...level: Parameters<typeof setIsolationLevel>) =>
      patient(setIsolationLevel(...level)),
  });
}

async function untilFree<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isContention(error) || tries === TRIES_OF_CONTENTION) throw error;
    }
  }
}

class PooledDialect extends PostgresDialect {
  readonly #pool: Pool;
  readonly #server: ServerAddress;
  readonly #begin: string;

  constructor(pool: Pool, server: ServerAddress, begin: string) {
    super({ pool });
    this.#pool = pool;
    this.#server = server;
    this.#begin = begin;
  }

  override createDriver(): Driver {
    return new PooledDriver(this.#pool, this.#server, this.#begin);
  }
}

class PooledDriver implements Driver {
  readonly #pool: Pool;
  readonly #server: ServerAddress;
  readonly #begin: string;

  constructor(pool: Pool, server: ServerAddress, begin: string) {
    this.#pool = pool;
    this.#server = server;
    this.#begin = begin;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PooledConnection> {
    try {
      return new PooledConnection(await this.#pool.connect(), this.#server);
    } catch (error) {
      throw inUse(asError(error), this.#server);
    }
  }

  async beginTransaction(
    connection: PooledConnection,
    { isolationLevel }: TransactionSettings,
  ): Promise<void> {
    const level = isolationLevel ? `; set transaction isolation level ${isolationLevel}` : "";
    await connection.run(this.#begin + level);
    connection.inTransaction = true;
  }

  async commitTransaction(connection: PooledConnection): Promise<void> {
    const done = await connection.run("commit");
    connection.inTransaction = false;
    // A caught error inside of it has ended it long before, and the server says so only here.
    if (done !== "COMMIT") throw new Error("the transaction was rolled back, not committed");
  }

  async rollbackTransaction(connection: PooledConnection): Promise<void> {
    connection.inTransaction = false;
    // Where the connection is gone, so is its transaction, and why it went is what the caller must learn.
    if (!connection.broken) await connection.run("rollback");
  }

  async releaseConnection(connection: PooledConnection): Promise<void> {
    connection.release();
  }

  // The pool has two of these; whoever made it ends it.
  async destroy(): Promise<void> {}
}

class PooledConnection implements DatabaseConnection {
  readonly #client: PoolClient;
  readonly #server: ServerAddress;
  inTransaction = false;
  /** What comes back on it may be the answer to an earlier question: it is not used again. */
  broken = false;

  constructor(client: PoolClient, server: ServerAddress) {
    this.#client = client;
    this.#server = server;
  }

  /** Gives what the server says that it has done: "COMMIT". */
  async run(statement: string): Promise<string> {
    return await this.#try(async () => {
      const results = [await this.#client.query(statement)].flat(); // of several statements it gives several
      return results.at(-1)?.command ?? "";
    });
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const ask = async (): Promise<QueryResult<Row>> => {
      const { rows, rowCount, command } = await this.#client.query<Row & Record<string, unknown>>(query.sql, [
        ...query.parameters,
      ]);
      const changes = command === "INSERT" || command === "UPDATE" || command === "DELETE";
      return { rows, ...(changes ? { numAffectedRows: BigInt(rowCount ?? 0) } : {}) };
    };
    // A statement of its own is a transaction of its own; one inside of another one is begun anew with that.
    return await this.#try(() => (this.inTransaction ? ask() : untilFree(ask)));
  }

  // oxlint-disable-next-line require-yield -- the interface asks for it, and nobody here reads row by row
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error("rows are not streamed");
  }

  release(): void {
    this.#client.release(this.broken);
  }

  async #try<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      const error = asError(thrown);
      this.broken ||= isBroken(error);
      throw inUse(error, this.#server);
    }
  }
}
