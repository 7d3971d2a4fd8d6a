import type { Api, InputFile } from "grammy";
import type { Message, MessageEntity } from "grammy/types";
import type { MediaBlock } from "../../src/core/blocks.ts";
import type { Attempt, BlobReader, MediaForm, MediaItem, Piece, PlatformId } from "../../src/core/channel.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { ChatAddress } from "../../src/core/identity.ts";
import type { Rendered } from "../../src/core/tree.ts";
import { grammySignal } from "./deadline.ts";
import { type Failure, failureOf } from "./failures.ts";
import { DIRECT_TOPIC } from "./inbound.ts";
import { uploadName } from "./names.ts";

export type SendParts = {
  readonly api: Api["raw"];
  readonly blobs: BlobReader;
  readonly file: (bytes: AsyncIterable<Uint8Array>, name: string) => InputFile;
};

/** The simpler forms that a refusal can name; a piece may need both. */
const PLAIN = "plain";
const DOCUMENT = "document";

/** @throws GatewayError "send.*" where the outcome is known; an Error without a code where it is not. */
export async function send(
  piece: Piece,
  attempt: Attempt,
  parts: SendParts,
  signal: AbortSignal,
): Promise<readonly PlatformId[]> {
  const form = attempt.form ?? "";
  try {
    return idsOf(await call(piece, form, parts, signal));
  } catch (thrown) {
    const failure = failureOf(thrown);
    if (failure.kind !== "refused" || failure.movedTo === undefined) throw sendError(failure, form);
    // A group that became a supergroup has another number; nothing was sent to the old one.
    const moved = { ...piece, to: { ...piece.to, chat: String(failure.movedTo) } };
    try {
      return idsOf(await call(moved, form, parts, signal));
    } catch (again) {
      throw sendError(failureOf(again), form);
    }
  }
}

/** Where a send goes. General, topic 1 of a forum, must not be named in it. */
export function destination({ chat, topic }: ChatAddress): {
  readonly chat_id: number;
  readonly message_thread_id?: number;
  readonly direct_messages_topic_id?: number;
} {
  const chat_id = Number(chat);
  if (topic === undefined || topic === "1") return { chat_id };
  if (topic.startsWith(DIRECT_TOPIC))
    return { chat_id, direct_messages_topic_id: Number(topic.slice(DIRECT_TOPIC.length)) };
  return { chat_id, message_thread_id: Number(topic) };
}

async function call(
  piece: Piece,
  form: string,
  parts: SendParts,
  nativeSignal: AbortSignal,
): Promise<Message | readonly Message[]> {
  const { api } = parts;
  const signal = grammySignal(nativeSignal);
  const plain = form.includes(PLAIN);
  const replied = /^\d+$/.test(piece.replyTo ?? "") ? Number(piece.replyTo) : undefined;
  const common = {
    ...destination(piece.to),
    ...(replied === undefined
      ? {}
      : { reply_parameters: { message_id: replied, allow_sending_without_reply: true } }),
  };
  const { body } = piece;
  if (body.kind === "text") {
    const text = {
      text: body.rendered.text,
      ...entities("entities", body.rendered, plain),
      link_preview_options: { is_disabled: true },
    };
    return await api.sendMessage({ ...common, ...text }, signal);
  }
  const items: readonly MediaItem[] = body.kind === "album" ? body.items : [body];
  const [only] = items;
  if (!only) throw new GatewayError("send.refused", "an album of no files was to be sent");
  if (items.length > 1) return await sendAlbum(items);
  const file = fileOf(only.media, parts);
  const whole = { ...common, ...captionOf(only.caption, plain) };
  switch (form.includes(DOCUMENT) ? "file" : only.as) {
    case "image":
      return await api.sendPhoto({ ...whole, photo: file }, signal);
    case "animation":
      return await api.sendAnimation({ ...whole, animation: file }, signal);
    case "video":
      return await api.sendVideo({ ...whole, ...sides(only.media), video: file }, signal);
    case "voice":
      return await api.sendVoice({ ...whole, ...duration(only.media), voice: file }, signal);
    case "audio":
      return await api.sendAudio({ ...whole, ...duration(only.media), audio: file }, signal);
    case "file":
      return await api.sendDocument({ ...whole, document: file }, signal);
  }

  async function sendAlbum(many: readonly MediaItem[]): Promise<readonly Message[]> {
    const media = many.map(({ as, media: block, caption }) => ({
      type: form.includes(DOCUMENT) ? DOCUMENT : GROUPED[as],
      media: fileOf(block, parts),
      ...captionOf(caption, plain),
    }));
    // The types want an album of one kind at a time; Telegram takes photos and videos together.
    return await api.sendMediaGroup({ ...common, media: media as AlbumMedia }, signal);
  }
}

