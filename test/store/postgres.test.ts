import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { sql } from "kysely";
import { afterEach, describe, expect, it } from "vitest";
import type { Database } from "../../src/store/database.ts";
import { openPostgres } from "../../src/store/postgres.ts";
import { freshPostgresUrl, postgresAnswers } from "../support/database.ts";

const ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** A database of its own; `through` sees each connection to the server. */
async function open(through?: (url: URL) => Promise<URL>): Promise<Database> {
  const fresh = freshPostgresUrl();
  ends.push(() => fresh.drop());
  const url = new URL(fresh.url);
  const database = await openPostgres((through ? await through(url) : url).href, { connections: 4 });
  ends.push(() => database.close());
  return database;
}

/** A line to the server that can be cut, and laid again. */
class Line {
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #to: URL | undefined;
  #port = 0;

  async through(to: URL): Promise<URL> {
    this.#to = to;
    await this.lay();
    const url = new URL(to.href);
    url.host = `127.0.0.1:${this.#port}`;
    return url;
  }

  async lay(): Promise<void> {
    const { hostname, port } = this.#to!;
    const server = createServer((near) => {
      const far = connect(Number(port), hostname);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(one);
        one.on("error", () => other.destroy());
        one.on("close", () => other.destroy());
        one.pipe(other);
      }
    });
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async cut(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
    const server = this.#server;
    this.#server = undefined;
    if (server) await new Promise((resolve) => server.close(resolve));
  }
}

const chats = async ({ db }: Database): Promise<number> =>
  (await db.selectFrom("chat").select("id").execute()).length;

const newChat = { channel: "toy", kind: "private", owner: "", epoch: 0, until: 0 } as const;

