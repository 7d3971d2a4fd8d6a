import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Journal } from "../../src/core/host.ts";
import { openJournal } from "../../src/store/journal.ts";

describe("a journal", () => {
  let folder: string;
  let path: string;
  const opened: Journal[] = [];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "perch-journal-"));
    path = join(folder, "channels", "family", "journal.db");
  });
  afterEach(async () => {
    for (const journal of opened.splice(0)) journal.close();
    await rm(folder, { recursive: true });
  });
  const open = (): Journal => {
    const journal = openJournal(path);
    opened.push(journal);
    return journal;
  };
  const bytes = (...values: readonly number[]): Buffer => Buffer.from(values);

  it("gives back what was written, in the order of its keys, also when it is opened again", () => {
    const journal = open();
    journal.write({
      "s/2": bytes(2),
      "s/1": bytes(1),
      "s/\u{1f600}": bytes(4),
      "s/\uffff": bytes(3),
      t: bytes(),
    });
    journal.write({ "s/1": bytes(1, 1), "s/2": undefined, missing: undefined });
    journal.close();
    const again = open();
    expect(again.list("s/")).toEqual([
      ["s/1", bytes(1, 1)],
      ["s/\uffff", bytes(3)],
      ["s/\u{1f600}", bytes(4)],
    ]);
    expect([again.read("s/1"), again.read("t"), again.read("s/2")]).toEqual([
      bytes(1, 1),
      bytes(),
      undefined,
    ]);
  });

  it("is private, with what SQLite puts beside it, and on the disk at each write", async () => {
    open().write({ a: bytes(1) });
    const modes = ["", "-wal", "-shm"].map(async (end) => (await stat(path + end)).mode & 0o777);
    expect(await Promise.all(modes)).toEqual([0o600, 0o600, 0o600]);
    const reader = new Sqlite(path, { readonly: true });
    expect(reader.pragma("journal_mode", { simple: true })).toBe("wal");
    reader.close();
  });

  it("writes all of a batch or nothing", () => {
    const journal = open();
    const broken = { a: bytes(1), b: "no bytes" as unknown as Uint8Array, c: null as unknown as undefined };
    expect(() => journal.write(broken)).toThrow(expect.objectContaining({ code: "store.unavailable" }));
    expect(journal.list("")).toEqual([]);
    journal.write({ a: bytes(2) }); // and goes on
    expect(journal.read("a")).toEqual(bytes(2));
  });

  it("says what is wrong with it", async () => {
    open();
    const other = new Sqlite(path);
    other.exec("begin immediate");
    expect(() => opened[0]?.write({ a: bytes(1) })).toThrow(
      expect.objectContaining({
        code: "store.unavailable",
        message: expect.stringMatching(/journal\.db cannot be used: another process has it open; stop/),
      }),
    );
    other.exec("rollback");
    other.close();
    const damaged = join(folder, "damaged.db");
    await writeFile(damaged, "no database at all, ".repeat(100));
    expect(() => openJournal(damaged)).toThrow(/damaged\.db cannot be used: it is damaged; move it away/);
    expect(() => openJournal(join(damaged, "journal.db"))).toThrow(
      expect.objectContaining({ code: "store.unavailable" }),
    );
  });

  it("holds every write that has returned when its process is killed", async () => {
    const script = `
      import { openJournal } from ${JSON.stringify(new URL("../../dist/src/store/journal.js", import.meta.url).href)};
      const journal = openJournal(process.argv[1]);
      for (let n = 0; ; n += 1) {
        journal.write({ ["a/" + n]: Buffer.from([n]), ["b/" + n]: Buffer.from([n]), newest: Buffer.from(String(n)) });
        process.send(n);
      }`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script, path], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    let told = -1;
    child.on("message", (n: number) => {
      told = n;
      if (n === 50) child.kill("SIGKILL");
    });
    await once(child, "exit");
    const journal = open();
    const newest = Number(Buffer.from(journal.read("newest") ?? []).toString());
    expect(newest).toBeGreaterThanOrEqual(told);
    expect([journal.list("a/").length, journal.list("b/").length]).toEqual([newest + 1, newest + 1]);
  });
});
