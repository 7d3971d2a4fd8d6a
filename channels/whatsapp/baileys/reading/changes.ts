import { proto, type WAMessage } from "@whiskeysockets/baileys";
import type { Unfetched } from "../../../../src/core/blocks.ts";
import type { DeleteEvent, EditEvent, MessageEvent, ReactionEvent } from "../../../../src/core/events.ts";
import { isAddressed } from "./addressed.ts";
import { type Content, contentOf } from "./content.ts";
import { contextOf } from "./context.ts";
import type { Known } from "./known.ts";
import { idIn } from "./message-id.ts";
import { eventId, type Origin, refIn } from "./origin.ts";
import { ofSender, referenceTo } from "./references.ts";
import { unwrap } from "./unwrap.ts";
import { isoOf } from "./words.ts";

type Telling = Pick<WAMessage, "key" | "messageTimestamp">;

const { REVOKE, MESSAGE_EDIT } = proto.Message.ProtocolMessage.Type;

/** An edit or a revoke; undefined for the many other things that WhatsApp's programs tell each other. */
export function changeIn(
  telling: Telling,
  told: proto.Message.IProtocolMessage,
  origin: Origin,
  known: Known,
): EditEvent | DeleteEvent | undefined {
  const { key, messageTimestamp } = telling;
  const target = idIn(told.key?.id);
  if (!target || !key.id) return undefined;
  if (told.type === REVOKE) return deletionIn(telling, { ...told.key, id: target }, origin, known);
  if (told.type !== MESSAGE_EDIT || !told.editedMessage) return undefined;
  const of = ofSender(target, origin);
  const said = known.said(of);
  // Anybody can name anybody's message: what is not theirs lends them nothing.
  const before = said?.from.id === origin.from.id ? said : undefined;
  const { message, kind } = unwrap(told.editedMessage);
  const context = contextOf(message, kind);
  const content = contentOf(told.editedMessage, (media) => known.mediaRef(media, { ...key, id: target }));
  if (content.length === 0) return undefined;
  const { place, from, own } = origin;
  return {
    type: "edited",
    id: `${eventId(origin, target)}/edit/${key.id}`,
    ref: before?.ref ?? refIn({ ...key, id: target }),
    place,
    from,
    sentAt: told.timestampMs ? isoOf(Number(told.timestampMs) / 1_000) : isoOf(messageTimestamp),
    content: withMediaOf(before, content),
    addressed:
      place.kind === "private" ||
      before?.addressed === true ||
      isAddressed(context, { me: known.me, isOurs: (id) => known.sent(id) !== undefined }),
    ...(own ? { own: true as const } : {}),
    ...(before?.quote ? { quote: before.quote } : {}),
    ...(before?.forward ? { forward: before.forward } : {}),
    ...(before?.albumId === undefined ? {} : { albumId: before.albumId }),
  };
}

/** An edited caption comes without its file, or with a copy that opens nothing: the file is the one of before. */
function withMediaOf(before: MessageEvent | undefined, content: Content): Content {
  const media = before?.content.filter((part): part is Unfetched => part.type === "unfetched") ?? [];
  if (media.length === 0) return content;
  return [...content.filter(({ type }) => type === "text"), ...media];
}

/** Whose the message was may take back, and in a group an admin: the library checks neither. */
function deletionIn(
  { key, messageTimestamp }: Telling,
  target: proto.IMessageKey & { readonly id: string },
  origin: Origin,
  known: Known,
): DeleteEvent | undefined {
  const { place, from } = origin;
  const named = referenceTo(target, origin, known);
  const isAnothers = named.by !== undefined && named.by !== from.id;
  if (isAnothers && !known.isAdmin(place.chat, from.id)) return undefined;
  const said = known.said(isAnothers ? named : ofSender(target.id, origin));
  if (said && !isAnothers && said.from.id !== from.id) return undefined;
  // Without an address behind it, it would name a message of our own.
  const whose = isAnothers
    ? { fromMe: false, participant: target.participant ?? null }
    : { fromMe: origin.own, participant: key.participant ?? null };
  const author = isAnothers ? { ...from, id: named.by } : from;
  return {
    type: "deleted",
    id: `${eventId({ place, from: author }, target.id)}/deleted/${key.id ?? ""}`,
    place,
    refs: [said?.ref ?? refIn({ ...key, ...whose, id: target.id })],
    sentAt: isoOf(messageTimestamp),
  };
}

/** One emoji of each person stands at a message: the next takes its place, and an empty one takes it away. */
export function reactionIn(
  { key, messageTimestamp }: WAMessage,
  { key: target, text }: proto.Message.IReactionMessage,
  origin: Origin,
  known: Known,
): ReactionEvent | undefined {
  // What the account's own person thinks of a chat is not for the agent.
  if (!target || idIn(target.id) === undefined || !key.id || origin.own) return undefined;
  const of = referenceTo(target, origin, known);
  const before = known.reacted(of);
  const now = text || undefined;
  if (before === now) return undefined;
  const remoteJid = key.remoteJid ?? "";
  const ref = known.said(of)?.ref ?? refIn({ ...target, remoteJid });
  return {
    type: "reaction",
    id: `${ref}/reaction/${origin.from.id}/${key.id}`,
    place: origin.place,
    ref,
    from: origin.from,
    sentAt: isoOf(messageTimestamp),
    added: now === undefined ? [] : [now],
    removed: before === undefined ? [] : [before],
  };
}
