import type { Message } from "grammy/types";
import type { Account } from "./account.ts";
import { checkedSource, mediaFields, stored } from "./media.ts";
import { badRequest } from "./refusal.ts";
import type { Call, Parameters } from "./request.ts";
import type { MediaBlock } from "./rich/blocks.ts";
import { readRichMessage, type RichContent } from "./rich/message.ts";
import type { MediaName } from "./sent-log.ts";
import type { FormattedText } from "./text.ts";

/** Checks first, and throws a Refusal; what changes anything waits in `commit`. */
export type Answer = { readonly result: unknown } | { readonly commit: () => unknown };
export type Method = (account: Account, call: Call) => Answer;
export type Methods = Readonly<Record<string, Method>>;

/** Perch marks text by entities alone; a parser here would have no user. */
export function refuseParseMode(parameters: Parameters): void {
  if (parameters["parse_mode"] !== undefined) throw badRequest("emulator: parse_mode unsupported");
}

export function textFields({ text, entities }: FormattedText): Partial<Message> {
  return { text, ...(entities.length > 0 && { entities: [...entities] }) };
}

export function captionFields(caption: FormattedText | undefined): Partial<Message> {
  if (!caption) return {};
  const { text, entities } = caption;
  return { caption: text, ...(entities.length > 0 && { caption_entities: [...entities] }) };
}

export function previewField(options: unknown): Partial<Message> {
  if (typeof options !== "object" || options === null) return {};
  return { link_preview_options: options }; // an object of optional members only
}

/** The rich message of a call, its files among Telegram's. @throws Refusal */
export function richContent(
  account: Account,
  call: Call,
  options: { readonly inDraft: boolean },
): RichContent {
  return readRichMessage(call.parameters["rich_message"], {
    ...options,
    takesMarkup: !account.lacks.has("richMarkup"),
    media(kind, input) {
      // Bot API sendRichMessageDraft: neither uploads nor fetches.
      if (options.inDraft && /^(attach:|https?:)/.test(String(input["media"]))) {
        throw badRequest("invalid rich message file identifier specified");
      }
      const name = NAMES[kind];
      return mediaFields(account, stored(account, checkedSource(account, call, name, input["media"])), input)[
        name
      ];
    },
  });
}

const NAMES: Readonly<Record<MediaBlock, MediaName>> = {
  photo: "photo",
  video: "video",
  animation: "animation",
  audio: "audio",
  voice_note: "voice",
  document: "document",
};

/** For methods whose result is just True. */
export function commits(change: () => unknown): Answer {
  return {
    commit() {
      change();
      return true;
    },
  };
}
