import type { proto } from "@whiskeysockets/baileys";
import type { MediaKind, TextBlock, Unfetched } from "../../../../src/core/blocks.ts";
import { safeName } from "../../../../src/core/names.ts";
import { bytesOf } from "../media/media-ref.ts";
import { unwrap } from "./unwrap.ts";
import {
  bracketed,
  contactWords,
  eventWords,
  locationWords,
  pollWords,
  repliedWords,
  templateWords,
} from "./words.ts";

export type Content = readonly (TextBlock | Unfetched)[];

/** Names the file of a message without wrappers for `Channel.fetch`. */
export type MediaRef = (content: proto.IMessage) => string;

/**
 * What a message says: its text or caption, then its file as announced; what is neither becomes words that name it, and
 * what this build does not know is named by its kind. Nothing for what only keeps WhatsApp itself going.
 */
export function contentOf(given: proto.IMessage, mediaRef: MediaRef): Content {
  const { kind, message } = unwrap(given);
  if (kind === undefined) return text("[unsupported message]");
  if (UNSAID.has(kind)) return [];
  const { imageMessage, videoMessage, ptvMessage, audioMessage, documentMessage, stickerMessage } = message;
  const file = (of: MediaKind, declared: Declared, label?: string): Unfetched =>
    announced(of, mediaRef(message), declared, label);
  if (imageMessage) return [...text(imageMessage.caption), file("image", imageMessage, "photo")];
  if (videoMessage)
    return [
      ...text(videoMessage.caption),
      file("video", videoMessage, videoMessage.gifPlayback ? "animation" : undefined),
    ];
  if (ptvMessage) return [file("video", ptvMessage, "video note")];
  if (audioMessage) return [file("audio", audioMessage, audioMessage.ptt ? "voice note" : undefined)];
  if (documentMessage)
    return [...text(documentMessage.caption), file(familyOf(documentMessage.mimetype), documentMessage)];
  if (stickerMessage) {
    const words = [
      "sticker",
      ...(stickerMessage.isAnimated ? ["animated"] : []),
      stickerMessage.accessibilityLabel,
    ];
    const said = text(bracketed(words.filter((word) => word).join(" ")));
    // A Lottie animation is a program for drawing, no picture.
    return stickerMessage.isLottie ? said : [...said, file("image", stickerMessage, "sticker")];
  }
  return text(wordsOf(message) ?? bracketed(`unsupported message: ${kind}`));
}

/** A message in a few words: how a reply names what it answers. */
export function inWords(content: Content): string {
  return content
    .map((part) => {
      if (part.type === "text") return part.text;
      // A sticker's picture comes with its words.
      if (part.declared.label === "sticker") return "";
      return `[${part.declared.label ?? part.declared.filename ?? part.kind}]`;
    })
    .filter((words) => words !== "")
    .join("\n");
}

export function text(words: string | null | undefined): readonly TextBlock[] {
  return words == null || words.trim() === "" ? [] : [{ type: "text", text: words }];
}

/** What is said to programs rather than to people, or read elsewhere. */
const UNSAID: ReadonlySet<keyof proto.IMessage> = new Set([
  "albumMessage",
  "call",
  "encEventResponseMessage",
  "encReactionMessage",
  "fastRatchetKeySenderKeyDistributionMessage",
  "keepInChatMessage",
  "messageHistoryBundle",
  "messageHistoryNotice",
  "pinInChatMessage",
  "pollUpdateMessage",
  "protocolMessage",
  "reactionMessage",
  "scheduledCallEditMessage",
  "stickerSyncRmrMessage",
]);

function wordsOf(message: proto.IMessage): string | undefined {
  if (message.conversation != null) return message.conversation;
  if (message.extendedTextMessage) return message.extendedTextMessage.text ?? "";
  const place = message.locationMessage ?? message.liveLocationMessage;
  if (place) return locationWords(place, message.liveLocationMessage != null);
  if (message.contactMessage) return contactWords([message.contactMessage]);
  if (message.contactsArrayMessage) return contactWords(message.contactsArrayMessage.contacts ?? []);
  const poll = pollIn(message);
  if (poll) return pollWords(poll);
  if (message.eventMessage) return eventWords(message.eventMessage);
  if (message.groupInviteMessage) {
    const { groupName, caption } = message.groupInviteMessage;
    return [bracketed(`invitation to the group “${groupName ?? ""}”`), ...(caption ? [caption] : [])].join(
      "\n",
    );
  }
  return repliedWords(message) ?? templateWords(message);
}

/** A question with answers to choose from, in whichever version. */
export function pollIn(message: proto.IMessage): proto.Message.IPollCreationMessage | undefined {
  return (
    message.pollCreationMessage ??
    message.pollCreationMessageV2 ??
    message.pollCreationMessageV3 ??
    message.pollCreationMessageV5 ??
    undefined
  );
}

type Declared = Pick<proto.Message.IDocumentMessage, "mimetype" | "fileName" | "fileLength"> &
  Pick<proto.Message.IAudioMessage, "seconds">;

function announced(kind: MediaKind, ref: string, declared: Declared, label?: string): Unfetched {
  const filename = safeName(declared.fileName ?? undefined);
  const bytes = bytesOf(declared);
  return {
    type: "unfetched",
    kind,
    ref,
    declared: {
      ...(declared.mimetype ? { mimeType: declared.mimetype } : {}),
      ...(filename === undefined ? {} : { filename }),
      ...(bytes === undefined ? {} : { bytes }),
      ...(declared.seconds ? { durationSeconds: declared.seconds } : {}),
      ...(label === undefined ? {} : { label }),
    },
  };
}

/** By the declared type, which decides no more than how large it may be. An SVG is a document. */
function familyOf(mimeType: string | null | undefined): MediaKind {
  const family = mimeType?.split("/")[0];
  if (mimeType?.startsWith("image/svg")) return "file";
  return family === "image" || family === "audio" || family === "video" ? family : "file";
}
