import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { asError, GatewayError } from "../core/errors.ts";

/** One process to a data folder. The lock is the kernel's, so it ends with the process however that ends. */
export type FolderLock = { release(): void };

/**
 * @throws GatewayError "data.in_use" naming the process that has it, "data.unusable" when the folder cannot be written.
 */
export function lockFolder(folder: string, now: number): FolderLock {
  const nameFile = join(folder, "perch.pid");
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = new Sqlite(join(folder, "perch.lock"), { timeout: 0 });
    try {
      file.pragma("journal_mode = DELETE");
      file.exec("begin exclusive");
    } catch (error) {
      file.close();
      throw error;
    }
    writeFileSync(nameFile, `${process.pid} since ${new Date(now).toISOString()}\n`, { mode: 0o600 });
    return { release: () => void file.close() };
  } catch (cause) {
    const code = (cause as { code?: string }).code ?? ""; // errors of Node and of SQLite carry one
    if (code.startsWith("SQLITE_BUSY")) {
      throw new GatewayError(
        "data.in_use",
        `${folder} is in use by process ${firstOwner(nameFile)}; stop that one, or name another data folder`,
        { cause },
      );
    }
    throw new GatewayError(
      "data.unusable",
      `${folder} cannot be written (${code || asError(cause).message}); make it writable for this user, or free its disk`,
      { cause },
    );
  }
}

function firstOwner(nameFile: string): string {
  try {
    return readFileSync(nameFile, "utf8").trim();
  } catch {
    return "of unknown number";
  }
}
