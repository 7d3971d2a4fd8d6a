import type { BlobRef, MediaBlock } from "./blocks.ts";
import type { Clock } from "./clock.ts";
import type { InboundEvent } from "./events.ts";
import type { ChannelId } from "./identity.ts";
import type { Log } from "./log.ts";
import type { Language } from "./sentences.ts";
import type { ConnectionState } from "./standing.ts";

/** What `backup` and `restore` are handed; the connection is not open meanwhile in this process. */
export type KeepsakeHost = Pick<ChannelHost, "id" | "state" | "clock" | "log">;

/** What the gateway hands to a channel. */
export type ChannelHost = {
  readonly id: ChannelId;
  /** A private folder (0700) of this connection's own. */
  readonly stateDir: string;
  readonly log: Log;
  readonly clock: Clock;
  /**
   * Committed when it resolves; if it throws, do not acknowledge. Gives what a person who pressed a button is to be shown at
   * once, by the event's id.
   */
  accept(events: readonly InboundEvent[]): Promise<ReadonlyMap<string, string>>;
  /** What people can ask for with "/", for platforms that list it; in the order they should stand. */
  commands(language: Language): readonly CommandWords[];
  readonly state: ChannelState;
  /** Opens the journal; once at a time. */
  journal(): Journal;
  readonly blobs: BlobReader;
  readonly studio: Studio;
  readonly http: HttpMount;
  /** The connection cannot go on by itself: said in the status, never fatal to the process. */
  failed(error: Error): void;
  /** What `failed` told is over. */
  recovered(): void;
  /** Where the connection stands now, for the status, the page and the terminal; a channel without a standing of its own is silent. */
  stands(state: ConnectionState): void;
};

/** `name` without the "/"; `where` says in which chats it makes sense. */
export type CommandWords = {
  readonly name: string;
  readonly about: string;
  readonly where: "everywhere" | "private";
};

/** Durable values of one connection. A batch is one transaction. Keys sort as UTF-8. */
export type ChannelState = {
  get(keys: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** `undefined` deletes. From `until` (epoch ms) on the entries may be forgotten; without it they stay. */
  set(
    entries: Readonly<Record<string, string | undefined>>,
    options?: { readonly until?: number },
  ): Promise<void>;
  /** In key order, at most `limit`, after `after`. */
  list(
    prefix: string,
    options: { after?: string; limit: number },
  ): Promise<readonly (readonly [string, string])[]>;
  /**
   * The right to be this connection, for `ms`; undefined while another process has it. The holder of before cannot write
   * any more, however late it wakes.
   */
  lease(ms: number): Promise<Lease | undefined>;
};

export type Lease = {
  /** One more than the holder before had. */
  readonly epoch: number;
  /** As `ChannelState.set`, if the lease still holds: both in one transaction. @throws GatewayError "store.hold_lost". */
  set: ChannelState["set"];
  /** For `ms` from now. @throws GatewayError "store.hold_lost" where somebody else has taken it. */
  renew(ms: number): Promise<void>;
  /** Others may have it at once. */
  release(): Promise<void>;
};

/**
 * A small store of this connection's own on this machine, written synchronously: for what must be on the disk before a
 * library goes on. Keys sort as UTF-8.
 */
export type Journal = {
  /** One transaction, on the disk when it returns; `undefined` deletes. @throws GatewayError "store.unavailable". */
  write(entries: Readonly<Record<string, Uint8Array | undefined>>): void;
  read(key: string): Uint8Array | undefined;
  /** In key order. */
  list(prefix: string): readonly (readonly [string, Uint8Array])[];
  close(): void;
};

/** Makes the small pictures and curves that a platform wants beside a file. Never rejects: undefined where it cannot. */
export type Studio = {
  /** A JPEG of a picture or of a video's beginning, its longest side at most so many pixels; with the sides of the original. */
  thumbnail(media: MediaBlock, side: number): Promise<Thumbnail | undefined>;
  /** How loud a recording is, in so many steps of 0–100, the loudest 100; silence is 0 throughout. */
  waveform(media: MediaBlock, steps: number): Promise<Waveform | undefined>;
};

export type Thumbnail = {
  readonly jpeg: Uint8Array;
  /** Pixels of the original. */
  readonly width: number;
  readonly height: number;
  /** How long a video is, where it says so. */
  readonly seconds?: number;
};

export type Waveform = { readonly levels: Uint8Array; readonly seconds: number };

export type BlobReader = {
  /** @throws GatewayError "blob.missing". */
  open(ref: BlobRef): AsyncIterable<Uint8Array>;
};

export type HttpMount = {
  /** Where people and platforms reach the mounted paths: "http://127.0.0.1:7373". */
  readonly origin: string;
  /** Whether only this machine can reach it. */
  readonly loopback: boolean;
  /** Every request under `path` goes to the handler until it is unmounted; a second mount of a path is an error. */
  mount(path: string, handler: HttpHandler, options?: MountOptions): () => void;
};

export type HttpHandler = (request: Request) => Promise<Response>;

export type MountOptions = {
  /**
   * The handler itself tells who may come in: neither the password nor the guards against other sites' pages, names of
   * hosts among them, stand before it. For platforms that show a secret.
   */
  readonly ownDoor: true;
};
