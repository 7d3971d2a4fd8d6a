import type { PGlite } from "@electric-sql/pglite";
import {
  CompiledQuery,
  PostgresDialect,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
  type TransactionSettings,
} from "kysely";

/** Where test schemas are made. */
export type Server = {
  run(sql: string): Promise<void>;
  dialect(schema: string): PostgresDialect;
  close(): Promise<void>;
};

/** PostgreSQL inside this process, for machines without a server. It takes seconds to start and 700 MB. */
export async function startPglite(parsers: Record<number, (value: string) => unknown>): Promise<Server> {
  const { PGlite } = await import("@electric-sql/pglite");
  const server = await PGlite.create({ parsers });
  const line = new Line();
  return {
    run: async (sql) => void (await server.exec(sql)),
    dialect: (schema) => new PgliteDialect(server, line, schema),
    close: () => server.close(),
  };
}

/** PGlite is one connection: whoever has it keeps it until the transaction ends. */
class Line {
  #taken: Promise<void> | undefined;
  #free: (() => void) | undefined;

  async enter(): Promise<void> {
    while (this.#taken) await this.#taken;
    this.#taken = new Promise((resolve) => {
      this.#free = resolve;
    });
  }

  leave(): void {
    this.#taken = undefined;
    this.#free?.();
  }
}

class PgliteDialect extends PostgresDialect {
  readonly #server: PGlite;
  readonly #line: Line;
  readonly #schema: string;

  constructor(server: PGlite, line: Line, schema: string) {
    super({ pool: () => Promise.reject(new Error("PGlite has no pool")) });
    this.#server = server;
    this.#line = line;
    this.#schema = schema;
  }

  override createDriver(): Driver {
    return new PgliteDriver(this.#server, this.#line, this.#schema);
  }
}

class PgliteDriver implements Driver {
  readonly #line: Line;
  readonly #schema: string;
  readonly #connection: PgliteConnection;

  constructor(server: PGlite, line: Line, schema: string) {
    this.#line = line;
    this.#schema = schema;
    this.#connection = new PgliteConnection(server);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    await this.#line.enter();
    await this.#connection.executeQuery(CompiledQuery.raw(`set search_path to ${this.#schema}`));
    return this.#connection;
  }

  async beginTransaction(_: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    const level = settings.isolationLevel ? ` isolation level ${settings.isolationLevel}` : "";
    await this.#connection.executeQuery(CompiledQuery.raw(`begin${level}`));
    this.#connection.aborted = false;
  }

  async commitTransaction(): Promise<void> {
    await this.#connection.executeQuery(CompiledQuery.raw("commit"));
    // PGlite does not say that a commit became a rollback.
    if (this.#connection.aborted) throw new Error("the transaction was rolled back, not committed");
  }

  async rollbackTransaction(): Promise<void> {
    await this.#connection.executeQuery(CompiledQuery.raw("rollback"));
  }

  async releaseConnection(): Promise<void> {
    this.#line.leave();
  }

  async destroy(): Promise<void> {}
}

class PgliteConnection implements DatabaseConnection {
  readonly #server: PGlite;
  aborted = false;

  constructor(server: PGlite) {
    this.#server = server;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    try {
      const result = await this.#server.query<Row>(query.sql, [...query.parameters]);
      return { rows: result.rows, numAffectedRows: BigInt(result.affectedRows ?? 0) };
    } catch (error) {
      this.aborted = true;
      throw error;
    }
  }

  // oxlint-disable-next-line require-yield -- the interface asks for it and PGlite has no cursors
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error("PGlite cannot stream");
  }
}
