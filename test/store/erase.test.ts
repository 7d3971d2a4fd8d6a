import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { sql } from "kysely";
import { afterEach, expect, it } from "vitest";
import type { Database } from "../../src/store/database.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import type { Queries } from "../../src/store/tables.ts";

const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function setUp(): Promise<{
  readonly database: Database;
  readonly path: string;
  holds(words: readonly string[]): Promise<number>;
  put(n: number, words: string, trx?: Queries): Promise<void>;
}> {
  const folder = await mkdtemp(join(tmpdir(), "perch-erase-"));
  folders.push(folder);
  const path = join(folder, "perch.db");
  const database = await openSqlite(path);
  await sql`create table said (n integer primary key, words text not null)`.execute(database.db);
  return {
    database,
    path,
    async holds(words) {
      const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name))));
      return words.filter((each) => files.some((bytes) => bytes.includes(each))).length;
    },
    put: async (n, words, trx = database.db) =>
      void (await sql`insert or replace into said (n, words) values (${n}, ${words})`.execute(trx)),
  };
}

it("leaves nothing of what was deleted or written over to be read in the files, however long it was", async () => {
  const { database, holds, put } = await setUp();
  const marks = new Map<number, string>();
  // Small rows and such as take pages of their own, in no order, so that rows are moved from page to page; some are
  // written over before. `secure_delete` alone leaves a few of these.
  const order = Array.from({ length: 3_000 }, (_, n) => (n * 1_201) % 3_000);
  await database.light(async (trx) => {
    for (const n of order) {
      const mark = randomBytes(12).toString("hex");
      const room = [20, 300, 1_500, 9_000][n % 4] ?? 0;
      marks.set(n, mark);
      await put(n, `${mark} ${"x".repeat(Math.floor(Math.random() * room))} ${mark}`, trx);
      if (n % 3 === 0) await put(n, `${mark} ${"y".repeat(Math.floor(Math.random() * 1_200))} ${mark}`, trx);
      if (n % 5 === 0) await put(n, "", trx);
    }
  });
  await sql`delete from said where n % 2 = 0`.execute(database.db);
  expect(await database.erase()).toBe(true);
  const isGone = ([n]: readonly [number, string]): boolean => n % 2 === 0 || n % 5 === 0;
  const gone = [...marks].filter(isGone).map(([, mark]) => mark);
  const kept = [...marks].filter((each) => !isGone(each)).map(([, mark]) => mark);
  expect({ gone: await holds(gone), kept: await holds(kept) }).toEqual({ gone: 0, kept: kept.length });
  await database.close();
});

it("is to be done later while somebody reads the database", async () => {
  const { database, path, put } = await setUp();
  await put(1, "before");
  const reader = new Sqlite(path, { readonly: true });
  reader.exec("begin");
  reader.prepare("select * from said").all();
  await put(1, "after");
  await sql`pragma busy_timeout = 0`.execute(database.db);
  expect(await database.erase()).toBe(false);
  reader.close();
  expect(await database.erase()).toBe(true);
  await database.close();
});
