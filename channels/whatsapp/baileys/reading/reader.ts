import type { proto, WAMessage, WAMessageKey } from "@whiskeysockets/baileys";
import type { Log } from "../../../../src/core/log.ts";
import { toEvent, UNREADABLE, VIEW_ONCE } from "../../inbound.ts";
import type { WhatsAppSettings } from "../../settings.ts";
import type { Contacts } from "../people/contacts.ts";
import type { Groups } from "../people/groups.ts";
import { isGroup, jidIn, plain } from "../people/jids.ts";
import type { Content } from "./content.ts";
import type { Known } from "./known.ts";
import type { Account, Me } from "../line.ts";
import { mediaRef } from "../media/media-ref.ts";
import { membershipIn } from "./membership.ts";
import { idIn, ownId } from "./message-id.ts";
import { eventId, isMe, type Origin, originOf, refIn } from "./origin.ts";
import type { Outbox } from "../sending/outbox.ts";
import { pollKeyOf, voteIn } from "./polls.ts";
import { ofSender, type Reference, referencesIn, referenceTo } from "./references.ts";
import { type Said, type SaidEvent, type SaidKey, saidKey, type SaidRow } from "./said.ts";
import type { Seal } from "../keys/seal.ts";
import { unwrap } from "./unwrap.ts";
import { isoOf } from "./words.ts";

export type ReaderParts = {
  readonly account: Account;
  readonly settings: Pick<WhatsAppSettings, "selfChat">;
  readonly contacts: Contacts;
  readonly groups: Groups;
  readonly said: Said;
  readonly outbox: Pick<Outbox, "find">;
  readonly seal: Seal;
  readonly log: Log;
};

/** What a message comes to. */
export type Reading = {
  readonly event: SaidEvent;
  /** It was told before, or is about to be. */
  readonly again: boolean;
};

/** What is kept with the events of a batch, before they are handed over. */
export type Rows = Map<SaidKey, SaidRow>;

/** Reads messages: looks up what they are about, and what was told of them before, and gives what they say. */
export class Reader {
  readonly #parts: ReaderParts;

  constructor(parts: ReaderParts) {
    this.#parts = parts;
  }

  /**
   * Undefined for what says nothing to us. What has to be kept with it goes into `rows`, where earlier messages of the
   * same batch are found as well. @throws GatewayError "store.unavailable".
   */
  async read(told: WAMessage, recipient: string | undefined, rows: Rows): Promise<Reading | undefined> {
    const message = withUsableId(told);
    try {
      return await this.#read(message, recipient, rows);
    } catch (thrown) {
      if (isStores(thrown)) throw thrown;
      this.#parts.log.error({ err: thrown }, "a message could not be read");
      return await this.#read({ ...message, message: { conversation: UNREADABLE } }, recipient, rows);
    }
  }

  /** What is told of one that nobody could read in time; undefined where it was told of meanwhile. */
  async unreadable(told: WAMessage, viewOnce: boolean, rows: Rows): Promise<Reading | undefined> {
    const { account, groups, contacts } = this.#parts;
    const message = withUsableId(told);
    const me = account.me();
    const { id } = message.key;
    if (!me || !id || message.key.fromMe || message.category === "peer") return undefined;
    const origin = originOf(message, { me, contacts, titleOf: (group) => groups.titleOf(group) });
    if (!origin || (await this.#told(origin, id, rows))) return undefined;
    this.#meet(message, origin, me);
    const { place, from } = origin;
    const key = `${id}/unreadable`;
    const before = await this.#told(origin, key, rows);
    if (before) return { event: before, again: true };
    const event: SaidEvent = {
      type: "message",
      // The message itself may still come, and must find its own id free.
      id: eventId(origin, key),
      unique: true,
      ref: refIn(message.key),
      place,
      from,
      sentAt: isoOf(message.messageTimestamp),
      content: [{ type: "text", text: viewOnce ? VIEW_ONCE : UNREADABLE }],
      addressed: place.kind === "private",
    };
    rows.set(saidKey(place.chat, event.id), { event });
    return { event, again: false };
  }

  async #read(message: WAMessage, recipient: string | undefined, rows: Rows): Promise<Reading | undefined> {
    const { account, groups, outbox } = this.#parts;
    const me = account.me();
    const { id, remoteJid, fromMe } = message.key;
    if (!me || !id) return undefined;
    // What we sent comes back after each send and each reconnect; an answer to it would be answered again.
    if (fromMe && (await outbox.find(id))) return undefined;
    if (isGroup(remoteJid)) await groups.findTitle(plain(remoteJid));
    const parts = { me, contacts: this.#parts.contacts, titleOf: (group: string) => groups.titleOf(group) };
    const membership = membershipIn(message, parts);
    if (membership) return { event: membership, again: false };
    const origin = originOf(message, parts);
    if (!origin) return undefined;
    this.#meet(message, origin, me);
    const before = await this.#told(origin, id, rows);
    if (before) return { event: before, again: true };
    const known = await this.#known(message, origin, rows, parts);
    const event = toEvent(message, origin, recipient === undefined ? known : { ...known, recipient });
    if (!event || !("place" in event)) return undefined;
    const creators = this.#addresses(origin);
    const poll = pollKeyOf(message.message ?? {}, creators);
    rows.set(saidKey(origin.place.chat, eventId(origin, id)), { event, ...(poll ? { poll } : {}) });
    if (event.type === "reaction" && message.message)
      rows.set(reactionKey(origin, reactedTo(message.message, origin, parts)), { event });
    if (event.type === "edited") await this.#rewrite(message, event.content, origin, rows);
    return { event, again: false };
  }

  #meet({ pushName, key }: WAMessage, { place, from, own }: Origin, me: Me): void {
    const { contacts } = this.#parts;
    if (pushName && !own) contacts.callThem(from.id, pushName);
    if (place.kind === "private" && !isMe(key.remoteJid, me)) contacts.hasChat(place.chat);
  }

  /** Who answers an edited message answers what it says now. */
  async #rewrite(edit: WAMessage, content: Content, origin: Origin, rows: Rows): Promise<void> {
    const id = idIn(unwrap(edit.message ?? {}).message.protocolMessage?.key?.id);
    if (id === undefined) return;
    const { place, from } = origin;
    const of = ofSender(id, origin);
    const row = (await this.#find(place.chat, [of], rows))(of);
    if (row?.event.type !== "message" || row.event.from.id !== from.id) return;
    rows.set(saidKey(place.chat, eventId(origin, id)), { ...row, event: { ...row.event, content } });
  }

  async #told(origin: Origin, id: string, rows: Rows): Promise<SaidEvent | undefined> {
    const { place, from } = origin;
    const reference = { id, ...(place.kind === "group" ? { by: from.id } : {}) };
    const found = await this.#find(place.chat, [reference], rows);
    return found(reference)?.event;
  }

