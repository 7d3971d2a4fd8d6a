import type { proto, WAMessage } from "@whiskeysockets/baileys";
import { contextOf } from "./context.ts";
import type { Contacts } from "../people/contacts.ts";
import { idIn } from "./message-id.ts";
import type { Origin } from "./origin.ts";
import { unwrap } from "./unwrap.ts";

/** An earlier message that one is about: what it quotes, edits, takes back, reacts to or votes in. */
export type Reference = {
  readonly id: string;
  /** Whose it is said to be, by key; absent in private chats, where an id says enough. */
  readonly by?: string;
};

export type ReferenceParts = { readonly contacts: Pick<Contacts, "keyNamed"> };

/** All earlier messages that have to be looked up before a message can be read. */
export function referencesIn(
  message: WAMessage,
  origin: Origin,
  parts: ReferenceParts,
): readonly Reference[] {
  const { kind, message: content, about } = unwrap(message.message ?? {});
  const context = contextOf(content, kind);
  const parent = about?.messageAssociation?.parentMessageKey;
  return [
    ...(context?.stanzaId
      ? [referenceTo({ id: context.stanzaId, ...by(context.participant) }, origin, parts)]
      : []),
    ...(content.protocolMessage ? targetsOf(content.protocolMessage, origin, parts) : []),
    ...(content.reactionMessage?.key ? [referenceTo(content.reactionMessage.key, origin, parts)] : []),
    ...(content.pollUpdateMessage?.pollCreationMessageKey
      ? [referenceTo(content.pollUpdateMessage.pollCreationMessageKey, origin, parts)]
      : []),
    ...(idIn(parent?.id) ? [ofSender(parent?.id ?? "", origin)] : []),
  ];
}

/** By a key as it stands in the message of somebody. */
export function referenceTo(
  { id, participant }: Pick<proto.IMessageKey, "id" | "participant">,
  { place }: Pick<Origin, "place">,
  { contacts }: ReferenceParts,
): Reference {
  const who = place.kind === "group" ? contacts.keyNamed(participant) : undefined;
  return { id: idIn(id) ?? "", ...(who === undefined ? {} : { by: who }) };
}

export function ofSender(id: string, { place, from }: Pick<Origin, "place" | "from">): Reference {
  return { id, ...(place.kind === "group" ? { by: from.id } : {}) };
}

/** Who edits or takes back names the message as its own; only an admin names somebody else. */
function targetsOf(
  { key }: proto.Message.IProtocolMessage,
  origin: Origin,
  parts: ReferenceParts,
): readonly Reference[] {
  const id = idIn(key?.id);
  if (!key || id === undefined) return [];
  const claimed = referenceTo(key, origin, parts);
  const own = ofSender(id, origin);
  return claimed.by === undefined || claimed.by === own.by ? [own] : [own, claimed];
}

function by(participant: string | null | undefined): { readonly participant?: string } {
  return participant ? { participant } : {};
}