/** What the Bot API calls the forms in an album. What moves or is a voice note is in none (limits in channel.ts). */
const GROUPED: Readonly<Record<MediaForm, "photo" | "video" | "audio" | "document">> = {
  image: "photo",
  video: "video",
  audio: "audio",
  animation: "document",
  voice: "document",
  file: "document",
};

type AlbumMedia = Parameters<Api["raw"]["sendMediaGroup"]>[0]["media"];

function fileOf(media: MediaBlock, { blobs, file }: SendParts): InputFile {
  return file(blobs.open(media.blob), uploadName(media.filename ?? "") ?? media.type);
}

function captionOf(
  caption: Rendered | undefined,
  plain: boolean,
): { caption?: string; caption_entities?: MessageEntity[] } {
  return caption ? { caption: caption.text, ...entities("caption_entities", caption, plain) } : {};
}

function entities<Name extends string>(
  name: Name,
  { marks }: Rendered,
  plain: boolean,
): { readonly [key in Name]?: MessageEntity[] } {
  // A mark's type is Telegram's own word, and it has the fields that go with it: render.ts writes both.
  const given = marks as readonly unknown[] as readonly MessageEntity[];
  return plain || given.length === 0 ? {} : ({ [name]: [...given] } as { [key in Name]: MessageEntity[] });
}

function sides({ width, height, durationSeconds }: MediaBlock): {
  width?: number;
  height?: number;
  duration?: number;
} {
  return {
    ...(width === undefined ? {} : { width }),
    ...(height === undefined ? {} : { height }),
    ...(durationSeconds === undefined ? {} : { duration: Math.round(durationSeconds) }),
  };
}

function duration({ durationSeconds }: MediaBlock): { duration?: number } {
  return durationSeconds === undefined ? {} : { duration: Math.round(durationSeconds) };
}

function idsOf(sent: Message | readonly Message[]): readonly PlatformId[] {
  return [sent].flat().map(({ message_id }) => String(message_id));
}

const CLOSED = /chat not found|user is deactivated|bot was (?:blocked|kicked)/i;
const AS_DOCUMENT =
  /PHOTO_|VIDEO_|MEDIA_INVALID|IMAGE_PROCESS_FAILED|VOICE_MESSAGES_FORBIDDEN|too big for a photo|specified type in the album/i;
const ENTITIES = /entit(?:y|ies)|ENTITY_|ENTITIES_/i;

/** What the gateway is told: which of its ways to go on is right. */
function sendError(failure: Failure, form: string): Error {
  switch (failure.kind) {
    case "not written":
      return new GatewayError("send.not_written", failure.why);
    case "no file":
      return new GatewayError("send.refused", `nothing was sent: ${failure.why}`);
    case "unknown":
      // The edge in front of the Bot API turns too large a body away before the Bot API sees it.
      if (failure.status === 413)
        return new GatewayError(
          "send.refused",
          "Telegram takes at most 50 MB in one upload; send a smaller file",
        );
      return new Error(failure.why);
    case "refused":
      return refusalError(failure, form);
  }
}

function refusalError(failure: Extract<Failure, { kind: "refused" }>, form: string): GatewayError {
  const { code, description, retryAfterMs } = failure;
  const words = `Telegram refused to send this (${code}): ${description}`;
  if (code === 429)
    return new GatewayError(
      "send.rate_limited",
      `Telegram asks to wait ${retryAfterMs === undefined ? "a while" : `${retryAfterMs / 1000} s`}`,
      retryAfterMs === undefined ? {} : { retryAfterMs },
    );
  // The token is no more, which says nothing against the message: it waits until the operator has set another.
  if (code === 401 || code === 404) return new GatewayError("send.not_written", words);
  if (code === 403 || CLOSED.test(description)) return new GatewayError("send.chat_closed", words);
  const simpler = AS_DOCUMENT.test(description) ? DOCUMENT : ENTITIES.test(description) ? PLAIN : undefined;
  if (simpler === undefined || form.includes(simpler)) return new GatewayError("send.refused", words);
  return new GatewayError("send.refused", words, { stepDown: form === "" ? simpler : `${form}, ${simpler}` });
}
