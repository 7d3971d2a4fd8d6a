import {
  type AuthenticationCreds,
  initAuthCreds,
  type SignalDataSet,
  type SignalDataTypeMap,
  type SignalKeyStore,
} from "@whiskeysockets/baileys";
import type { ChannelHost, Lease } from "../../../../src/core/host.ts";
import { asError, GatewayError, hasCode } from "../../../../src/core/errors.ts";
import { decodeCreds, decodeKey, encode } from "./auth-codec.ts";
import { accountRows, CREDS, keyRow, UNLINKED } from "./auth-rows.ts";
import { isPlain, type Seal } from "./seal.ts";

export type AuthParts = {
  readonly host: Pick<ChannelHost, "id" | "state" | "log">;
  readonly seal: Seal;
  /** The account is written through it alone; with another lease the account is opened anew. */
  readonly lease: Lease;
  /** A write has failed: the socket must end, and what it keeps in memory with it. */
  readonly fatal: (error: Error) => void;
};

type Rows = Readonly<Record<string, string | undefined>>;

/**
 * Opens the account of a connection: the stored one, or a new one that is not paired yet.
 * @throws GatewayError "data.unusable" where it cannot be opened with this key, or its credentials are missing.
 */
export async function openAuthState(parts: AuthParts): Promise<AuthState> {
  const { host, seal, lease } = parts;
  const stored = (await host.state.get([CREDS])).get(CREDS);
  if (stored === undefined) await refuseRemains(host);
  const creds =
    stored === undefined ? initAuthCreds() : inside(host.id, () => decodeCreds(seal.open(stored, CREDS)));
  if (!seal.sealed)
    host.log.warn(
      {},
      "the keys of the account are stored readable, and whoever reads them is the account; set stateKey to seal them",
    );
  else if (stored !== undefined && isPlain(stored)) await sealAll(parts);
  return new AuthState(parts, creds, lease);
}

/** The account of a connection as the library needs it: every change is on the disk before the library goes on. */
export class AuthState {
  readonly #parts: AuthParts;
  readonly #lease: Lease;
  #creds: AuthenticationCreds;
  #keys: LineKeys | undefined;
  /** Writes go one after another: credentials are never behind keys that were written after them. */
  #written: Promise<unknown> = Promise.resolve();

  constructor(parts: AuthParts, creds: AuthenticationCreds, lease: Lease) {
    this.#parts = parts;
    this.#creds = creds;
    this.#lease = lease;
  }

  /** The library changes them in place; after `discard` they are others. */
  get creds(): AuthenticationCreds {
    return this.#creds;
  }

  /** Whether the account is linked with a phone. A pairing that was begun is none. */
  paired(): boolean {
    return this.#creds.account !== undefined;
  }

  /**
   * The keys for the next socket, for `makeCacheableSignalKeyStore`. What was handed out before writes nothing any more, and
   * neither does this after a write has failed: the library tries the same write again for half a minute, which would put
   * old ratchets over those of the next socket.
   */
  keys(): SignalKeyStore {
    this.#keys?.end();
    this.#keys = new LineKeys(this.#parts, this.#written, (entries) => this.#write(entries));
    return this.#keys;
  }

  /** Writes the credentials whole; those of an account that is not paired are kept in memory alone. */
  async save(): Promise<void> {
    if (!this.paired()) return;
    const { seal, fatal } = this.#parts;
    try {
      await this.#write(() => (this.paired() ? { [CREDS]: seal.seal(encode(this.#creds), CREDS) } : {}));
    } catch (thrown) {
      this.#keys?.end();
      fatal(asError(thrown));
      throw thrown;
    }
  }

