import type {
  InlineKeyboardMarkup,
  InputRichBlock,
  InputRichMessage,
  LinkPreviewOptions,
  MessageEntity,
} from "grammy/types";
import type { Piece, PieceBody } from "../../src/core/channel.ts";
import type { ChatAddress } from "../../src/core/identity.ts";
import type { Rendered } from "../../src/core/tree.ts";
import type { Forms } from "./forms.ts";
import { keyboardOf, listOf } from "./keyboard.ts";
import { destination } from "./place.ts";
import type { RichChats } from "./rich-chats.ts";

// What a piece says, as the Bot API takes it: the same for a send, an edit, and the search for a message that was lost.

export type TextBody = Extract<PieceBody, { kind: "text" }>;

export type TextParameters = {
  readonly text: string;
  readonly entities?: MessageEntity[];
  readonly link_preview_options?: LinkPreviewOptions;
  readonly reply_markup?: InlineKeyboardMarkup;
};

const MESSAGE_LENGTH = 4096; // Bot API sendMessage: 1–4096 after entities

/** Choices are buttons, or in the form "bare" a list behind the text, as far as there is room for it. */
export function textParameters(
  { rendered, choices = [] }: TextBody,
  forms: Forms,
  linkPreviews: boolean | undefined,
): TextParameters {
  const isBare = forms.has("bare");
  const longer = isBare && choices.length > 0 ? `${rendered.text}\n${listOf(choices)}` : rendered.text;
  return {
    text: longer.length > MESSAGE_LENGTH ? rendered.text : longer,
    ...entities("entities", rendered, forms),
    ...(linkPreviews ? {} : { link_preview_options: { is_disabled: true } }),
    ...(isBare || choices.length === 0 ? {} : { reply_markup: keyboardOf(choices) }),
  };
}

/** The same as a rich message; nothing where it is none. */
export function richParameters(
  { to, body }: Pick<Piece, "to" | "body">,
  forms: Forms,
  chats: RichChats,
): { readonly rich_message: InputRichMessage; readonly reply_markup?: InlineKeyboardMarkup } | undefined {
  if (body.kind !== "text" || forms.has("entities") || !chats.has(to.chat)) return undefined;
  const { choices = [] } = body;
  const rich = body.rendered.rich as readonly InputRichBlock[] | undefined; // as render.ts gave it
  // Without buttons the choices are words, which stand in the text.
  if (!rich || (forms.has("bare") && choices.length > 0)) return undefined;
  return {
    // All links are marked as such; what Telegram finds by itself may be refused by itself.
    rich_message: { blocks: [...rich], skip_entity_detection: true },
    ...(choices.length === 0 ? {} : { reply_markup: keyboardOf(choices) }),
  };
}

export function captionParameters(
  caption: Rendered | undefined,
  forms: Forms,
): { readonly caption?: string; readonly caption_entities?: MessageEntity[] } {
  return caption ? { caption: caption.text, ...entities("caption_entities", caption, forms) } : {};
}

/** By what an edit names its message. */
export function messageIn(
  to: ChatAddress,
  message_id: number,
): { readonly chat_id: number; readonly message_id: number; readonly business_connection_id?: string } {
  const { chat_id, business_connection_id } = destination(to);
  return { chat_id, message_id, ...(business_connection_id === undefined ? {} : { business_connection_id }) };
}

/** The marks of a text as Telegram takes them, but for a text that is to go without. */
export function entities<Name extends string>(
  name: Name,
  { marks }: Rendered,
  forms?: Forms,
): { readonly [key in Name]?: MessageEntity[] } {
  // A mark's type is Telegram's own word, and it has the fields that go with it: render.ts writes both.
  const given = marks as readonly unknown[] as readonly MessageEntity[];
  return forms?.has("plain") || given.length === 0
    ? {}
    : ({ [name]: [...given] } as { [key in Name]: MessageEntity[] });
}
