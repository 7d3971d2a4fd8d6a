import type { WAMessage } from "@whiskeysockets/baileys";
import type { Forward, InboundEvent, MessageEvent } from "../../src/core/events.ts";
import { oneLine } from "../../src/core/words.ts";
import { isAddressed, withoutAddress } from "./baileys/reading/addressed.ts";
import { belongsTo } from "./baileys/reading/association.ts";
import { changeIn, reactionIn } from "./baileys/reading/changes.ts";
import { type Content, contentOf, text } from "./baileys/reading/content.ts";
import { contextOf } from "./baileys/reading/context.ts";
import type { Known } from "./baileys/reading/known.ts";
import { eventId, isMe, type Origin, refIn } from "./baileys/reading/origin.ts";
import type { Vote } from "./baileys/reading/polls.ts";
import { quoteOf } from "./baileys/reading/quotes.ts";
import { ofSender } from "./baileys/reading/references.ts";
import { isSilent, unwrap } from "./baileys/reading/unwrap.ts";
import { isoOf } from "./baileys/reading/words.ts";

/** What is told to people where a message cannot be had. */
export const VIEW_ONCE =
  "[a message to be viewed once, which only the phone shows: ask for it to be sent normally]";
export const UNREADABLE = "[a message that could not be read: ask for it to be sent again]";

/** What a message says to us, whoever is behind it and whatever it is about; nothing where that is nothing. Pure. */
export function toEvent(message: WAMessage, origin: Origin, known: Known): InboundEvent | undefined {
  const { key, message: content, messageStubType } = message;
  if (!key.id || isToOthers(message, origin, known)) return undefined;
  if (!content) {
    // A stub may be filled later, under the same id: whoever keeps the journal waits for that.
    const withheld = key.isViewOnce === true && messageStubType == null;
    return withheld ? said(message, text(VIEW_ONCE), origin, known) : undefined;
  }
  const { message: inner, kind, about } = unwrap(content);
  if (inner.protocolMessage) return changeIn(message, inner.protocolMessage, origin, known);
  if (inner.reactionMessage) return reactionIn(message, inner.reactionMessage, origin, known);
  if (inner.pollUpdateMessage) return said(message, text(voteWords(known.vote)), origin, known);
  if (isSilent(content)) return undefined;
  const { album: albumId, copyOf } = belongsTo(about?.messageAssociation);
  if (copyOf !== undefined && known.said(ofSender(copyOf, origin))) return undefined;
  const context = contextOf(inner, kind);
  const quote = quoteOf(context, key, origin, known);
  const words = contentOf(content, (media) => known.mediaRef(media, key));
  const ad = context?.externalAdReply;
  return said(
    message,
    [
      ...addressed(words, origin, known),
      ...(ad
        ? text(
            `[${oneLine(`written from the advertisement “${ad.title ?? ""}”: ${ad.body ?? ""}, ${ad.sourceUrl ?? ""}`)}]`,
          )
        : []),
    ],
    origin,
    known,
    {
      ...(quote ? { quote } : {}),
      ...(context?.isForwarded
        ? { forward: forwardOf(context.forwardedNewsletterMessageInfo?.newsletterName) }
        : {}),
      ...(albumId === undefined ? {} : { albumId }),
    },
  );
}

/**
 * What the owner writes to themselves is for us if it is said to be; what the owner asks of Meta's assistants stands under
 * the owner's own address as well, but goes to somebody else.
 */
function isToOthers(
  { key, message }: WAMessage,
  { own }: Origin,
  { me, selfChat, recipient }: Known,
): boolean {
  if (!own || !isMe(key.remoteJid, me)) return false;
  const isToSelf = recipient === undefined || isMe(recipient, me);
  return !selfChat || !isToSelf || message?.messageContextInfo?.botMetadata != null;
}

function said(
  message: WAMessage,
  content: Content,
  origin: Origin,
  known: Known,
  more: Partial<MessageEvent> = {},
): MessageEvent | undefined {
  const { key, messageTimestamp } = message;
  if (content.length === 0 || !key.id) return undefined;
  const { message: inner, kind } = unwrap(message.message ?? {});
  const { place, from } = origin;
  const isOwn = origin.own && !isMe(key.remoteJid, known.me);
  return {
    type: "message",
    id: eventId(origin, key.id),
    unique: true,
    ref: refIn(key),
    place,
    from,
    sentAt: isoOf(messageTimestamp),
    content,
    addressed:
      place.kind === "private" ||
      isAddressed(contextOf(inner, kind), { me: known.me, isOurs: (id) => known.sent(id) !== undefined }),
    ...(isOwn ? { own: true as const } : {}),
    ...more,
  };
}

/** In a group the first words may be no more than a mention of us. */
function addressed(content: Content, { place }: Origin, { me }: Known): Content {
  if (place.kind === "private") return content;
  return content.map((part) =>
    part.type === "text" ? { ...part, text: withoutAddress(part.text, me) } : part,
  );
}

/** WhatsApp says that a message was forwarded, and only of channels from where. */
function forwardOf(channel: string | null | undefined): Forward {
  return { from: channel || "somebody" };
}

function voteWords(vote: Vote | undefined): string {
  if (!vote) return "[a vote in a poll that is not known any more]";
  const chosen = vote.chosen.length === 0 ? "taken back" : vote.chosen.join("; ");
  return `[${oneLine(`vote in the poll “${vote.question}”: ${chosen}`)}]`;
}
