import { extname } from "node:path";
import type { Message } from "grammy/types";
import { lookup } from "mime-types";
import type { Account } from "./account.ts";
import { imageSize, type Size, type StoredFile } from "./files.ts";
import { badRequest, Refusal } from "./refusal.ts";
import { integer, type Call, type Parameters } from "./request.ts";
import type { MediaName, SentMedia } from "./sent-log.ts";

const PHOTO_BYTES = 10 << 20; // Bot API "Sending files": 10 MB max size for photos, 50 MB for other files
const UPLOAD_BYTES = 50 << 20;
const LOCAL_UPLOAD_BYTES = 2000 << 20; // Bot API "Using a Local Bot API Server"
const PHOTO_SIDES = 10_000; // Bot API sendPhoto: width and height together
const PHOTO_RATIO = 20;

/** Where a kind is stored, and what Telegram takes it for when nothing says more. */
export const MEDIA: Readonly<Record<MediaName, { folder: string; extension: string; mimeType: string }>> = {
  photo: { folder: "photos", extension: "jpg", mimeType: "image/jpeg" },
  document: { folder: "documents", extension: "bin", mimeType: "application/octet-stream" },
  audio: { folder: "music", extension: "mp3", mimeType: "audio/mpeg" },
  voice: { folder: "voice", extension: "oga", mimeType: "audio/ogg" },
  video: { folder: "videos", extension: "mp4", mimeType: "video/mp4" },
  video_note: { folder: "video_notes", extension: "mp4", mimeType: "video/mp4" },
  animation: { folder: "animations", extension: "mp4", mimeType: "video/mp4" },
  sticker: { folder: "stickers", extension: "webp", mimeType: "image/webp" },
};

export type Source = {
  readonly kind: MediaName;
  readonly bytes: Buffer;
  readonly size: Size | undefined;
  /** What Telegram has already: sent again by its id. */
  readonly known?: StoredFile;
  readonly fileName?: string;
};

export type Media = { readonly sent: SentMedia; readonly file: StoredFile; readonly size: Size | undefined };

/** Finds the bytes, uploaded or known, and checks them. Nothing is stored yet. */
export function checkedSource(account: Account, call: Call, kind: MediaName, given: unknown): Source {
  const direct = call.uploads.get(kind);
  const reference = typeof given === "string" ? given : "";
  const attached = reference.startsWith("attach://") ? call.uploads.get(reference.slice(9)) : undefined;
  const upload = attached ?? (reference === "" ? direct : undefined);
  if (!upload) {
    if (reference === "") throw badRequest(`there is no ${kind} in the request`);
    if (/^https?:/i.test(reference)) throw badRequest("emulator: sending by URL unsupported");
    const known = account.files.get(reference);
    return { kind, bytes: known.bytes, size: imageSize(known.bytes), known };
  }
  const { bytes, fileName } = upload;
  if (bytes.length === 0) throw badRequest("file must be non-empty");
  if (bytes.length > (account.isLocal ? LOCAL_UPLOAD_BYTES : UPLOAD_BYTES))
    throw new Refusal(413, "Request Entity Too Large");
  const size = kind === "photo" ? photoSize(bytes) : imageSize(bytes);
  return { kind, bytes, size, ...(fileName !== "" && { fileName }) };
}

function photoSize(bytes: Buffer): Size {
  if (bytes.length > PHOTO_BYTES) {
    throw badRequest(
      `file of size ${bytes.length} bytes is too big for a photo; the maximum size is ${PHOTO_BYTES} bytes`,
    );
  }
  const size = imageSize(bytes);
  if (!size) throw badRequest("IMAGE_PROCESS_FAILED");
  const { width, height } = size;
  const ratio = Math.max(width, height) / Math.min(width, height);
  if (width + height > PHOTO_SIDES || !(ratio <= PHOTO_RATIO)) throw badRequest("PHOTO_INVALID_DIMENSIONS");
  return size;
}

export function stored(account: Account, { kind, bytes, size, known, fileName }: Source): Media {
  const { folder, extension, mimeType } = MEDIA[kind];
  const guessed = kind === "photo" ? false : lookup(fileName ?? "");
  const file =
    known ??
    account.files.add({
      bytes,
      folder,
      extension: extname(fileName ?? "").slice(1) || extension,
      mimeType: guessed || mimeType,
      ...(fileName !== undefined && kind !== "photo" && { fileName }),
    });
  const sent = {
    kind,
    fileId: file.fileId,
    bytes,
    fileName: fileName ?? file.fileName,
    mimeType: file.mimeType,
  };
  return { sent, file, size };
}

export function mediaFields(
  account: Account,
  { sent, file, size }: Media,
  parameters: Parameters,
): Partial<Message> {
  const base = { file_id: file.fileId, file_unique_id: file.uniqueId, file_size: file.size };
  const named = {
    ...base,
    ...(file.fileName !== undefined && { file_name: file.fileName }),
    ...(file.mimeType !== undefined && { mime_type: file.mimeType }),
  };
  const duration = integer(parameters["duration"]) ?? 0;
  const width = integer(parameters["width"]) ?? size?.width ?? 320;
  const height = integer(parameters["height"]) ?? size?.height ?? 320;
  switch (sent.kind) {
    case "photo":
      return { photo: photoSizes(account, file, { width, height }) };
    case "document":
      return { document: named };
    case "audio":
      return { audio: { ...named, duration } };
    case "voice":
      return { voice: { ...named, duration } };
    case "video":
      return { video: { ...named, duration, width, height } };
    case "video_note":
      return { video_note: { ...base, duration, length: width } };
    case "animation":
      // Set as well for older clients: Bot API Message.animation.
      return { animation: { ...named, duration, width, height }, document: named };
    case "sticker":
      return {
        sticker: { ...base, type: "regular", width, height, is_animated: false, is_video: false },
      };
  }
}

const LONG_SIDES = [90, 320, 800]; // Telegram's own smaller sizes of a photo: s, m, x

/** A photo as updates carry it, smallest first; only the last, the real one, holds the whole picture. */
export function photoSizes(account: Account, file: StoredFile, size: Size): NonNullable<Message["photo"]> {
  const longSide = Math.max(size.width, size.height);
  const smaller = LONG_SIDES.filter((side) => side < longSide).map((side) => {
    const scaled = (length: number) => Math.max(1, Math.round((length * side) / longSide));
    const bytes = file.bytes.subarray(0, Math.ceil((file.bytes.length * side) / (longSide * 2)));
    const { fileId, uniqueId } = account.files.add({ bytes, folder: "photos", extension: "jpg" });
    return {
      file_id: fileId,
      file_unique_id: uniqueId,
      width: scaled(size.width),
      height: scaled(size.height),
      file_size: bytes.length,
    };
  });
  return [...smaller, { file_id: file.fileId, file_unique_id: file.uniqueId, ...size, file_size: file.size }];
}
