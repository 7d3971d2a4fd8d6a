import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import Sqlite from "better-sqlite3";
import type { Journal } from "../core/host.ts";
import { asError, GatewayError } from "../core/errors.ts";

/**
 * Opens a journal, creating its file (0600) and folder where they are missing.
 * @throws GatewayError "store.unavailable", as its methods do.
 */
export function openJournal(path: string): Journal {
  const file = attempt(path, () => openFile(path));
  const put = file.prepare(
    "insert into entry values (?, ?) on conflict do update set value = excluded.value",
  );
  const drop = file.prepare("delete from entry where key = ?");
  const one = file.prepare("select value from entry where key = ?").pluck();
  const some = file.prepare("select key, value from entry where key >= ? and key < ? order by key").raw();
  const write = file.transaction((entries: Parameters<Journal["write"]>[0]) => {
    for (const [key, value] of Object.entries(entries))
      if (value === undefined) drop.run(key);
      else put.run(key, value);
  });
  return {
    write: (entries) => attempt(path, () => write.immediate(entries)),
    read: (key) => attempt(path, () => one.get(key) as Uint8Array | undefined), // the column is a blob
    list: (prefix) =>
      // U+10FFFF sorts after every other character in UTF-8, so this is the end of the prefix.
      attempt(path, () => some.all(prefix, `${prefix}\u{10ffff}`) as [string, Uint8Array][]), // as selected
    close: () => void file.close(),
  };
}

function openFile(path: string): Sqlite.Database {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // SQLite gives -wal and -shm the mode of the file they belong to, so the file is made before SQLite sees it.
  closeSync(openSync(path, "a", 0o600));
  // Nobody else has it: a lock that is met is another process's that should not be there.
  const file = new Sqlite(path, { timeout: 0 });
  try {
    file.pragma("journal_mode = WAL");
    file.pragma("synchronous = FULL");
    file.exec("create table if not exists entry (key text primary key, value blob not null) without rowid");
    return file;
  } catch (error) {
    file.close();
    throw error;
  }
}

function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    const cause = asError(thrown);
    const code = "code" in cause ? String(cause.code) : "";
    const why = /^(ENOSPC|SQLITE_FULL)/.test(code)
      ? "the disk is full; make room on it"
      : /^SQLITE_(CORRUPT|NOTADB)/.test(code)
        ? "it is damaged; move it away, what waited in it is lost"
        : /^SQLITE_(BUSY|LOCKED)/.test(code)
          ? "another process has it open; stop that process"
          : `${cause.message}; check the disk and its permissions`;
    throw new GatewayError("store.unavailable", `the journal ${path} cannot be used: ${why}`, { cause });
  }
}
