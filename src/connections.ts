import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { ChannelConfig } from "./config/channels.ts";
import { LEASE_MS, leaseOf, Ownership } from "./connections/ownership.ts";
import type { Channel, ChannelKind } from "./core/channel.ts";
import type { ChannelHost, HttpMount, Lease, Studio } from "./core/host.ts";
import type { Clock, Timer } from "./core/clock.ts";
import { asError } from "./core/errors.ts";
import type { ChannelId } from "./core/identity.ts";
import type { Log } from "./core/log.ts";
import { isChannels, type Role } from "./core/role.ts";
import { closeChannel } from "./core/close-channel.ts";
import { type ConnectionShown, type ConnectionState, standingWords } from "./core/standing.ts";
import type { Gateway } from "./gateway.ts";
import type { FileBlobs } from "./store/blobs.ts";
import { takeLease } from "./store/channel-lease.ts";
import { channelState } from "./store/channel-state.ts";
import type { Database } from "./store/database.ts";
import { openJournal } from "./store/journal.ts";
import { renameChannel } from "./store/rename.ts";

/** A folder that was full or a file that was locked may be well by then. */
const RETRY_MS = 30_000;

export type ConnectionParts = {
  readonly gateway: Gateway;
  readonly database: Database;
  readonly blobs: FileBlobs;
  readonly dataFolder: string;
  readonly studio: Studio;
  readonly http: HttpMount;
  readonly clock: Clock;
  readonly log: Log;
  /** Tells this process apart from others that may be the same connection. */
  readonly owner: string;
  readonly kind: (name: string) => Promise<ChannelKind<unknown> | undefined>;
  /** Which connections this process may be; absent for one that has them all to itself. */
  readonly shared?: { readonly role: Role };
};

/** The open connections: opened with what the gateway hands to a channel, reopened when their settings change. */
export class Connections {
  readonly #parts: ConnectionParts;
  readonly #open = new Map<ChannelId, Channel>();
  readonly #retries = new Map<ChannelId, Timer>();
  /** The right to be connections that only one process may be, or to speak for those that several take in at. */
  readonly #owned = new Map<ChannelId, Ownership>();
  readonly #unmounts = new Map<ChannelId, (() => void)[]>();
  /** Why a connection is not up, for the status. */
  readonly faults = new Map<ChannelId, string>();
  /** Where connections that say so stand. */
  readonly standings = new Map<ChannelId, ConnectionState>();

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  get(id: ChannelId): Channel | undefined {
    return this.#open.get(id);
  }

  /** Never throws: a connection that cannot be opened is told of and tried again later, and the others go on. */
  async open(id: ChannelId, config: ChannelConfig): Promise<void> {
    const { gateway, shared, clock, log } = this.#parts;
    if (config.off) return;
    this.#retries.get(id)?.cancel();
    try {
      const kind = await this.#parts.kind(config.kind);
      if (!kind) throw new Error(`there is no channel kind ${config.kind}`);
      const isSingle = shared !== undefined && kind.single(config.settings);
      const isOthers = (): boolean => isSingle && this.#owned.get(id)?.held !== true;
      if (isSingle && !this.#owned.has(id)) return await this.#ownWhole(id, config);
      if (isOthers()) return;
      if (config.was !== undefined) await this.#rename(config.was, id);
      this.faults.delete(id);
      const channel = await kind.open(config.settings, await this.#host(id));
      if (isOthers()) return await closeChannel(channel, { clock, log: log.with({ channel: id }) });
      this.#open.set(id, channel);
      if (!shared || isSingle) return await gateway.opened(id, channel);
      // What is shown, how fast it may go and what stands in the chats only a process that does all of it can know.
      await this.#own(id, { won: () => gateway.opened(id, channel), lost: () => gateway.closed(id) });
    } catch (err) {
      this.faults.set(id, asError(err).message);
      this.standings.delete(id); // it may have said that it begins
      log.error({ channel: id, err, againMs: RETRY_MS }, "a connection could not be opened");
      this.#unmount(id);
      this.#retries.set(
        id,
        clock.after(RETRY_MS, () => void this.open(id, config)),
      );
    }
  }

  /** Tries to be a connection that only one process may be, now and later. */
  async #ownWhole(id: ChannelId, config: ChannelConfig): Promise<void> {
    const elsewhere = (): void =>
      this.#stands(id, { is: "elsewhere" }, this.#parts.log.with({ channel: id }));
    elsewhere();
    if (!isChannels(this.#parts.shared?.role ?? "all")) return;
    await this.#own(id, {
      won: () => {
        this.standings.delete(id);
        return this.open(id, config);
      },
      lost: async () => {
        await this.#shut(id);
        elsewhere();
      },
    });
  }

