import type { WAMessage, WAMessageKey } from "@whiskeysockets/baileys";
import type { Place, Sender } from "../../../../src/core/events.ts";
import type { Contacts } from "../people/contacts.ts";
import { formOf, isGroup, isNotForUs, plain } from "../people/jids.ts";
import type { Me } from "../line.ts";
import { refOf } from "../refs.ts";

/** Who said something and where. */
export type Origin = {
  readonly place: Place;
  readonly from: Sender;
  /** Whoever the account belongs to wrote it on another device. */
  readonly own: boolean;
};

export type OriginParts = {
  readonly me: Me;
  readonly contacts: Pick<Contacts, "keyOf" | "formsOf" | "nameOf">;
  /** Of groups, as far as it is known. */
  readonly titleOf: (group: string) => string | undefined;
};

/** Undefined for what is nobody's, or is for everybody: statuses, lists, channels, assistants. */
export function originOf({ key, pushName, participant }: WAMessage, parts: OriginParts): Origin | undefined {
  const { me, contacts } = parts;
  const chat = key.remoteJid;
  if (!chat || isNotForUs(chat)) return undefined;
  const own = key.fromMe ?? false;
  const author = own ? (me.lid ?? me.pn) : isGroup(chat) ? key.participant || participant : chat;
  // Beside what the account itself wrote stands its own other address, whomever it went to.
  const authorsOther = own ? me.pn : isGroup(chat) ? key.participantAlt : key.remoteJidAlt;
  const who = contacts.keyOf(author, authorsOther);
  const where = isGroup(chat) ? plain(chat) : own ? contacts.keyOf(chat) : who;
  if (who === undefined || where === undefined || formOf(author) === undefined) return undefined;
  const also = contacts.formsOf(who).filter((form) => form !== who);
  const name = pushName || contacts.nameOf(who) || who;
  return {
    place: isGroup(chat) ? groupPlace(where, parts) : privatePlace(where, parts),
    from: { id: who, name, ...(also.length === 0 ? {} : { also }) },
    own,
  };
}

export function groupPlace(group: string, { titleOf }: Pick<OriginParts, "titleOf">): Place {
  const title = titleOf(group);
  return { chat: group, kind: "group", ...(title === undefined ? {} : { title }) };
}

export function privatePlace(chat: string, { contacts }: Pick<OriginParts, "contacts">): Place {
  const also = contacts.formsOf(chat).filter((form) => form !== chat);
  return { chat, kind: "private", ...(also.length === 0 ? {} : { also }) };
}

/** Senders choose the ids of their messages: in a group, two may choose the same. */
export function eventId({ place, from }: Pick<Origin, "place" | "from">, id: string): string {
  return place.kind === "private" ? id : `${from.id}/${id}`;
}

/** How replies, reactions and deletions name a message, by its key. */
export function refIn({ id, remoteJid, participant, fromMe }: WAMessageKey): string {
  const theirs = isGroup(remoteJid) && !fromMe ? plain(participant) : "";
  return refOf({ id: id ?? "", ...(theirs === "" ? {} : { participant: theirs }) });
}

export function isMe(jid: string | null | undefined, { pn, lid }: Me): boolean {
  const form = formOf(jid);
  return form !== undefined && (form === formOf(pn) || form === formOf(lid));
}
