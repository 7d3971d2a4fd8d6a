import type { Message, PhotoSize } from "grammy/types";
import type { Account } from "../account.ts";
import { imageSize, type StoredFile } from "../files.ts";
import { MEDIA, photoSizes } from "../media.ts";
import type { MediaName } from "../sent-log.ts";

/** `replyTo` names a message of the same chat; everything else is put into the message as it is. */
export type Extra = Partial<Message> & { readonly replyTo?: number };

export type PersonFile = Extra & {
  readonly fileName?: string;
  readonly mimeType?: string;
  /** Seconds. */
  readonly duration?: number;
  readonly mediaGroupId?: string;
  /** A size to declare that is not the true one: for files that are too big, without the bytes. */
  readonly declaredBytes?: number;
  /** The small JPEG that Telegram makes of a video. */
  readonly thumbnail?: Uint8Array;
};

export type StickerOf = {
  readonly emoji: string;
  readonly set: string;
  /** Drawn anew by the client (.tgs), or a video (.webm). */
  readonly moves?: "drawn" | "filmed";
};

/** What is in the message that a person sends with a file, beside who sends it and where. */
export function fileContent(
  account: Account,
  kind: Exclude<MediaName, "sticker">,
  bytes: Uint8Array,
  options: PersonFile,
): Partial<Message> {
  const file = uploaded(account, kind, bytes, options);
  const named = fieldsOf(account, file, options);
  const { file_name: _name, mime_type: type, ...bare } = named;
  const duration = options.duration ?? 1;
  switch (kind) {
    case "photo":
      // In three or four sizes, of which the largest has these bytes.
      return { photo: photoSizes(account, file, imageSize(file.bytes) ?? { width: 960, height: 1280 }) };
    case "document":
      return { document: named };
    case "voice":
      return { voice: { ...bare, ...(type !== undefined && { mime_type: type }), duration } };
    case "audio":
      return { audio: { ...named, duration } };
    case "video":
      return { video: { ...named, duration, width: 640, height: 480 } };
    case "video_note":
      return { video_note: { ...bare, duration, length: 240 } };
    case "animation":
      // For older clients it is a document too: Bot API Message.animation.
      return { animation: { ...named, duration, width: 160, height: 120 }, document: named };
  }
}

export function stickerContent(
  account: Account,
  bytes: Uint8Array,
  { emoji, set, moves }: StickerOf,
  options: PersonFile,
): Partial<Message> {
  const file = fieldsOf(account, uploaded(account, "sticker", bytes, options), options);
  const { file_name: _name, mime_type: _type, ...bare } = file;
  const of = { emoji, set_name: set, is_animated: moves === "drawn", is_video: moves === "filmed" };
  return { sticker: { ...bare, type: "regular", width: 512, height: 512, ...of } };
}

function uploaded(account: Account, kind: MediaName, bytes: Uint8Array, options: PersonFile): StoredFile {
  const { folder, extension, mimeType } = MEDIA[kind];
  return account.files.add({
    bytes,
    folder,
    extension: /\.(\w+)$/.exec(options.fileName ?? "")?.[1] ?? extension,
    mimeType: options.mimeType ?? mimeType,
    ...(options.fileName !== undefined && { fileName: options.fileName }),
    ...(options.declaredBytes !== undefined && { declaredBytes: options.declaredBytes }),
  });
}

function fieldsOf(account: Account, file: StoredFile, options: PersonFile) {
  return {
    file_id: file.fileId,
    file_unique_id: file.uniqueId,
    file_size: file.size,
    ...(file.fileName !== undefined && { file_name: file.fileName }),
    ...(file.mimeType !== undefined && { mime_type: file.mimeType }),
    ...(options.thumbnail !== undefined && { thumbnail: thumbnailOf(account, options.thumbnail) }),
  };
}

function thumbnailOf(account: Account, bytes: Uint8Array): PhotoSize {
  const file = account.files.add({ bytes, folder: "thumbnails", extension: "jpg" });
  const size = imageSize(file.bytes) ?? { width: 320, height: 240 };
  return { file_id: file.fileId, file_unique_id: file.uniqueId, file_size: file.size, ...size };
}
