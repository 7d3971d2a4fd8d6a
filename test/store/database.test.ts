import { chmod, mkdtemp, open as openFile, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { type Generated, sql } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../src/store/database.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { migrate } from "../../src/store/migrate.ts";
import { eachDatabase, onSqlite } from "../support/database.ts";

type Scratch = { schema_version: { version: number; name: string; bears: Generated<number | null> } };

eachDatabase("the database", (open) => {
  it("is at this program's schema when it is opened, and again when it is opened again", async () => {
    const database = await open();
    const versions = await database.db
      .withTables<Scratch>()
      .selectFrom("schema_version")
      .select(["version", "name"])
      .orderBy("version")
      .execute();
    expect(versions).toEqual([
      { version: 1, name: "facts" },
      { version: 2, name: "threads" },
      { version: 3, name: "notices" },
      { version: 4, name: "channels" },
      { version: 5, name: "connections" },
      { version: 6, name: "account" },
      { version: 7, name: "agents" },
      { version: 8, name: "waiting" },
      { version: 9, name: "budgets" },
      { version: 10, name: "approvals" },
      { version: 11, name: "schedules" },
      { version: 12, name: "cluster" },
    ]);
    const again = await open(database);
    const count = again.db
      .withTables<Scratch>()
      .selectFrom("schema_version")
      .select((eb) => eb.fn.countAll<number>().as("n"));
    expect(await count.executeTakeFirstOrThrow()).toEqual({ n: 12 });
  });

  it("is migrated once when it is asked several times at once", async () => {
    const database = await open();
    const scratch = database.db.withTables<Scratch>();
    await Promise.all([migrate(database, "a"), migrate(database, "b"), migrate(database, "c")]);
    expect(await scratch.selectFrom("schema_version").select("version").orderBy("version").execute()).toEqual(
      [
        { version: 1 },
        { version: 2 },
        { version: 3 },
        { version: 4 },
        { version: 5 },
        { version: 6 },
        { version: 7 },
        { version: 8 },
        { version: 9 },
        { version: 10 },
        { version: 11 },
        { version: 12 },
      ],
    );
  });

  it("keeps nothing of a transaction that failed", async () => {
    const { db } = await open();
    const scratch = db.withTables<Scratch>();
    const failing = scratch.transaction().execute(async (trx) => {
      await trx.insertInto("schema_version").values({ version: 1000, name: "x" }).execute();
      throw new Error("stop");
    });
    await expect(failing).rejects.toThrow("stop");
    expect(
      await scratch.selectFrom("schema_version").where("version", "=", 1000).selectAll().execute(),
    ).toEqual([]);
  });

  it("goes on beside a newer program whose schema bears it, and not beside one whose does not", async () => {
    const database = await open();
    const versions = database.db.withTables<Scratch>();
    const newer = (version: number, bears: number) =>
      versions.insertInto("schema_version").values({ version, name: "next", bears }).execute();
    await newer(13, 12);
    await newer(14, 12);
    const older = await open(database);
    expect(await older.db.selectFrom("chat").select("id").execute()).toEqual([]);
    await newer(15, 14);
    await expect(open(database)).rejects.toMatchObject({ code: "data.newer" });
  });

  it("refuses what a newer program has written", async () => {
    const database = await open();
    await database.db
      .withTables<Scratch>()
      .insertInto("schema_version")
      .values({ version: 999, name: "x" })
      .execute();
    await expect(open(database)).rejects.toMatchObject({
      code: "data.newer",
      message: expect.stringMatching(/newer Perch \(schema 999; this one knows 12\)/),
    });
  });
});

describe("a SQLite file", () => {
  let folder: string;
  let opened: Database[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "perch-"));
    opened = [];
  });
  afterEach(async () => {
    await Promise.all(opened.map((database) => database.close()));
    await rm(folder, { recursive: true });
  });
  const open = async (path: string): Promise<Database> => {
    const database = await openSqlite(path);
    opened.push(database);
    return database;
  };

  it("is private, with its folder and what SQLite puts beside it", async () => {
    const path = join(folder, "new", "data", "perch.db");
    await open(path);
    expect(
      await Promise.all(
        ["..", "../..", "", "-wal", "-shm"].map((end) =>
          mode(end.startsWith(".") ? join(path, end) : path + end),
        ),
      ),
    ).toEqual(["700", "700", "600", "600", "600"]);
  });

  it("has every commit on the disk when it resolves, waits for other writers, and holds references", async () => {
    const { db } = await open(join(folder, "perch.db"));
    const pragma = async (name: string): Promise<unknown> =>
      Object.values((await sql<object>`pragma ${sql.raw(name)}`.execute(db)).rows[0] ?? {})[0];
    const FULL = 2;
    expect(await pragma("journal_mode")).toBe("wal");
    expect(await pragma("synchronous")).toBe(FULL);
    expect(await pragma("busy_timeout")).toBe(5000);
    expect(await pragma("foreign_keys")).toBe(1);
  });

  it.each([
    ["text", "not a database at all, ".repeat(200), /perch\.db cannot be used: file is not a database; move/],
  ])("is refused when it holds %s", async (_, content, sentence) => {
    const path = join(folder, "perch.db");
    await writeFile(path, content);
    await expect(open(path)).rejects.toMatchObject({
      code: "data.unusable",
      message: expect.stringMatching(sentence),
    });
    expect(await readFile(path, "utf8")).toBe(content);
  });

  it("is refused when a part of it is missing", async () => {
    const path = join(folder, "perch.db");
    await (await openSqlite(path)).close();
    await truncate(path, 4096 * 2);
    await expect(open(path)).rejects.toMatchObject({
      code: "data.unusable",
      message: expect.stringMatching(
        /perch\.db cannot be used: database disk image is malformed; .*restore a backup/,
      ),
    });
  });

  it("is refused when its pages are overwritten", async () => {
    const path = join(folder, "perch.db");
    await (await openSqlite(path)).close();
    const handle = await openFile(path, "r+");
    await handle.write(Buffer.alloc(3000, 0xff), 0, 3000, 100);
    await handle.close();
    await expect(open(path)).rejects.toMatchObject({
      code: "data.unusable",
      message: expect.stringMatching(/malformed/),
    });
  });

  it("is refused when it belongs to another program", async () => {
    const path = join(folder, "other.db");
    const other = new Sqlite(path);
    other.exec("create table bookmarks (id integer)");
    other.close();
    await expect(open(path)).rejects.toMatchObject({
      code: "data.unusable",
      message: expect.stringMatching(
        /other\.db is the database of another program \(it has a table "bookmarks"\)/,
      ),
    });
  });

  it("is refused where nothing can be written", async () => {
    const path = join(folder, "file", "perch.db");
    await writeFile(join(folder, "file"), "");
    await expect(open(path)).rejects.toMatchObject({
      code: "data.unusable",
      message: expect.stringMatching(/file\/perch\.db cannot be used: a part of its path is not a folder/),
    });
    await expect(open(folder)).rejects.toMatchObject({
      code: "data.unusable",
      message: expect.stringMatching(/cannot be used: it is a folder/),
    });
  });

  it("is refused in a folder that is read only", async () => {
    await chmod(folder, 0o500);
    // Modes do not bind root; /sys takes no files from anybody.
    const readOnly = process.getuid?.() === 0 ? "/sys/perch" : folder;
    await expect(open(join(readOnly, "perch.db"))).rejects.toMatchObject({
      code: "data.unusable",
      message: expect.stringMatching(/perch\.db cannot be used: no permission to write there; make the file/),
    });
    await chmod(folder, 0o700);
  });

  it("lets two processes that read first and write later both through", async () => {
    const path = join(folder, "perch.db");
    const { db } = await open(path);
    const { db: other } = await open(path);
    const scratch = [db, other].map((one) => one.withTables<Scratch>());
    const count = async (one: (typeof scratch)[number]): Promise<void> => {
      await one.transaction().execute(async (trx) => {
        const { top } = await trx
          .selectFrom("schema_version")
          .select((eb) => eb.fn.max("version").as("top"))
          .executeTakeFirstOrThrow();
        await trx
          .insertInto("schema_version")
          .values({ version: top + 1, name: "x" })
          .execute();
      });
    };
    for (let round = 0; round < 20; round += 1) for (const one of scratch) await count(one);
    const { top } = await db
      .withTables<Scratch>()
      .selectFrom("schema_version")
      .select((eb) => eb.fn.max("version").as("top"))
      .executeTakeFirstOrThrow();
    expect(top).toBe(52);
  });
});

async function mode(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8);
}

describe("a light transaction on SQLite", () => {
  const open = onSqlite();
  const synchronous = async (database: Database): Promise<unknown> => {
    const { rows } = await sql<{ synchronous: number }>`pragma synchronous`.execute(database.db);
    return rows[0]?.synchronous;
  };

  it("leaves every other commit waited for, also when it fails", async () => {
    const database = await open();
    expect(await synchronous(database)).toBe(2);
    const inside = await database.light(async (trx) => {
      const { rows } = await sql<{ synchronous: number }>`pragma synchronous`.execute(trx);
      return rows[0]?.synchronous;
    });
    expect(inside).toBe(1);
    await expect(database.light(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await synchronous(database)).toBe(2);
  });
});
