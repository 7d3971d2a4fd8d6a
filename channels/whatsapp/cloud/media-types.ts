import type { MediaForm } from "../../../src/core/channel.ts";
import { GatewayError } from "../../../src/core/errors.ts";

/** Cloud API, media upload: what it takes besides text. */
const TAKEN: ReadonlySet<string> = new Set([
  "application/msword",
  "application/pdf",
  "application/vnd.ms-excel",
  "application/vnd.ms-powerpoint",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  "audio/aac",
  "audio/amr",
  "audio/mp4",
  "audio/mpeg",
  "audio/ogg",
  "image/jpeg",
  "image/png",
  "image/webp",
  "video/3gpp",
  "video/mp4",
]);

/** Plain text with another name; the file keeps its own name. */
const IS_TEXT =
  /^(?:text\/.+|application\/(?:json|xml|yaml|x-yaml|toml|javascript|typescript|sql|x-sh|.+\+(?:json|xml))|image\/svg\+xml)$/;

/**
 * The type that a file is uploaded with.
 * @throws GatewayError "send.refused" for what Meta does not take in any form.
 */
export function uploadType(mimeType: string, as: MediaForm): string {
  if (as === "voice") return "audio/ogg; codecs=opus";
  if (mimeType === "audio/x-m4a") return "audio/mp4";
  if (TAKEN.has(mimeType)) return mimeType;
  if (IS_TEXT.test(mimeType)) return "text/plain";
  throw new GatewayError(
    "send.refused",
    `nothing was sent: WhatsApp takes no files of the type ${mimeType} from businesses; send a PDF, an Office file, text, ` +
      "a picture, a sound or a video",
  );
}
