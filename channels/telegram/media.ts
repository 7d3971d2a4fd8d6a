import type { MediaBlock } from "../../src/core/blocks.ts";

/** The ways that the Bot API has for media: the method's name and its parameter go by them. */
export type Way = "photo" | "animation" | "video" | "voice" | "audio" | "document";

const PHOTO_BYTES = 10 * 1024 * 1024; // Bot API sendPhoto: at most 10 MB
const PHOTO_SIDES = 10_000; // Bot API sendPhoto: width and height together
const PHOTO_RATIO = 20;

/** How a file is shown best; "document" always goes and shows no more than a name. */
export function wayOf(media: MediaBlock): Way {
  switch (media.mimeType) {
    case "image/jpeg":
    case "image/png":
    case "image/webp":
      return isPhoto(media) ? "photo" : "document";
    case "image/gif":
      return "animation";
    case "video/mp4":
      return "video";
    case "audio/ogg":
      return "voice";
    case "audio/mpeg":
    case "audio/mp4":
    case "audio/x-m4a":
      return "audio";
    default:
      return "document";
  }
}

/** An album holds photos and videos, or documents alone: one that cannot be shown makes all of them documents. */
export function albumWays(items: readonly MediaBlock[]): readonly ("photo" | "video" | "document")[] {
  const ways = items.map(wayOf);
  return ways.every((way) => way === "photo" || way === "video") ? ways : items.map(() => "document");
}

function isPhoto({ bytes, width, height }: MediaBlock): boolean {
  if (bytes > PHOTO_BYTES) return false;
  if (width === undefined || height === undefined) return true;
  const ratio = Math.max(width, height) / Math.min(width, height);
  return width + height <= PHOTO_SIDES && ratio <= PHOTO_RATIO;
}