  /**
   * Forgets the account, so that another can be paired. Credentials of one that was unlinked stay readable for whoever has
   * the stateKey; a pairing that was abandoned leaves nothing.
   */
  async discard(why: "unpaired" | "abandoned"): Promise<void> {
    this.#keys?.end();
    const { host, seal } = this.#parts;
    const copy =
      why === "unpaired" && this.paired() ? { [UNLINKED]: seal.seal(encode(this.#creds), UNLINKED) } : {};
    // Whoever saves from here on saves the next account.
    this.#creds = initAuthCreds();
    await this.#written;
    const gone: Record<string, undefined> = { [CREDS]: undefined };
    for await (const page of accountRows(host.state)) for (const [row] of page) gone[row] = undefined;
    await this.#write(() => ({ ...copy, ...gone }));
  }

  async #write(entries: () => Rows): Promise<void> {
    const writing = this.#written.then(() => this.#lease.set(entries()));
    this.#written = writing.catch(() => {}); // told to whoever wrote
    await writing;
  }
}

/** The keys of one socket. */
class LineKeys implements SignalKeyStore {
  readonly #parts: AuthParts;
  readonly #before: Promise<unknown>;
  readonly #write: (entries: () => Rows) => Promise<void>;
  #over = false;

  /** `before` is the last write of the socket before: nothing is read that it may change yet. */
  constructor(parts: AuthParts, before: Promise<unknown>, write: (entries: () => Rows) => Promise<void>) {
    this.#parts = parts;
    this.#before = before;
    this.#write = write;
  }

  end(): void {
    this.#over = true;
  }

  async get<T extends keyof SignalDataTypeMap>(
    type: T,
    ids: string[],
  ): Promise<{ [id: string]: SignalDataTypeMap[T] }> {
    const { host, seal } = this.#parts;
    await this.#before;
    const rows = await host.state.get(ids.map((id) => keyRow(type, id)));
    const found: { [id: string]: SignalDataTypeMap[T] } = {};
    for (const id of ids) {
      const row = keyRow(type, id);
      const sealed = rows.get(row);
      if (sealed === undefined) continue;
      const value = inside(host.id, () => decodeKey(type, seal.open(sealed, row)));
      found[id] = value as SignalDataTypeMap[T]; // what stands in its row was sealed for it
    }
    return found;
  }

  async set(data: SignalDataSet): Promise<void> {
    const { host, seal, fatal } = this.#parts;
    const entries: Record<string, string | undefined> = {};
    for (const [type, values] of Object.entries(data)) {
      for (const [id, value] of Object.entries(values)) {
        const row = keyRow(type, id);
        // Written as it is now: the library goes on changing what it has handed over.
        entries[row] = value === null ? undefined : seal.seal(encode(value), row);
      }
    }
    try {
      await this.#write(() => {
        if (this.#over)
          throw new GatewayError("store.hold_lost", `a socket of ${host.id} that has ended writes no keys`);
        return entries;
      });
    } catch (thrown) {
      if (!this.#over) fatal(asError(thrown));
      this.#over = true;
      throw thrown;
    }
  }
}

/** Keys without credentials are what is left of an account, and a new one in their place would unlink it for good. */
async function refuseRemains({ id, state }: AuthParts["host"]): Promise<void> {
  for await (const page of accountRows(state))
    throw new GatewayError(
      "data.unusable",
      `the credentials of ${id} are missing and ${page.length} or more of its keys are there; ` +
        "restore a backup with perch restore, or give the connection another name in perch.yaml to pair it anew",
    );
}

/** A key was set since: what was stored without one is sealed. The credentials come last, as the sign that all is done. */
async function sealAll({ host, seal, lease }: AuthParts): Promise<void> {
  const sealed = (rows: readonly (readonly [string, string])[]): Record<string, string> =>
    Object.fromEntries(
      rows
        .filter(([, text]) => isPlain(text))
        .map(([row, text]) => [row, seal.seal(seal.open(text, row), row)]),
    );
  const last: (readonly [string, string])[] = [];
  for await (const page of accountRows(host.state)) {
    last.push(...page.filter(([row]) => row === CREDS));
    await lease.set(sealed(page.filter(([row]) => row !== CREDS)));
  }
  await lease.set(sealed(last));
  host.log.info({}, "the keys of the account are sealed now");
}

/** Says whose data it is that cannot be opened. */
function inside<T>(id: string, open: () => T): T {
  try {
    return open();
  } catch (thrown) {
    const cause = asError(thrown);
    const why = hasCode(cause, "data.unusable") ? cause.message : "it is damaged; restore a backup";
    throw new GatewayError("data.unusable", `the account of ${id} cannot be opened: ${why}`, { cause });
  }
}
