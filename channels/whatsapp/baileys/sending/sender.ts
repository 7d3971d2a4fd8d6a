import { setMaxListeners } from "node:events";
import type { ConnectionState, proto, WAMessage, WAMessageKey } from "@whiskeysockets/baileys";
import type { Attempt, MediaItem, Piece, PlatformId, Progress } from "../../../../src/core/channel.ts";
import type { ChannelHost } from "../../../../src/core/host.ts";
import { pause } from "../../../../src/core/clock.ts";
import { asError, GatewayError } from "../../../../src/core/errors.ts";
import type { ChatAddress } from "../../../../src/core/identity.ts";
import type { WhatsAppSettings } from "../../settings.ts";
import { Acks } from "./acks.ts";
import { reactionOf, revokeOf } from "./compose.ts";
import type { Contacts } from "../people/contacts.ts";
import type { SendParts } from "./contents.ts";
import { type DestinationParts, destinationOf } from "./destination.ts";
import { Disappearing } from "./disappearing.ts";
import { Held } from "./held.ts";
import { isGroup, plain } from "../people/jids.ts";
import { Lane } from "./lane.ts";
import type { Account, Hearing } from "../line.ts";
import { MessageIds } from "./message-ids.ts";
import { Outbox } from "./outbox.ts";
import { Pace } from "./pace.ts";
import { post } from "./post.ts";
import { Presence } from "./presence.ts";
import { nameIn } from "../refs.ts";
import { Restrictions } from "./restrictions.ts";
import type { Said } from "../reading/said.ts";
import type { Seal } from "../keys/seal.ts";
import { send } from "./send.ts";

type SenderParts = {
  readonly account: Account;
  readonly settings: Pick<WhatsAppSettings, "chatSeconds" | "perMinute" | "readReceipts">;
  readonly host: Pick<ChannelHost, "clock" | "log" | "state">;
  readonly seal: Seal;
  readonly contacts: Pick<Contacts, "jidOf" | "keyOf">;
  readonly groups: DestinationParts["groups"];
  readonly said: Pick<Said, "message">;
  readonly upload: (item: MediaItem, signal: AbortSignal) => Promise<proto.IMessage>;
  /** Gives numbers from 0 up to but not including 1. */
  readonly random: () => number;
};

/** A sign of life that comes later says nothing any more. */
const MOST_REACTION_WAIT_MS = 10_000;
/** How long what is on its way may take when the connection is closed, which has 5 s for all of it. */
const CLOSING_MS = 2_000;

/** All that goes out over an account: messages, signs of life, receipts. */
export class Sender {
  readonly #parts: SenderParts;
  readonly #send: SendParts;
  readonly #presence: Presence;
  readonly #disappearing: Disappearing;
  readonly #held: Held;
  readonly #closing = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();

  private constructor(parts: SenderParts, ids: MessageIds, restrictions: Restrictions) {
    const { host, account, settings, contacts } = parts;
    const { clock } = host;
    // As many sends listen as chats are answered at once; Node would warn of a leak at eleven.
    setMaxListeners(0, this.#closing.signal);
    this.#parts = parts;
    this.#held = new Held(clock);
    this.#presence = new Presence(() => account.line(), clock);
    this.#disappearing = new Disappearing(host, (jid) => (isGroup(jid) ? undefined : contacts.keyOf(jid)));
    this.#send = {
      ...parts,
      ids,
      restrictions,
      outbox: new Outbox({ state: host.state, seal: parts.seal, clock }),
      acks: new Acks(clock),
      lane: new Lane(clock),
      pace: new Pace(settings, clock, parts.random),
      disappearing: this.#disappearing,
    };
  }

  /** @throws GatewayError "store.unavailable", or "data.unusable" where it was sealed with another key. */
  static async open(parts: SenderParts): Promise<Sender> {
    const { host, seal } = parts;
    const restrictions = new Restrictions(host);
    await restrictions.load();
    return new Sender(parts, await MessageIds.load(host.state, seal), restrictions);
  }

