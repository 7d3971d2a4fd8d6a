import type { WASocket } from "@whiskeysockets/baileys";
import type { PairingStep, PairingWish } from "../../../../src/core/channel.ts";
import type { ChannelHost, Lease } from "../../../../src/core/host.ts";
import { pause } from "../../../../src/core/clock.ts";
import { asError, GatewayError, hasCode } from "../../../../src/core/errors.ts";
import type { AuthState } from "../keys/auth-state.ts";
import { Aftermath } from "./aftermath.ts";
import { Connection, type Ended } from "./connection.ts";
import { plain } from "../people/jids.ts";
import { Hold } from "./lease.ts";
import type { Account, Hearing, Me } from "../line.ts";
import { Pairing } from "./pairing.ts";
import { Standing } from "./standing.ts";

/** How often another process is asked for this account. */
const ASK_LEASE_MS = 5_000;
const STORE_AGAIN_MS = 5_000;

export type LifeParts = {
  readonly host: ChannelHost;
  /** As Math.random. */
  readonly random: () => number;
  /** The account's keys, written under this lease alone. @throws GatewayError "data.unusable" where they cannot be read. */
  readonly openState: (lease: Lease, fatal: (error: Error) => void) => Promise<AuthState>;
  readonly makeSocket: (auth: AuthState) => WASocket;
  /** Before each connection of a linked account: it may be another one than before. @throws GatewayError "store.unavailable". */
  readonly connects: (me: Me) => Promise<void>;
};

/**
 * One account from the opening of its channel to its close: one lease, one set of keys and at most one socket at a time.
 * Connects whenever the account is linked and WhatsApp lets it; links it when a person asks.
 */
export class Life {
  readonly account: Account;
  readonly #parts: LifeParts;
  readonly #standing: Standing;
  readonly #aftermath: Aftermath;
  readonly #closing = new AbortController();
  #hearings: readonly Hearing[] = [];
  #running: Promise<void> | undefined;
  #auth: AuthState | undefined;
  #connection: Connection | undefined;
  #generation = 0;
  #pairing: Pairing | undefined;
  /** Why it is not linked, and that linking another account is the way on from where it stopped. */
  #unlinked: string;
  #mayRelink = false;
  #stir: () => void = () => {};

