import type { proto } from "@whiskeysockets/baileys";
import type { MediaItem } from "../../../../src/core/channel.ts";
import type { Studio, Thumbnail, Waveform } from "../../../../src/core/host.ts";
import type { MediaBlock } from "../../../../src/core/blocks.ts";
import type { MediaSort } from "./media-keys.ts";

/** What messages of all kinds say of an uploaded file. */
export type UploadedFile = Required<
  Pick<
    proto.Message.IDocumentMessage,
    "mediaKey" | "fileSha256" | "fileEncSha256" | "fileLength" | "mediaKeyTimestamp"
  >
> &
  Pick<proto.Message.IDocumentMessage, "url" | "directPath">;

/** What is shown of a file before it is fetched. */
export type Look = { readonly thumbnail?: Thumbnail | undefined; readonly waveform?: Waveform | undefined };

/** Clients show it blurred, in the place of the file. */
const THUMBNAIL_SIDE = 96;
/** WhatsApp's clients draw so many. */
const WAVEFORM_STEPS = 64;

export function sortOf(as: MediaItem["as"]): Exclude<MediaSort, "sticker"> {
  switch (as) {
    case "image":
      return "image";
    case "video":
    case "animation":
      return "video";
    case "audio":
    case "voice":
      return "audio";
    case "file":
      return "document";
  }
}

/** Never rejects: what cannot be made is left out. */
export async function lookOf({ as, media }: MediaItem, studio: Studio): Promise<Look> {
  switch (sortOf(as)) {
    case "image":
    case "video":
      return { thumbnail: await studio.thumbnail(media, THUMBNAIL_SIDE) };
    case "audio":
      return { waveform: await studio.waveform(media, WAVEFORM_STEPS) };
    case "document":
      return {};
  }
}

/** The message for a file, without what stands below it. */
export function contentOf({ as, media }: MediaItem, file: UploadedFile, look: Look): proto.IMessage {
  const { thumbnail, waveform } = look;
  const shown = { ...file, mimetype: media.mimeType, ...picture(media, thumbnail) };
  const seconds = lengthOf(media.durationSeconds ?? waveform?.seconds ?? thumbnail?.seconds);
  switch (as) {
    case "image":
      return { imageMessage: shown };
    case "video":
      return { videoMessage: { ...shown, ...seconds } };
    case "animation":
      return { videoMessage: { ...shown, ...seconds, gifPlayback: true } };
    case "audio":
      return { audioMessage: { ...file, mimetype: media.mimeType, ...seconds, ptt: false } };
    case "voice":
      return {
        audioMessage: {
          ...file,
          mimetype: "audio/ogg; codecs=opus", // by this alone phones know what they can play as a voice note
          ...seconds,
          ptt: true,
          ...(waveform ? { waveform: waveform.levels } : {}),
        },
      };
    case "file": {
      const name = media.filename ?? "file";
      return { documentMessage: { ...file, mimetype: media.mimeType, fileName: name, title: name } };
    }
  }
}

function picture(
  { width, height }: MediaBlock,
  thumbnail: Thumbnail | undefined,
): Pick<proto.Message.IImageMessage, "width" | "height" | "jpegThumbnail"> {
  if (thumbnail) return { width: thumbnail.width, height: thumbnail.height, jpegThumbnail: thumbnail.jpeg };
  return width === undefined || height === undefined ? {} : { width, height };
}

/** Whole seconds; less than one would be shown as nothing. */
function lengthOf(seconds: number | undefined): { readonly seconds?: number } {
  return seconds === undefined ? {} : { seconds: Math.max(1, Math.round(seconds)) };
}
