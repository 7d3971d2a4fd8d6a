import type { Message } from "grammy/types";
import type { EditEvent, MessageEvent } from "../../src/core/events.ts";
import { isAddressed } from "./addressed.ts";
import { text } from "./announced.ts";
import { contentOf } from "./content.ts";
import { isoOf } from "./dates.ts";
import { type BotIdentity, forwardOf, senderOf } from "./people.ts";
import { placeOf } from "./place.ts";
import { quoteOf } from "./quote.ts";
import { unknownIn } from "./unknown.ts";

/** Service messages, other bots' and our own give no event; no event is without content. */
export function messageIn(message: Message, me: BotIdentity): MessageEvent | undefined {
  const said = saidIn(message, me);
  // Not the update's number: a message can be handed over again under another one.
  return said && { type: "message", id: said.ref, ...said, sentAt: isoOf(message.date) };
}

/** As it reads now. Every step of a live location is an edit, and its end: they give nothing. */
export function editIn(
  message: Message & { readonly edit_date: number },
  me: BotIdentity,
): EditEvent | undefined {
  const said = message.location ? undefined : saidIn(message, me);
  return (
    said && {
      type: "edited",
      id: `${said.ref}/edit/${message.edit_date}`,
      ...said,
      sentAt: isoOf(message.edit_date),
    }
  );
}

function saidIn(message: Message, me: BotIdentity): Omit<MessageEvent, "type" | "id" | "sentAt"> | undefined {
  // 0 is the id of a message that only its sender and the bot see; an answer of ours would be seen by all.
  if (message.message_id === 0 || message.is_automatic_forward) return undefined;
  const { chat, from: user, sender_chat, forward_origin: origin, media_group_id: albumId } = message;
  const from = senderOf(user, sender_chat ?? (chat.type === "channel" ? chat : undefined));
  const content = contentOf(message, me.username);
  // Nobody in a group expects an answer to what bots cannot read.
  const said = content.length > 0 || chat.type !== "private" ? content : text(unknownIn(message));
  if (!from || said.length === 0) return undefined;
  const quote = quoteOf(message);
  return {
    ref: String(message.message_id),
    place: placeOf(message, me),
    from,
    content: said,
    addressed: isAddressed(message, me),
    ...(quote ? { quote } : {}),
    ...(origin ? { forward: forwardOf(origin) } : {}),
    ...(albumId === undefined ? {} : { albumId }),
  };
}