  constructor(parts: LifeParts) {
    this.#parts = parts;
    const { host, random } = parts;
    this.#standing = new Standing(host);
    this.#aftermath = new Aftermath(host, random);
    this.#unlinked = notLinked(host.id);
    this.account = {
      line: () => (this.#connection?.isOpen ? this.#connection.line : undefined),
      me: () => (this.#auth?.paired() ? meIn(this.#auth) : undefined),
    };
  }

  /** Each of `hearings` hears every socket, from before it connects. */
  start(hearings: readonly Hearing[]): void {
    this.#hearings = hearings;
    this.#running = this.#run();
  }

  /** Links the account while somebody looks on; see `Channel.pair`. */
  pair(wish: PairingWish, signal: AbortSignal): AsyncIterable<PairingStep> {
    const pairing = new Pairing(wish, signal, this.#parts.host.clock);
    if (pairing.ended.aborted) return pairing;
    if (this.#auth === undefined)
      pairing.failed("this connection cannot be linked now: its keys are not open; look at the status");
    else if (this.#auth.paired() && !this.#mayRelink)
      pairing.failed(
        "this connection is linked already; to link another account, first log it out on the phone, under Settings, Linked devices",
      );
    else {
      this.#pairing?.failed("another linking was begun in its place");
      this.#pairing = pairing;
      pairing.onShown = (until) => this.#standing.pairing(until);
      this.#stir();
    }
    return pairing;
  }

  /** Ends the connection and gives the account back; it stays linked. Never throws. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the channel is closed"));
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      let hold: Hold | undefined;
      let failure: Error | undefined;
      try {
        hold = await Hold.take(this.#parts.host);
        if (hold) await this.#under(hold);
      } catch (thrown) {
        failure = asError(thrown);
      }
      this.#pairing?.failed("this connection has ended; look at the status and begin again");
      this.#pairing = undefined;
      this.#auth = undefined;
      await hold?.release();
      if (failure) await this.#failed(failure);
      else if (!hold) await this.#leaseTaken();
    }
  }

  /** While the lease holds and the keys can be written. @throws Error that ended either. */
  async #under(hold: Hold): Promise<void> {
    const giveUp = (): void => hold.end(asError(this.#closing.signal.reason));
    this.#closing.signal.addEventListener("abort", giveUp, { once: true });
    if (this.#closing.signal.aborted) giveUp();
    try {
      const auth = await this.#parts.openState(hold.lease, (error) => hold.end(error));
      this.#auth = auth;
      while (!hold.over.aborted) await this.#once(auth, hold);
    } finally {
      this.#closing.signal.removeEventListener("abort", giveUp);
    }
    if (!this.#closing.signal.aborted) throw asError(hold.over.reason);
  }

  /** One connection, or the wait for somebody who links the account. */
  async #once(auth: AuthState, hold: Hold): Promise<void> {
    if (!auth.paired()) {
      this.#standing.unpaired(this.#unlinked);
      await this.#asked(hold);
      if (hold.over.aborted) return;
    }
    const me = this.account.me();
    if (me) await this.#parts.connects(me);
    const pairing = this.#pairing;
    if (!pairing) this.#standing.connecting();
    const ended = await this.#connect(auth, hold, pairing);
    if (hold.over.aborted) {
      // Where the lease is lost, neither is written.
      const last = pairing && !pairing.agreed ? auth.discard("abandoned") : auth.save();
      await last.catch(() => {});
      return;
    }
    if (pairing && !pairing.agreed) {
      pairing.closed(ended.close);
      await auth.discard("abandoned");
      return;
    }
    // The next connection logs in with what the last one was told.
    await auth.save();
    await this.#afterwards(ended, auth, hold);
  }

  async #connect(auth: AuthState, hold: Hold, pairing: Pairing | undefined): Promise<Ended> {
    const { host, makeSocket } = this.#parts;
    const hearings = this.#hearings;
    this.#generation += 1;
    const connection = new Connection({
      makeSocket: () => makeSocket(auth),
      generation: this.#generation,
      hearings: pairing ? [...hearings, pairing.hear] : hearings,
      clock: host.clock,
      changed: () => void auth.save().catch((thrown: unknown) => hold.end(asError(thrown))),
      opened: () => this.#opened(),
    });
    this.#connection = connection;
    const end = (): void => void connection.end();
    const calledOff = (): void => {
      if (!pairing?.agreed) end();
    };
    hold.over.addEventListener("abort", end, { once: true });
    pairing?.ended.addEventListener("abort", calledOff, { once: true });
    if (hold.over.aborted) end();
    else if (pairing?.ended.aborted) calledOff();
    try {
      return await connection.ended;
    } finally {
      hold.over.removeEventListener("abort", end);
      pairing?.ended.removeEventListener("abort", calledOff);
      this.#connection = undefined;
    }
  }

  #opened(): void {
    this.#aftermath.opened();
    this.#unlinked = notLinked(this.#parts.host.id);
    this.#standing.open();
    this.#pairing?.linked();
    this.#pairing = undefined;
  }

  /** What the end of a connection asks for: returns when the next one may begin. */
  async #afterwards(ended: Ended, auth: AuthState, hold: Hold): Promise<void> {
    const { host } = this.#parts;
    const next = this.#aftermath.of(ended, { justLinked: this.#pairing?.agreed ?? false });
    if (next.fault) this.#standing.fault(next.fault);
    switch (next.act) {
      case "connect":
        if (next.waitMs === 0) return;
        this.#standing.waiting(next.waitMs, next.why);
        host.log.debug({ waitMs: next.waitMs, why: next.why }, "connected again after a wait");
        await pause(host.clock, next.waitMs, hold.over);
        if (!hold.over.aborted && next.onlyIfOurs) await hold.renew();
        return;
      case "link":
        this.#pairing?.failed(next.why);
        this.#pairing = undefined;
        this.#unlinked = next.why;
        await auth.discard("unpaired");
        return;
      case "stop":
        this.#pairing?.failed(next.why);
        this.#pairing = undefined;
        this.#standing.stopped(new GatewayError("channel.refused", next.why));
        this.#mayRelink = next.mayRelink;
        await this.#asked(hold);
        this.#mayRelink = false;
        if (!hold.over.aborted) await auth.discard("unpaired");
    }
  }

  /** Resolves when somebody wants to link the account, or when the lease is over. */
  async #asked(hold: Hold): Promise<void> {
    const isAsked = (): boolean => this.#pairing !== undefined && !this.#pairing.ended.aborted;
    while (!isAsked() && !hold.over.aborted)
      await new Promise<void>((resolve) => {
        this.#stir = () => {
          hold.over.removeEventListener("abort", this.#stir);
          resolve();
        };
        hold.over.addEventListener("abort", this.#stir, { once: true });
      });
  }

  async #leaseTaken(): Promise<void> {
    const { clock } = this.#parts.host;
    this.#standing.waiting(
      ASK_LEASE_MS,
      "another process of this gateway is this account; it is taken over when that ends",
    );
    await pause(clock, ASK_LEASE_MS, this.#closing.signal);
  }

  /** The lease was lost, the store is away, or the keys are no good. Returns when it may be tried again. */
  async #failed(error: Error): Promise<void> {
    const { clock, log } = this.#parts.host;
    if (hasCode(error, "data.unusable") || hasCode(error, "config.invalid")) {
      this.#standing.stopped(error);
      await new Promise<void>((resolve) => {
        if (this.#closing.signal.aborted) resolve();
        else this.#closing.signal.addEventListener("abort", () => resolve(), { once: true });
      });
      return;
    }
    const isLost = hasCode(error, "store.hold_lost");
    const why = isLost
      ? "another process of this gateway has taken this account over"
      : "the account's keys could not be read or written";
    log.warn({ err: error }, "the connection is given up for a moment");
    this.#standing.waiting(STORE_AGAIN_MS, why);
    if (!isLost) this.#standing.fault(new GatewayError("channel.unreachable", why, { cause: error }));
    await pause(clock, STORE_AGAIN_MS, this.#closing.signal);
  }
}

function notLinked(id: string): string {
  return `no account is linked; run perch pair ${id}, or open the page and link it there`;
}

function meIn({ creds }: AuthState): Me | undefined {
  if (creds.me === undefined) return undefined;
  const lid = plain(creds.me.lid);
  return { pn: plain(creds.me.id), ...(lid === "" ? {} : { lid }) };
}
