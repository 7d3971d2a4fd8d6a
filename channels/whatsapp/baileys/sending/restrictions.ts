import {
  type ConnectionState,
  type NewChatMessageCapInfo,
  NewChatMessageCappingStatusType,
} from "@whiskeysockets/baileys";
import type { ChannelHost } from "../../../../src/core/host.ts";
import { asError, GatewayError } from "../../../../src/core/errors.ts";
import type { Hearing, Line } from "../line.ts";
import { saidKey } from "../reading/said.ts";

/** Longer than that nothing is held back: it is refused, and whoever waits is told. */
const LONGEST_HOLD_MS = 24 * 3_600_000;
/** How long a person is left alone who may not be written to, unless they write. */
const ALONE_MS = 3_600_000;
/** A lock of which WhatsApp does not say how long it lasts; WhatsApp Web does the same. */
const UNKNOWN_END_MS = 60_000;

/** A reach-out lock, or the quota of new chats: the one is lifted while the other holds. */
type Kind = "lock" | "quota";

/**
 * What WhatsApp has forbidden this account for a time: to write to people who have not written to it (a reach-out lock, or
 * the month's quota of new chats is used up), or to write to one person. To try it all the same makes it worse.
 */
export class Restrictions {
  readonly #host: Pick<ChannelHost, "clock" | "log" | "state">;
  /** Epoch ms; 0 where it is not in force. */
  readonly #until: Record<Kind, number> = { lock: 0, quota: 0 };
  /** Who is left alone, by chat, until when (epoch ms). */
  readonly #alone = new Map<string, number>();

  constructor(host: Pick<ChannelHost, "clock" | "log" | "state">) {
    this.#host = host;
  }

  /** Reads what an earlier process was told. */
  async load(): Promise<void> {
    const told = await this.#host.state.get([entryOf("lock"), entryOf("quota")]);
    for (const kind of ["lock", "quota"] as const) this.#until[kind] = Number(told.get(entryOf(kind)) ?? 0);
    for (const [entry, until] of await this.#host.state.list(ALONE, { limit: MOST_ALONE }))
      this.#alone.set(entry.slice(ALONE.length), Number(until));
  }

  readonly hear: Hearing = ({ socket }) => {
    const onUpdate = ({ reachoutTimeLock: lock }: Partial<ConnectionState>): void => {
      if (!lock) return;
      const { isActive, timeEnforcementEnds: end } = lock;
      const until = end?.getTime() ?? this.#host.clock.now() + UNKNOWN_END_MS;
      this.#holds("lock", isActive === true ? until : 0);
    };
    const onCap = ({ capping_status: status, cycle_end_timestamp: seconds }: NewChatMessageCapInfo): void => {
      if (status === undefined) return;
      const isCapped = status === NewChatMessageCappingStatusType.CAPPED;
      this.#holds("quota", isCapped ? Number(seconds ?? 0) * 1_000 : 0);
    };
    socket.ev.on("connection.update", onUpdate);
    socket.ev.on("message-capping.update", onCap);
    return () => {
      socket.ev.off("connection.update", onUpdate);
      socket.ev.off("message-capping.update", onCap);
    };
  };

  /** @throws GatewayError "send.rate_limited" or "send.refused" where nothing may be sent to this person now. */
  async check(chat: string): Promise<void> {
    const now = this.#host.clock.now();
    if ((this.#alone.get(chat) ?? 0) > now)
      throw new GatewayError(
        "send.refused",
        "WhatsApp lets this account not write to this person, who was asked in vain within the last hour; let them write first",
      );
    const until = Math.max(...Object.values(this.#until));
    const waitMs = until - now;
    if (waitMs <= 0 || (await this.#hasWritten(chat))) return;
    const words = `WhatsApp has restricted this account until ${new Date(until).toISOString()}: nobody is written to who has not written first`;
    if (waitMs > LONGEST_HOLD_MS) throw new GatewayError("send.refused", words);
    throw new GatewayError("send.rate_limited", words, { retryAfterMs: waitMs });
  }

  /** WhatsApp has refused to hand something to this person: why is asked, and they are left alone. */
  refused(chat: string, { socket }: Line): void {
    const now = this.#host.clock.now();
    for (const [other, until] of this.#alone) if (until <= now) this.#alone.delete(other);
    this.#alone.set(chat, now + ALONE_MS);
    this.#store({ [ALONE + chat]: String(now + ALONE_MS) }, now + ALONE_MS);
    // The answer is heard as an update.
    socket.fetchAccountReachoutTimelock().catch((thrown: unknown) => {
      this.#host.log.warn({ err: asError(thrown) }, "whether the account is restricted could not be asked");
    });
  }

  forget(): void {
    for (const kind of ["lock", "quota"] as const) this.#until[kind] = 0;
    this.#alone.clear();
  }

  /** Somebody has written in that chat. */
  heard(chat: string): void {
    if (this.#alone.delete(chat)) this.#store({ [ALONE + chat]: undefined });
  }

  /** Whether somebody has said something in that chat lately. */
  async #hasWritten(chat: string): Promise<boolean> {
    return (await this.#host.state.list(saidKey(chat, ""), { limit: 1 })).length > 0;
  }

  #holds(kind: Kind, until: number): void {
    if (until === this.#until[kind]) return;
    this.#until[kind] = until;
    const { log, clock } = this.#host;
    if (until > clock.now())
      log.warn(
        { kind, until: new Date(until).toISOString() },
        "WhatsApp has restricted this account: it may not write to people who have not written to it",
      );
    else log.info({ kind }, "WhatsApp has lifted a restriction of this account");
    this.#store({ [entryOf(kind)]: String(until) }, until);
  }

  #store(entries: Readonly<Record<string, string | undefined>>, until?: number): void {
    const { log, state } = this.#host;
    state.set(entries, until === undefined ? {} : { until }).catch((thrown: unknown) => {
      log.warn({ err: asError(thrown) }, "what WhatsApp has forbidden could not be stored");
    });
  }
}

const ALONE = "restricted/alone/";
/** What a process remembers of the one before. */
const MOST_ALONE = 1_000;

function entryOf(kind: Kind): string {
  return `restricted/${kind}`;
}
