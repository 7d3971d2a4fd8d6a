import type { PhotoSize } from "grammy/types";
import type { MediaKind, TextBlock, Unfetched } from "../../src/core/blocks.ts";
import { safeName } from "../../src/core/names.ts";

export type Content = readonly (TextBlock | Unfetched)[];

/**
 * Bot API getFile: bots can download files of up to 20 MB. The server counts 20 << 20 (telegram-bot-api Client.h); the
 * little between the two is left, so that the bound is the one that people are told.
 */
export const MOST_DOWNLOAD_BYTES = 20_000_000;

/**
 * What names a file to `fetch`: Telegram's file_id; behind "#" the declared size where it is too large for bots, so
 * that it is refused at once. File ids are letters, digits, "-" and "_".
 */
function refOf(fileId: string, bytes: number | undefined): string {
  return bytes !== undefined && bytes > MOST_DOWNLOAD_BYTES ? `${fileId}#${bytes}` : fileId;
}

export function readRef(ref: string): { readonly fileId: string; readonly tooLargeBytes?: number } {
  const [fileId = "", bytes] = ref.split("#");
  return { fileId, ...(bytes === undefined ? {} : { tooLargeBytes: Number(bytes) }) };
}

type TelegramFile = {
  readonly file_id: string;
  readonly file_size?: number;
  readonly mime_type?: string;
  readonly file_name?: string;
  readonly duration?: number;
  readonly thumbnail?: PhotoSize;
};

export function announced(kind: MediaKind, file: TelegramFile, label?: string): Unfetched {
  const filename = safeName(file.file_name);
  return {
    type: "unfetched",
    kind,
    ref: refOf(file.file_id, file.file_size),
    // That of a sound is the cover of its album, that of a document its first page, too small to read.
    ...(file.thumbnail && (kind === "image" || kind === "video")
      ? { thumbnail: refOf(file.thumbnail.file_id, file.thumbnail.file_size) }
      : {}),
    declared: {
      ...(file.mime_type === undefined ? {} : { mimeType: file.mime_type }),
      ...(filename === undefined ? {} : { filename }),
      ...(file.file_size === undefined ? {} : { bytes: file.file_size }),
      ...(file.duration === undefined ? {} : { durationSeconds: file.duration }),
      ...(label === undefined ? {} : { label }),
    },
  };
}

/** The largest of the sizes that a bot may download. The last is not promised to be the largest. */
export function photo(sizes: readonly PhotoSize[], label: string, otherwise: string): Content {
  const [largest] = sizes
    .filter(({ file_size }) => (file_size ?? 0) <= MOST_DOWNLOAD_BYTES)
    .toSorted((one, other) => other.width * other.height - one.width * one.height);
  // Telegram makes every photo a JPEG.
  return largest ? [announced("image", { ...largest, mime_type: "image/jpeg" }, label)] : text(otherwise);
}

/** By the declared type, which decides no more than how large it may be. An SVG is a document. */
export function familyOf(mimeType = ""): MediaKind {
  const family = mimeType.slice(0, mimeType.indexOf("/"));
  if (mimeType.startsWith("image/svg")) return "file";
  return family === "image" || family === "audio" || family === "video" ? family : "file";
}

export function text(words: string): readonly TextBlock[] {
  return words.trim() === "" ? [] : [{ type: "text", text: words }];
}
