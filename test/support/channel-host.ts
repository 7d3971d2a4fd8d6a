import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BlobRef } from "../../src/core/blocks.ts";
import type { ConnectionState } from "../../src/core/standing.ts";
import type { CommandWords, ChannelHost, ChannelState, Journal, Studio } from "../../src/core/host.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { InboundEvent } from "../../src/core/events.ts";
import type { Log, LogFields } from "../../src/core/log.ts";
import type { Language } from "../../src/core/sentences.ts";
import { type HttpServer, startHttp } from "../../src/http/server.ts";

/** What a channel is handed, with everything in memory but its folder and its web server. */
export type TestHost = {
  readonly host: ChannelHost;
  readonly http: HttpServer;
  /** What was committed, in order; a repeat with the same payload is in it once. */
  readonly accepted: InboundEvent[];
  /** What `host.failed` was called with. */
  readonly failures: Error[];
  /** How many failures there had been, each time `host.recovered` was called. */
  readonly recoveries: number[];
  readonly logged: LoggedLine[];
  /** What `host.stands` was called with. */
  readonly states: ConnectionState[];
  /** How often `accept` was called, failures included. */
  readonly accepts: () => number;
  /** From now on `accept` throws this and commits nothing; undefined mends it. */
  refuse(error: Error | undefined): void;
  /** Called before an event is committed: throw or wait in it to stand in for a crash or a slow store. */
  beforeAccept(call: ((event: InboundEvent) => void | Promise<void>) | undefined): void;
  /** Called after an event was committed; an error of it reaches the channel. */
  afterAccept(call: ((event: InboundEvent) => void | Promise<void>) | undefined): void;
  /** Resolves when `count` events have been accepted. */
  whenAccepted(count: number): Promise<readonly InboundEvent[]>;
  putBlob(bytes: Uint8Array): BlobRef;
  close(): Promise<void>;
};

export type LoggedLine = {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly fields: LogFields;
  readonly sentence: string;
};

export type TestHostOptions = {
  readonly id?: string;
  readonly clock?: Clock;
  /** Those of an earlier host, to open a channel again as after a restart. */
  readonly state?: ChannelState;
  readonly journal?: Journal;
  readonly studio?: Studio;
  readonly stateDir?: string;
  /** What pressed buttons are answered with at once. */
  readonly answers?: (events: readonly InboundEvent[]) => ReadonlyMap<string, string>;
  readonly commands?: (language: Language) => readonly CommandWords[];
};

export async function testHost(options: TestHostOptions = {}): Promise<TestHost> {
  const stateDir = options.stateDir ?? (await mkdtemp(join(tmpdir(), "perch-channel-")));
  const logged: LoggedLine[] = [];
  const log = memoryLog(logged);
  const http = await startHttp({ host: "127.0.0.1", port: 0, log, health: () => ({ ok: true }) });
  const blobs = new Map<BlobRef, Uint8Array>();
  const accepted: InboundEvent[] = [];
  const payloads = new Set<string>();
  const failures: Error[] = [];
  const recoveries: number[] = [];
  const states: ConnectionState[] = [];
  const waiting = new Set<() => void>();
  let accepts = 0;
  let refusal: Error | undefined;
  let before: ((event: InboundEvent) => void | Promise<void>) | undefined;
  let after: ((event: InboundEvent) => void | Promise<void>) | undefined;

  const host: ChannelHost = {
    id: options.id ?? "test",
    stateDir,
    log,
    clock: options.clock ?? systemClock,
    async accept(events) {
      accepts += 1;
      if (refusal) throw refusal;
      for (const event of events) await before?.(event);
      for (const event of events) {
        const payload = JSON.stringify(event);
        if (payloads.has(payload)) continue;
        payloads.add(payload);
        accepted.push(event);
      }
      for (const look of waiting) look();
      for (const event of events) await after?.(event);
      return options.answers?.(events) ?? new Map();
    },
    commands: (language) => options.commands?.(language) ?? [],
    state: options.state ?? memoryState(),
    journal: () => options.journal ?? memoryJournal(),
    studio: options.studio ?? NO_STUDIO,
    blobs: {
      async *open(ref) {
        const bytes = blobs.get(ref);
        if (!bytes) throw new GatewayError("blob.missing", `no blob ${ref}`);
        for (let at = 0; at < bytes.length; at += 64 * 1024) yield bytes.subarray(at, at + 64 * 1024);
      },
    },
    http,
    failed: (error) => void failures.push(error),
    recovered: () => void recoveries.push(failures.length),
    stands: (state) => void states.push(state),
  };

  return {
    host,
    http,
    accepted,
    failures,
    recoveries,
    logged,
    states,
    accepts: () => accepts,
    refuse: (error) => (refusal = error),
    beforeAccept: (call) => (before = call),
    afterAccept: (call) => (after = call),
    whenAccepted: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (accepted.length < count) return;
          waiting.delete(look);
          resolve(accepted);
        };
        waiting.add(look);
        look();
      }),
    putBlob(bytes) {
      const ref: BlobRef = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
      blobs.set(ref, bytes);
      return ref;
    },
    async close() {
      await http.close();
      if (options.stateDir === undefined) await rm(stateDir, { recursive: true, force: true });
    },
  };
}

/** A host without a workshop: files go without small pictures and curves. */
export const NO_STUDIO: Studio = { thumbnail: async () => undefined, waveform: async () => undefined };

export function memoryJournal(): Journal {
  const values = new Map<string, Uint8Array>();
  return {
    write(entries) {
      for (const [key, value] of Object.entries(entries))
        if (value === undefined) values.delete(key);
        else values.set(key, value);
    },
    read: (key) => values.get(key),
    list: (prefix) =>
      [...values].filter(([key]) => key.startsWith(prefix)).toSorted(([a], [b]) => byUtf8(a, b)),
    close: () => {},
  };
}

/** Expiry is left out: what may be forgotten stays. */
export function memoryState(): ChannelState {
  const values = new Map<string, string>();
  let epoch = 0;
  return {
    async lease() {
      const own = ++epoch;
      const check = (): void => {
        if (own !== epoch) throw new GatewayError("store.hold_lost", "another holder has the lease");
      };
      return {
        epoch: own,
        set: async (entries) => {
          check();
          await this.set(entries);
        },
        renew: async () => check(),
        release: async () => {},
      };
    },
    get: async (keys) =>
      new Map(keys.flatMap((key) => (values.has(key) ? [[key, values.get(key) ?? ""]] : []))),
    async set(entries) {
      for (const [key, value] of Object.entries(entries))
        if (value === undefined) values.delete(key);
        else values.set(key, value);
    },
    list: async (prefix, { after, limit }) =>
      [...values]
        .filter(([key]) => key.startsWith(prefix) && (after === undefined || byUtf8(key, after) > 0))
        .toSorted(([a], [b]) => byUtf8(a, b))
        .slice(0, limit),
  };
}

export function memoryLog(lines: LoggedLine[], fields: LogFields = {}): Log {
  const write =
    (level: LoggedLine["level"]) =>
    (more: LogFields, sentence: string): void =>
      void lines.push({ level, fields: { ...fields, ...more }, sentence });
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    with: (more) => memoryLog(lines, { ...fields, ...more }),
  };
}

function byUtf8(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
