import { normalizeMessageContent, type proto } from "@whiskeysockets/baileys";

/** What a message's stanza says of its content in the clear. */
export function stanzaAttrs(message: proto.IMessage): Record<string, string> {
  const content = normalizeMessageContent(message) ?? {};
  if (content.reactionMessage) return { type: "reaction" };
  if (content.pollCreationMessage || content.pollCreationMessageV3 || content.pollUpdateMessage)
    return { type: "poll" };
  const mediatype = MEDIA.find(([key]) => content[key])?.[1];
  return mediatype === undefined ? { type: "text" } : { type: "media", mediatype };
}

const MEDIA = [
  ["imageMessage", "image"],
  ["videoMessage", "video"],
  ["audioMessage", "audio"],
  ["documentMessage", "document"],
  ["stickerMessage", "sticker"],
  ["locationMessage", "location"],
  ["contactMessage", "vcard"],
] as const satisfies readonly (readonly [keyof proto.IMessage, string])[];
