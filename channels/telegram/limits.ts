import type { ChannelLimits } from "../../src/core/channel.ts";
import type { TelegramSettings } from "./settings.ts";

const UPLOAD_BYTES = 50 * 1024 * 1024; // Bot API "Sending files": 50 MB, and 10 MB for photos
const OWN_SERVER_UPLOAD_BYTES = 2000 * 1024 * 1024; // Bot API "Using a Local Bot API Server": 2000 MB

/** What the Bot API at api.telegram.org takes. */
export const LIMITS: ChannelLimits = limitsWith(UPLOAD_BYTES);

/** What the server takes that the operator uses. */
export function limitsOf({ serverFolder }: Pick<TelegramSettings, "serverFolder">): ChannelLimits {
  return serverFolder === undefined ? LIMITS : limitsWith(OWN_SERVER_UPLOAD_BYTES);
}

function limitsWith(bytes: number): ChannelLimits {
  return {
    // Bot API sendMessage: 1–4096 after entities; the rest is room for the words that mark a text as sent again.
    textLength: 4096 - 96,
    captionLength: 1024, // Bot API sendPhoto: 0–1024 after entities
    fileBytes: bytes,
    shows: {
      image: {
        types: ["image/jpeg", "image/png", "image/webp"],
        bytes: 10 * 1024 * 1024,
        sides: 10_000, // Bot API sendPhoto: width and height together
        ratio: 20,
        plain: true,
      },
      animation: { types: ["image/gif"], bytes },
      video: { types: ["video/mp4"], bytes },
      audio: { types: ["audio/mpeg", "audio/mp4", "audio/x-m4a"], bytes }, // Bot API sendAudio: .MP3, .M4A
      voice: { types: ["audio/ogg"], bytes },
    },
    album: { size: 10, mixes: [["image", "video"], ["file"], ["audio"]] }, // Bot API sendMediaGroup: 2–10
    drafts: true,
    choices: 12, // a hundred would go on a keyboard, and nobody would read them
  };
}
