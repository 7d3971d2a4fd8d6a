import type { proto, WAMessageKey } from "@whiskeysockets/baileys";
import { z } from "zod";
import { GatewayError } from "../../../../src/core/errors.ts";
import type { MediaSort } from "./media-keys.ts";
import type { Seal } from "../keys/seal.ts";

/** What the seal is for: a reference opens nothing else, and nothing else a reference. */
const PLACE = "media";

/** The file in a message: where it lies, what opens it, and what it must turn out to be. */
export type AnnouncedMedia = z.output<typeof announced>;

const bytes = z.base64().transform((text): Uint8Array => Buffer.from(text, "base64"));

const announced = z.strictObject({
  sort: z.enum(["image", "video", "audio", "document", "sticker"]),
  /** As the sender wrote it: `mediaAddress` says what is taken of it. */
  url: z.string().exactOptional(),
  path: z.string().exactOptional(),
  /** Absent where the message came without, as of media that can be viewed only on the phone. */
  key: bytes.exactOptional(),
  /** SHA-256 of what is sent over the line, and of the file itself. */
  sealedSha256: bytes.exactOptional(),
  sha256: bytes.exactOptional(),
  /** Of the file itself. */
  bytes: z.int().min(0).exactOptional(),
  /** The message, for the phone that is asked to upload it again. */
  of: z.strictObject({
    id: z.string(),
    chat: z.string(),
    fromMe: z.boolean(),
    participant: z.string().exactOptional(),
  }),
});

type Written = z.input<typeof announced>;

/** What all messages with a file have in common. */
type MediaMessage = Pick<
  proto.Message.IDocumentMessage,
  "url" | "directPath" | "mediaKey" | "fileEncSha256" | "fileSha256" | "fileLength"
>;

/**
 * The file of a message without wrappers, as one sealed string: `Unfetched.ref`. The same message gives the same string,
 * for a repeat is known by it. What a sender left out or wrote wrongly is told when it is fetched.
 * @throws TypeError where the content holds no file.
 */
export function mediaRef(content: proto.IMessage, key: WAMessageKey, seal: Seal): string {
  const [sort, message] = mediaIn(content);
  const written: Written = {
    sort,
    ...present("url", message.url),
    ...present("path", message.directPath),
    ...present("key", inBase64(message.mediaKey)),
    ...present("sealedSha256", inBase64(message.fileEncSha256)),
    ...present("sha256", inBase64(message.fileSha256)),
    ...present("bytes", bytesOf(message)),
    of: {
      id: key.id ?? "",
      chat: key.remoteJid ?? "",
      fromMe: key.fromMe ?? false,
      ...present("participant", key.participant),
    },
  };
  return seal.sealAlike(Buffer.from(JSON.stringify(written)), PLACE);
}

/** @throws GatewayError "media.unavailable" for what `mediaRef` has not made, or has sealed with another key. */
export function readMediaRef(ref: string, seal: Seal): AnnouncedMedia {
  try {
    return announced.parse(JSON.parse(seal.open(ref, PLACE).toString("utf8")));
  } catch {
    // No cause: what failed to parse holds the file's key.
    throw new GatewayError(
      "media.unavailable",
      "what is known of the file cannot be read; was stateKey changed? Ask for the file again",
    );
  }
}

function mediaIn(content: proto.IMessage): readonly [MediaSort, MediaMessage] {
  if (content.imageMessage) return ["image", content.imageMessage];
  if (content.videoMessage) return ["video", content.videoMessage];
  if (content.ptvMessage) return ["video", content.ptvMessage];
  if (content.audioMessage) return ["audio", content.audioMessage];
  if (content.documentMessage) return ["document", content.documentMessage];
  if (content.stickerMessage) return ["sticker", content.stickerMessage];
  throw new TypeError("the message holds no file");
}

/** How many bytes a message says that its file has; undefined where it says nothing that can be. */
export function bytesOf({ fileLength }: Pick<MediaMessage, "fileLength">): number | undefined {
  const length = Number(fileLength ?? Number.NaN); // a Long says its number as text
  return Number.isSafeInteger(length) && length >= 0 ? length : undefined;
}

function inBase64(value: Uint8Array | null | undefined): string | undefined {
  return value && value.length > 0 ? Buffer.from(value).toString("base64") : undefined;
}

function present<Name extends string, T>(
  name: Name,
  value: T | null | undefined,
): { readonly [key in Name]?: T } {
  return (value === undefined || value === null || value === "" ? {} : { [name]: value }) as {
    readonly [key in Name]?: T;
  }; // a computed name is a string to the compiler
}
