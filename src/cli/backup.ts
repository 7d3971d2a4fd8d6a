import { randomUUID } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { LEASE_MS, leaseOf } from "../connections/ownership.ts";
import type { KeepsakeHost, Lease } from "../core/host.ts";
import type { Clock } from "../core/clock.ts";
import { asError, GatewayError, systemCode } from "../core/errors.ts";
import type { ChannelId } from "../core/identity.ts";
import type { Log } from "../core/log.ts";
import { endLeases, takeLease } from "../store/channel-lease.ts";
import { channelState } from "../store/channel-state.ts";
import type { Database } from "../store/database.ts";
import { lockFolder } from "../store/lock.ts";
import type { CommandOptions } from "./check.ts";
import { connectionIn } from "./connection.ts";
import { withData } from "./data.ts";
import { EXIT } from "./exit.ts";

/** No account takes so long. */
const RESTORE_MS = 120_000;

type BackupOptions = CommandOptions & { readonly clock: Clock; readonly log: Log };

/** Writes what a connection needs to be itself again on another machine; the gateway may run meanwhile. */
export async function backup(options: BackupOptions, words: readonly string[]): Promise<number> {
  const { print } = options;
  const [id, name] = words;
  if (id === undefined || name === undefined) {
    print("perch backup <connection> <file> writes a backup of a connection's account.");
    return EXIT.failed;
  }
  const file = resolve(options.folder, name);
  await withData(options, async (database, config) => {
    const { kind, settings } = await connectionIn(config, id);
    if (!kind.backup) throw nothingToKeep(id, kind.kind);
    await writeNew(file, await kind.backup(settings, keepsakeHost(database, id, options)));
  });
  print(`The account of ${id} is in ${file}.`);
  print("Whoever has this file and the connection's stateKey is the account. Run it in one place at a time.");
  return EXIT.ok;
}

/** Puts a backup in the place of a connection's account; the gateway must not run. */
export async function restore(options: BackupOptions, words: readonly string[]): Promise<number> {
  const { print } = options;
  const [id, name] = words;
  if (id === undefined || name === undefined) {
    print("perch restore <connection> <file> puts a backup in the place of a connection's account.");
    return EXIT.failed;
  }
  const bytes = await readWhole(resolve(options.folder, name));
  await withData(options, async (database, config) => {
    const { kind, settings } = await connectionIn(config, id);
    if (!kind.restore) throw nothingToKeep(id, kind.kind);
    const lock = lockFolder(config.dataFolder, options.clock.now());
    try {
      const alone = await aloneWith(database, id, options.clock);
      try {
        // Nobody else is this connection: whoever had its lease has died.
        await database.db.transaction().execute((trx) => endLeases(trx, id));
        await kind.restore(settings, keepsakeHost(database, id, options), bytes);
      } finally {
        await alone.release();
      }
    } finally {
      lock.release();
    }
  });
  print(`${id} has the account of that backup. Start the gateway, and nowhere else with the same account.`);
  return EXIT.ok;
}

/** No process is the connection, nor can one be until `release`. @throws GatewayError "data.in_use". */
async function aloneWith(database: Database, id: ChannelId, clock: Clock): Promise<Lease> {
  const lease = await takeLease(
    database,
    leaseOf(id),
    { owner: randomUUID(), clock },
    RESTORE_MS,
    async () => {},
  );
  if (lease) return lease;
  throw new GatewayError(
    "data.in_use",
    `${id} is open in a process that runs, or was killed within the last ${LEASE_MS / 1_000} s; stop all of them, and try again`,
  );
}

function nothingToKeep(id: ChannelId, kind: string): GatewayError {
  return new GatewayError(
    "config.invalid",
    `${id} is of kind ${kind}, which has no account of its own to keep; what it needs stands in perch.yaml and .env`,
  );
}

function keepsakeHost(database: Database, id: ChannelId, { clock, log }: BackupOptions): KeepsakeHost {
  const state = channelState(database, id, { owner: randomUUID(), clock });
  return { id, state, clock, log: log.with({ channel: id }) };
}

/** A file that is there already stays: it may be the only good backup. */
async function writeNew(path: string, bytes: Uint8Array): Promise<void> {
  try {
    const handle = await open(path, "wx", 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    const cause = asError(thrown);
    const code = systemCode(cause);
    const why =
      code === "EEXIST" ? "it is there already; name another" : `${code ?? cause.message}; name another`;
    throw new GatewayError("data.unusable", `${path} cannot be written: ${why}`, { cause });
  }
}

async function readWhole(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (thrown) {
    const cause = asError(thrown);
    const why = systemCode(cause) ?? cause.message;
    throw new GatewayError(
      "data.unusable",
      `${path} cannot be read (${why}); name a file of perch backup's`,
      { cause },
    );
  }
}