  readonly hear: Hearing = (line) => {
    const { acks, restrictions, pace } = this.#send;
    const { ev } = line.socket;
    const onUpdate = ({ connection }: Partial<ConnectionState>): void => {
      if (connection !== "open") return;
      this.#held.release();
      pace.reconnected();
    };
    const onMessages = ({ messages }: { readonly messages: readonly WAMessage[] }): void => {
      for (const { key } of messages) {
        const chat = key.fromMe ? undefined : this.#parts.contacts.keyOf(key.remoteJid, key.remoteJidAlt);
        if (chat !== undefined) restrictions.heard(chat);
      }
    };
    ev.on("connection.update", onUpdate);
    ev.on("messages.upsert", onMessages);
    const undo = [acks, restrictions, this.#disappearing].map(({ hear }) => hear(line));
    return () => {
      for (const stop of undo) stop();
      ev.off("connection.update", onUpdate);
      ev.off("messages.upsert", onMessages);
    };
  };

  /** Another account is linked: what holds for the former's chats is not its own. */
  forget(): void {
    this.#disappearing.forget();
    this.#send.restrictions.forget();
  }

  /** As `Channel.send`: what was accepted is not written again, and what goes again has the id of before. */
  async send(piece: Piece, attempt: Attempt, signal: AbortSignal): Promise<readonly PlatformId[]> {
    return await this.#until(signal, (ending) => send(piece, attempt, this.#send, ending));
  }

  /** As `Channel.readyAt`; while there is no line, chats are asked to come again now and then. */
  readyAt({ chat }: ChatAddress): number {
    const { clock } = this.#parts.host;
    if (this.#parts.account.line()) return this.#send.pace.readyAt(chat);
    return this.#held.until(chat) ?? clock.now();
  }

  /** As `Channel.progress`. To oneself nobody types. */
  async progress({ chat }: ChatAddress, progress: Progress): Promise<void> {
    const jid = this.#parts.contacts.jidOf(chat);
    if (!this.#isOwn(jid)) await this.#presence.show(jid, progress);
  }

  /** As `Channel.taken`: people see that their messages were read. */
  async taken({ chat }: ChatAddress, refs: readonly string[]): Promise<void> {
    const { settings, contacts, account, host } = this.#parts;
    const remoteJid = contacts.jidOf(chat);
    if (!settings.readReceipts || this.#isOwn(remoteJid)) return;
    const keys: WAMessageKey[] = refs.map((ref) => ({ remoteJid, ...nameIn(ref), fromMe: false }));
    try {
      await account.line()?.socket.readMessages(keys);
    } catch (thrown) {
      host.log.warn({ err: asError(thrown) }, "that messages were read could not be told");
    }
  }

  /** As `Channel.takeBack`: for everybody. WhatsApp passes over what is older than about two days. */
  async takeBack({ chat }: ChatAddress, ids: readonly PlatformId[], signal: AbortSignal): Promise<void> {
    for (const id of ids) {
      try {
        await this.#until(signal, (ending) => this.#revoke(chat, id, ending));
      } catch (thrown) {
        this.#parts.host.log.warn({ err: asError(thrown) }, "a message of ours could not be taken back");
      }
    }
  }

  /** As `Channel.react`: it counts as a message, and one that would have to wait for long is let be. */
  async react(
    { chat }: ChatAddress,
    ref: string,
    sign: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { host, account, contacts } = this.#parts;
    const { clock, log } = host;
    if (!account.line() || this.#isOwn(contacts.jidOf(chat))) return;
    const waitMs = this.#send.pace.readyAt(chat) - clock.now();
    if (waitMs > MOST_REACTION_WAIT_MS) return;
    try {
      await this.#until(signal, async (ending) => {
        if (waitMs > 0) await pause(clock, waitMs, ending);
        if (!ending.aborted) await this.#react(chat, ref, sign ?? "", ending);
      });
    } catch (thrown) {
      log.debug({ err: asError(thrown) }, "a reaction could not be shown");
    }
  }

  /** What a device asks for that could not read it; undefined where it is no message of ours to that chat. */
  async getMessage({ id, remoteJid }: WAMessageKey): Promise<proto.IMessage | undefined> {
    const { contacts } = this.#parts;
    const posted = id ? await this.#send.outbox.find(id) : undefined;
    const chat = contacts.keyOf(remoteJid);
    if (!posted || chat === undefined) return undefined;
    // Whoever knows an id must not get a message of another chat by it.
    return contacts.jidOf(posted.chat) === contacts.jidOf(chat) ? posted.message : undefined;
  }

  /** Nothing more goes out; resolves when what is on its way has ended, which is waited for a little. Never rejects. */
  async close(): Promise<void> {
    await this.#presence.close();
    const ended = new AbortController();
    const all = Promise.allSettled(this.#underWay).then(() => ended.abort());
    await Promise.race([all, pause(this.#parts.host.clock, CLOSING_MS, ended.signal)]);
    // What waits for WhatsApp's word on devices or groups cannot be called back; it writes nothing any more.
    this.#closing.abort(new Error("the connection is closed"));
  }

  async #react(chat: string, ref: string, sign: string, signal: AbortSignal): Promise<void> {
    const to = await destinationOf(chat, this.#send);
    const key = { remoteJid: to.jid, fromMe: false, ...nameIn(ref) };
    const at = this.#parts.host.clock.now();
    const make = async (): Promise<proto.IMessage> => reactionOf(key, sign, at);
    const id = this.#send.ids.reactionOf(`${chat} ${ref}`, sign);
    await post({ id, to, forms: new Set<never>(), make }, this.#send, signal);
  }

  async #revoke(chat: string, id: PlatformId, signal: AbortSignal): Promise<void> {
    const to = await destinationOf(chat, this.#send);
    const make = async (): Promise<proto.IMessage> => revokeOf({ remoteJid: to.jid, fromMe: true, id });
    const letter = {
      id: this.#send.ids.revokeOf(id),
      to,
      forms: new Set<never>(),
      make,
      attributes: { edit: "7" },
    };
    await post(letter, this.#send, signal);
  }

  /** Does it with a signal that also aborts when the connection is closed. */
  async #until<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const closing = this.#closing.signal;
    if (closing.aborted) throw new GatewayError("send.not_written", "the connection is closed");
    const ending = new AbortController();
    const abort = (): void => ending.abort(signal.aborted ? signal.reason : closing.reason);
    for (const ended of [signal, closing]) ended.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    const done = work(ending.signal);
    this.#underWay.add(done);
    try {
      return await done;
    } finally {
      this.#underWay.delete(done);
      for (const ended of [signal, closing]) ended.removeEventListener("abort", abort);
    }
  }

  #isOwn(jid: string): boolean {
    const me = this.#parts.account.me();
    return me !== undefined && [me.pn, me.lid].includes(plain(jid));
  }
}