  async #own(
    id: ChannelId,
    by: { readonly won: () => Promise<void>; readonly lost: () => Promise<void> },
  ): Promise<void> {
    const { database, owner, clock } = this.#parts;
    const log = this.#parts.log.with({ channel: id });
    const take = (ms: number): Promise<Lease | undefined> =>
      takeLease(database, leaseOf(id), { owner, clock }, ms, async () => {});
    const ownership = new Ownership({ take, ...by, clock, log });
    this.#owned.set(id, ownership);
    await ownership.begin();
  }

  async close(id: ChannelId): Promise<void> {
    const ownership = this.#owned.get(id);
    const shut = (): Promise<void> => this.#shut(id);
    await (ownership ? ownership.end(shut) : shut());
    this.#owned.delete(id);
  }

  async #shut(id: ChannelId): Promise<void> {
    const { gateway, clock, log } = this.#parts;
    this.#retries.get(id)?.cancel();
    const channel = this.#open.get(id);
    this.#open.delete(id);
    // Commands of the last batch that it takes in are still answered in its words.
    if (channel) await closeChannel(channel, { clock, log: log.with({ channel: id }) });
    await gateway.closed(id);
    this.#unmount(id);
    this.standings.delete(id);
  }

  /** Every connection that the operator has named, and where it stands. */
  list(channels: ReadonlyMap<ChannelId, ChannelConfig>): readonly ConnectionShown[] {
    const now = this.#parts.clock.now();
    return [...channels].map(([id, { kind, off }]) => {
      const shown = { id, kind, pairs: this.get(id)?.pair !== undefined };
      if (off) return { ...shown, is: "off", words: `off: set ${off.set.join(", ")}` };
      const fault = this.faults.get(id);
      const why = fault === undefined ? undefined : ({ is: "stopped", why: fault } as const);
      const isHere = this.#open.has(id) || !this.#parts.shared;
      const state = this.standings.get(id) ?? why ?? ({ is: isHere ? "open" : "elsewhere" } as const);
      return { ...shown, is: state.is, words: standingWords(state, now) };
    });
  }

  /** Told in the log when it changes: the same state with another time is no news. */
  #stands(id: ChannelId, state: ConnectionState, log: Log): void {
    const before = this.standings.get(id);
    this.standings.set(id, state);
    if (before?.is === state.is) return;
    const words = standingWords(state, this.#parts.clock.now());
    if (state.is === "stopped" || state.is === "unpaired") log.warn({}, `the connection is ${words}`);
    else log.info({}, `the connection: ${words}`);
  }

  /** What could not be opened is not tried again, and what others give up not taken: the process ends. */
  stopTrying(): void {
    for (const retry of this.#retries.values()) retry.cancel();
    for (const ownership of this.#owned.values()) ownership.takeNoMore();
  }

  /** Others may be the connections of this process now that the gateway has closed them. Never rejects. */
  async release(): Promise<void> {
    const { clock, log } = this.#parts;
    await Promise.all(
      [...this.#owned].map(async ([id, ownership]) => {
        // The gateway knows nothing of one that another process speaks for.
        const channel = ownership.held ? undefined : this.#open.get(id);
        if (channel) await closeChannel(channel, { clock, log: log.with({ channel: id }) });
        await ownership.end();
      }),
    );
  }

  #unmount(id: ChannelId): void {
    for (const unmount of this.#unmounts.get(id) ?? []) unmount();
    this.#unmounts.delete(id);
  }

  async #host(id: ChannelId): Promise<ChannelHost> {
    const { gateway, database, blobs, studio, http, clock, owner } = this.#parts;
    const log = this.#parts.log.with({ channel: id });
    const stateDir = join(this.#parts.dataFolder, "channels", id);
    await mkdir(stateDir, { recursive: true, mode: 0o700 });
    const unmounts: (() => void)[] = [];
    this.#unmounts.set(id, unmounts);
    return {
      id,
      stateDir,
      log,
      clock,
      accept: (events) => gateway.accept(id, events),
      commands: (language) => gateway.commands(id, language),
      state: channelState(database, id, { owner, clock }),
      journal: () => openJournal(join(stateDir, "journal.db")),
      blobs,
      studio,
      http: {
        origin: http.origin,
        loopback: http.loopback,
        mount: (path, handler, options) => {
          const unmount = http.mount(path, handler, options);
          unmounts.push(unmount);
          return unmount;
        },
      },
      failed: (error) => {
        this.faults.set(id, error.message);
        log.error({ err: error }, "the connection cannot go on by itself");
      },
      recovered: () => {
        if (this.faults.delete(id)) log.info({}, "the connection is well again");
      },
      stands: (state) => this.#stands(id, state, log),
    };
  }

  async #rename(was: ChannelId, id: ChannelId): Promise<void> {
    const { database, dataFolder, owner, clock } = this.#parts;
    const folder = (name: ChannelId): string => join(dataFolder, "channels", name);
    const lease = await takeLease(database, leaseOf(was), { owner, clock }, LEASE_MS, async () => {});
    if (!lease)
      throw new Error(`another process goes by its old name, ${was}, until that reads perch.yaml anew`);
    try {
      await renameChannel(database, was, id);
      await rename(folder(was), folder(id)).catch(() => {}); // there is none, or it was renamed at an earlier start
    } finally {
      await lease.release();
    }
  }
}
