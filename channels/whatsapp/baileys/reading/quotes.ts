import type { proto, WAMessageKey } from "@whiskeysockets/baileys";
import type { Unfetched } from "../../../../src/core/blocks.ts";
import type { Quote } from "../../../../src/core/events.ts";
import { type Content, contentOf, inWords } from "./content.ts";
import type { Known } from "./known.ts";
import { idIn } from "./message-id.ts";
import { isMe, type Origin, refIn } from "./origin.ts";
import { referenceTo } from "./references.ts";

/**
 * What a message answers. The copy in it is the sender's own and may say anything, so what is known to have been said is
 * preferred; the copy is the rest's, and its media are fetched as what they are.
 */
export function quoteOf(
  context: proto.IContextInfo | undefined,
  key: WAMessageKey,
  origin: Origin,
  known: Known,
): Quote | undefined {
  const { participant, quotedMessage, remoteJid } = context ?? {};
  const stanzaId = idIn(context?.stanzaId);
  if (stanzaId === undefined) return undefined;
  const isStatus = remoteJid === "status@broadcast";
  const said = isStatus
    ? undefined
    : known.said(referenceTo({ id: stanzaId, participant: participant ?? null }, origin, known));
  if (said) return { ...withMedia(said.content), from: said.from.name, ref: said.ref };
  const sent = isMe(participant, known.me) && !isStatus ? known.sent(stanzaId) : undefined;
  const of = { ...key, id: stanzaId, fromMe: isMe(participant, known.me), participant: participant ?? null };
  const content = quotedContent(sent ?? quotedMessage, of, known);
  if (sent) return { ...withMedia(content), from: "you", ref: stanzaId };
  const who = known.contacts.keyNamed(participant);
  const name = who === undefined || isMe(participant, known.me) ? undefined : known.contacts.nameOf(who);
  const { text, media } = withMedia(content);
  return {
    text: isStatus
      ? `[status]${text === "" ? "" : ` ${text}`}`
      : text || "[a message that is not known any more]",
    ...(name === undefined ? {} : { from: name }),
    ...(isStatus ? {} : { ref: refIn(of) }),
    ...(media ? { media } : {}),
  };
}

function quotedContent(message: proto.IMessage | null | undefined, key: WAMessageKey, known: Known): Content {
  return message ? contentOf(message, (content) => known.mediaRef(content, key)) : [];
}

function withMedia(content: Content): Pick<Quote, "text" | "media"> {
  const media = content.filter((part): part is Unfetched => part.type === "unfetched");
  return { text: inWords(content), ...(media.length === 0 ? {} : { media }) };
}