describe("the address of a server", () => {
  it.each([
    ["mysql://perch:hunter2@db/perch", /is none of a PostgreSQL server; write postgres:\/\//],
    ["perch:hunter2", /is none of a PostgreSQL server/],
    ["postgres://perch:hunter2@127.0.0.1:1/perch?schema=a%22b", /the schema "a\\"b" .* is no name/],
  ])("is refused where it is none: %s", async (url, message) => {
    const refused = openPostgres(url);
    await expect(refused).rejects.toMatchObject({ code: "data.unusable" });
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.not.toThrow(/hunter2/);
  });

  it("is told without user and password where nothing listens", async () => {
    const refused = openPostgres("postgres://perch:hunter2@127.0.0.1:1/perch");
    await expect(refused).rejects.toMatchObject({
      code: "store.unavailable",
      message: "PostgreSQL at 127.0.0.1:1/perch: nothing listens there; start it, or mend store.url",
    });
  });
});

describe.runIf(await postgresAnswers())("a database on a server", () => {
  it("gives numbers as numbers, and what comes to more than one row as well", async () => {
    const { db } = await open();
    await db
      .insertInto("chat")
      .values([{ ...newChat, epoch: 4_000_000_000_000 }, newChat])
      .execute();
    const row = await db
      .selectFrom("chat")
      .select((eb) => [eb.fn.sum("epoch").as("sum"), eb.fn.countAll().as("count")])
      .executeTakeFirst();
    expect(row).toEqual({ sum: 4_000_000_000_000, count: 2 });
  });

  it("says what is missing where there is no such database", async () => {
    const url = new URL(freshPostgresUrl().url);
    url.pathname = "/perch_there_is_none";
    await expect(openPostgres(url.href)).rejects.toMatchObject({
      code: "data.unusable",
      message: expect.stringContaining("there is no such database; create it"),
    });
  });

  it("is made by several processes at once, in the schema that the address names", async () => {
    const { url, drop } = freshPostgresUrl();
    ends.push(drop);
    const opened = await Promise.all([1, 2, 3, 4].map(() => openPostgres(url, { connections: 2 })));
    ends.push(() => Promise.all(opened.map((database) => database.close())));
    await opened[0]!.db.insertInto("chat").values(newChat).execute();
    expect(await Promise.all(opened.map(chats))).toEqual([1, 1, 1, 1]);
    const { rows } = await sql`select current_schema() as name`.execute(opened[0]!.db);
    expect(rows).toEqual([{ name: new URL(url).searchParams.get("schema") }]);
  });

  it("does not wait for the disk in light transactions, and does in others", async () => {
    const database = await open(async (url) => {
      url.searchParams.delete("options");
      return url;
    });
    const waits = async (db: Parameters<Parameters<Database["light"]>[0]>[0]) =>
      (await sql<{ synchronous_commit: string }>`show synchronous_commit`.execute(db)).rows[0]
        ?.synchronous_commit;
    expect([
      await database.light(waits),
      await database.db.transaction().execute(waits),
      await database.light(waits),
    ]).toEqual(["off", "on", "off"]);
  });

  it("rolls a light transaction back that fails", async () => {
    const database = await open();
    const failed = database.light(async (trx) => {
      await trx.insertInto("chat").values(newChat).execute();
      throw new Error("no");
    });
    await expect(failed).rejects.toThrow("no");
    expect(await chats(database)).toBe(0);
  });

  it("does not take a transaction for committed in which an error was caught", async () => {
    const database = await open();
    const caught = database.db.transaction().execute(async (trx) => {
      await trx.insertInto("chat").values(newChat).execute();
      await sql`select 1 / 0`.execute(trx).catch(() => {});
    });
    await expect(caught).rejects.toThrow("the transaction was rolled back, not committed");
    expect(await chats(database)).toBe(0);
  });

  it("begins a transaction anew that waited for another which waited for it", async () => {
    const { db } = await open();
    const rows = await db.insertInto("chat").values([newChat, newChat]).returning("id").execute();
    const [one, two] = rows.map(({ id }) => id);
    let met = 0;
    let meet = (): void => {};
    const both = new Promise<void>((resolve) => (meet = resolve));
    const change = (first: typeof one, second: typeof one): Promise<void> =>
      db.transaction().execute(async (trx) => {
        const raise = (id: typeof one): Promise<unknown> =>
          trx
            .updateTable("chat")
            .set((eb) => ({ epoch: eb("epoch", "+", 1) }))
            .where("id", "=", id!)
            .execute();
        await raise(first);
        met += 1;
        if (met === 2) meet();
        await both;
        await raise(second);
      });
    await Promise.all([change(one, two), change(two, one)]);
    expect(met).toBe(3);
    expect(await db.selectFrom("chat").select("epoch").execute()).toEqual([{ epoch: 2 }, { epoch: 2 }]);
  });

  it("goes on with other connections when the server has ended all of them", async () => {
    const database = await open();
    const { db } = database;
    const cut = db.transaction().execute(async (trx) => {
      await trx.insertInto("chat").values(newChat).execute();
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx);
      await sql`select pg_terminate_backend(${rows[0]!.pid}::int)`.execute(db);
      await trx.insertInto("chat").values(newChat).execute();
    });
    await expect(cut).rejects.toMatchObject({ code: "store.unavailable" });
    expect(await chats(database)).toBe(0);
  });

  it("refuses quickly while the server is away, and goes on when it is back", async () => {
    const line = new Line();
    ends.push(() => line.cut());
    const database = await open((url) => line.through(url));
    await database.db.insertInto("chat").values(newChat).execute();
    // Idle connections, and ones that are in the middle of something.
    const held = database.db.transaction().execute(async (trx) => {
      await trx.insertInto("chat").values(newChat).execute();
      await line.cut();
      await trx.insertInto("chat").values(newChat).execute();
    });
    await expect(held).rejects.toMatchObject({ code: "store.unavailable" });
    const began = performance.now();
    for (let n = 0; n < 20; n += 1)
      await expect(chats(database)).rejects.toMatchObject({ code: "store.unavailable" });
    expect(performance.now() - began).toBeLessThan(5_000);
    await line.lay();
    expect(await Promise.all([1, 2, 3, 4, 5, 6].map(() => chats(database)))).toEqual([1, 1, 1, 1, 1, 1]);
  });
});
