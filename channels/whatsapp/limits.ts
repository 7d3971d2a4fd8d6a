import type { ChannelLimits } from "../../src/core/channel.ts";

const MB = 1_000_000;

/** Below what clients take, which nobody has written down; the numbers for media are the Cloud API's, which are. */
export const LIMITS: ChannelLimits = {
  // 4,000 with the signs that stand for marks; the rest is room for the words that mark a text as sent again.
  textLength: 3_900,
  captionLength: 1_024,
  fileBytes: 100 * MB,
  shows: {
    // What GIF and WebP would be here, videos and stickers, is something else than a picture in an answer.
    image: { types: ["image/jpeg", "image/png"], bytes: 5 * MB, sides: 10_000, ratio: 20, plain: true },
    video: { types: ["video/mp4"], bytes: 16 * MB },
    audio: {
      types: ["audio/mpeg", "audio/mp4", "audio/x-m4a", "audio/aac", "audio/amr"],
      bytes: 16 * MB,
      captionless: true,
    },
    voice: { types: ["audio/ogg"], bytes: 16 * MB, captionless: true },
  },
  album: { size: 10, mixes: [["image", "video"]] },
  drafts: false,
};