  /** Rows under any of the keys that a person has had. */
  async #find(
    chat: string,
    references: readonly Reference[],
    rows: Rows,
  ): Promise<(of: Reference) => SaidRow | undefined> {
    const { contacts, said } = this.#parts;
    const keysOf = ({ id, by }: Reference): readonly SaidKey[] =>
      by === undefined
        ? contacts.formsOf(chat).map((form) => saidKey(form, id))
        : contacts.formsOf(by).map((form) => saidKey(chat, `${form}/${id}`));
    const wanted = references.flatMap(keysOf).filter((key) => !rows.has(key));
    const found = await said.find([...new Set(wanted)]);
    return (of) => {
      const keys = keysOf(of);
      return keys.map((key) => rows.get(key) ?? found.get(key)).find((row) => row !== undefined);
    };
  }

  async #known(
    message: WAMessage,
    origin: Origin,
    rows: Rows,
    parts: Pick<Known, "me" | "contacts" | "titleOf">,
  ): Promise<Known> {
    const { groups, outbox, seal, settings } = this.#parts;
    const { chat, kind } = origin.place;
    const references = referencesIn(message, origin, parts);
    const found = await this.#find(chat, references, rows);
    const { protocolMessage, pollUpdateMessage: update } = unwrap(message.message ?? {}).message;
    const sent = new Map(
      await Promise.all(references.map(async ({ id }) => [id, (await outbox.find(id))?.message] as const)),
    );
    const reaction = message.message ? reactedTo(message.message, origin, parts) : undefined;
    const reacted = reaction && (await this.#row(reactionKey(origin, reaction), rows))?.event;
    // Only what takes back another's message asks who is an admin.
    if (kind === "group" && protocolMessage && references.length > 1) await groups.metadata(chat);
    const polled =
      update?.pollCreationMessageKey && found(referenceTo(update.pollCreationMessageKey, origin, parts));
    const vote = update ? voteIn(update, polled?.poll, this.#addresses(origin)) : undefined;
    return {
      ...parts,
      selfChat: settings.selfChat,
      said: (of) => {
        const event = found(of)?.event;
        return event?.type === "message" ? event : undefined;
      },
      sent: (id) => sent.get(id),
      reacted: () => (reacted?.type === "reaction" ? reacted.added.at(-1) : undefined),
      isAdmin: (group, who) => groups.isAdmin(group, who),
      ...(vote ? { vote } : {}),
      mediaRef: (content: proto.IMessage, key: WAMessageKey) => mediaRef(content, key, seal),
    };
  }

  async #row(key: SaidKey, rows: Rows): Promise<SaidRow | undefined> {
    return rows.get(key) ?? (await this.#parts.said.find([key])).get(key);
  }

  #addresses({ from }: Origin): readonly string[] {
    return this.#parts.contacts.formsOf(from.id).map(jidIn);
  }
}

function withUsableId(message: WAMessage): WAMessage {
  const { id } = message.key;
  return id ? { ...message, key: { ...message.key, id: ownId(id) } } : message;
}

function reactedTo(
  message: proto.IMessage,
  origin: Origin,
  parts: Pick<Known, "contacts">,
): Reference | undefined {
  const key = unwrap(message).message.reactionMessage?.key;
  return key ? referenceTo(key, origin, parts) : undefined;
}

/** Where the last reaction of somebody to a message stands. */
function reactionKey({ place, from }: Origin, of: Reference | undefined): SaidKey {
  return saidKey(place.chat, `${of?.by ?? ""}/${of?.id ?? ""}/by/${from.id}`);
}

/** Errors of a database have a code; what breaks the reading itself must not hold up what comes behind it. */
function isStores(thrown: unknown): boolean {
  if (thrown instanceof TypeError || thrown instanceof RangeError) return false;
  return thrown instanceof Error && "code" in thrown;
}
