import {
  type CacheStore,
  makeCacheableSignalKeyStore,
  type UserFacingSocketConfig,
  type WAVersion,
} from "@whiskeysockets/baileys";
import type { Clock } from "../../../../src/core/clock.ts";
import type { WhatsAppSettings } from "../../settings.ts";
import type { AuthState } from "../keys/auth-state.ts";
import { Cache } from "./cache.ts";
import type { Ways } from "./ways.ts";

/** A query holds all sends of the account until it is answered; Baileys would wait a minute for a lost one. */
const QUERY_MS = 20_000;
const KEYS_MS = 300_000;
const MOST_KEYS = 20_000;

/** What one socket hands on to the next. */
export type Caches = {
  readonly msgRetryCounterCache: CacheStore;
  readonly userDevicesCache: CacheStore;
  readonly callOfferCache: CacheStore;
  readonly placeholderResendCache: CacheStore;
};

/** Baileys makes its own for each socket, and with a new one a message could be asked for anew without end. */
export function newCaches(clock: Clock): Caches {
  return {
    msgRetryCounterCache: new Cache(clock, { keepMs: 3_600_000, most: 5_000 }),
    userDevicesCache: new Cache(clock, { keepMs: 300_000, most: 5_000 }),
    callOfferCache: new Cache(clock, { keepMs: 300_000, most: 500 }),
    placeholderResendCache: new Cache(clock, { keepMs: 3_600_000, most: 5_000 }),
  };
}

export type SocketParts = Pick<
  UserFacingSocketConfig,
  "getMessage" | "cachedGroupMetadata" | "makeSignalRepository"
> & {
  readonly settings: Pick<WhatsAppSettings, "version" | "device">;
  /** Undefined for WhatsApp's own. */
  readonly address: string | undefined;
  readonly ways: Ways;
  readonly caches: Caches;
  readonly logger: NonNullable<UserFacingSocketConfig["logger"]>;
  readonly clock: Clock;
};

/** How the socket of an account is set up; where nothing is said, as Baileys does it. */
export function socketConfig(parts: SocketParts, auth: AuthState): UserFacingSocketConfig {
  const { settings, address, ways, caches, logger, clock } = parts;
  const { getMessage, cachedGroupMetadata, makeSignalRepository } = parts;
  // It fills the cache before the store: where a write fails, the cache must go with the socket.
  const cache = new Cache(clock, { keepMs: KEYS_MS, most: MOST_KEYS });
  const keys = makeCacheableSignalKeyStore(auth.keys(), logger, cache);
  return {
    auth: { creds: auth.creds, keys },
    ...(settings.version === undefined ? {} : { version: versionOf(settings.version) }),
    ...(address === undefined ? {} : { waWebSocketUrl: address }),
    // The first stands under Linked devices; the second must be a browser that WhatsApp knows.
    browser: [settings.device, "Chrome", "131.0"],
    // Else the phone would stop to ring for new messages.
    markOnlineOnConnect: false,
    syncFullHistory: false,
    // With the library for previews installed, it would fetch whatever address an agent writes.
    generateHighQualityLinkPreview: false,
    defaultQueryTimeoutMs: QUERY_MS,
    agent: ways.agent as never, // typed as an https.Agent; ws takes any agent
    fetchAgent: ways.fetchAgent as never,
    options: { dispatcher: ways.dispatcher } as RequestInit, // Node's fetch knows it, its type in lib.dom does not
    logger,
    ...caches,
    ...(getMessage ? { getMessage } : {}),
    ...(cachedGroupMetadata ? { cachedGroupMetadata } : {}),
    ...(makeSignalRepository ? { makeSignalRepository } : {}),
  };
}

function versionOf(version: string): WAVersion {
  return version.split(".").map(Number) as WAVersion; // the settings have seen to it that they are three
}
