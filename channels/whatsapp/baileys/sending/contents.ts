import { randomBytes } from "node:crypto";
import type { proto } from "@whiskeysockets/baileys";
import type { MediaItem, Piece } from "../../../../src/core/channel.ts";
import { GatewayError } from "../../../../src/core/errors.ts";
import type { Rendered } from "../../../../src/core/tree.ts";
import { inSigns } from "../../signs.ts";
import { albumOf, inContext, textMessage, withCaption } from "./compose.ts";
import type { Destination, DestinationParts } from "./destination.ts";
import type { Disappearing } from "./disappearing.ts";
import type { Forms } from "./forms.ts";
import { mentionsIn } from "./mentions.ts";
import type { MessageIds } from "./message-ids.ts";
import type { PostParts } from "./post.ts";
import { quotedIn, type QuoteParts } from "./quoted.ts";

export type SendParts = PostParts &
  DestinationParts &
  QuoteParts & {
    readonly ids: MessageIds;
    readonly disappearing: Pick<Disappearing, "expirationIn">;
    /** Brings a file to WhatsApp's servers; gives the message for it without what stands below. */
    readonly upload: (item: MediaItem, signal: AbortSignal) => Promise<proto.IMessage>;
  };

/** A piece on its way. */
export type Sending = {
  readonly piece: Piece;
  readonly forms: Forms;
  readonly to: Destination;
  readonly signal: AbortSignal;
};

export async function textContent(
  rendered: Rendered,
  sending: Sending,
  parts: SendParts,
): Promise<proto.IMessage> {
  return await inPlace(textMessage, rendered, sending, parts);
}

/** The message for a file, which is uploaded first. @throws GatewayError "send.refused" or "send.not_written". */
export async function fileContent(
  item: MediaItem,
  sending: Sending,
  parts: SendParts,
): Promise<proto.IMessage> {
  const { forms, signal } = sending;
  const sent: MediaItem = forms.has("document") ? { ...item, as: "file" } : item;
  const file = await parts.upload(sent, signal).catch((thrown: unknown) => {
    if (thrown instanceof GatewayError) throw notSent(thrown);
    // It was ended before anybody was sent anything.
    throw new GatewayError("send.not_written", "a file was not uploaded in time; it is tried again", {
      cause: thrown,
    });
  });
  return await inPlace((text) => withCaption(file, text), item.caption ?? NOTHING, sending, parts);
}

/** What holds an album together. */
export async function albumContent(
  items: readonly MediaItem[],
  sending: Sending,
  parts: SendParts,
): Promise<proto.IMessage> {
  const images = items.filter(({ as }) => as === "image").length;
  const album = albumOf({ images, videos: items.length - images });
  return await inPlace(() => album, NOTHING, sending, parts);
}

const NOTHING: Rendered = { text: "", marks: [] };

/** A file that is gone will not come back. */
function notSent(error: GatewayError): GatewayError {
  return error.code.startsWith("send.")
    ? error
    : new GatewayError("send.refused", "nothing was sent: the file is gone", { cause: error });
}

/** A text as WhatsApp reads it, with the people that it names, what it answers, and how long it is shown. */
async function inPlace(
  message: (text: string) => proto.IMessage,
  rendered: Rendered,
  { piece, forms, to }: Sending,
  parts: SendParts,
): Promise<proto.IMessage> {
  const alone = forms.has("alone");
  const text = inSigns(rendered);
  const named = alone ? { text, jids: [] } : mentionsIn(text, to.group?.participants ?? []);
  const quoted = alone || piece.replyTo === undefined ? undefined : await quotedIn(piece.replyTo, to, parts);
  const expiration = to.group ? to.group.ephemeralDuration : await parts.disappearing.expirationIn(to.chat);
  const context = {
    mentions: named.jids,
    ...(quoted ? { quoted } : {}),
    ...(expiration ? { expiration } : {}),
  };
  return inContext(message(named.text), context, randomBytes(SECRET_BYTES));
}

const SECRET_BYTES = 32;
