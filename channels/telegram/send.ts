import type { Api, InputFile } from "grammy";
import type { Message } from "grammy/types";
import type { MediaBlock } from "../../src/core/blocks.ts";
import type { Attempt, MediaForm, MediaItem, Piece, PlatformId } from "../../src/core/channel.ts";
import type { ChannelHost } from "../../src/core/host.ts";
import { asError, GatewayError } from "../../src/core/errors.ts";
import { formsOf } from "../../src/core/forms.ts";
import { grammySignal, type GrammySignal } from "./deadline.ts";
import { failureOf } from "./failures.ts";
import type { Form, Forms } from "./forms.ts";
import { uploadName } from "./names.ts";
import type { Pace } from "./pace.ts";
import {
  captionParameters,
  messageIn,
  richParameters,
  type TextBody,
  textParameters,
} from "./piece-parameters.ts";
import { destination, guestQuery } from "./place.ts";
import { isEmpty, isUnchanged, sendError } from "./refusals.ts";
import type { RichChats } from "./rich-chats.ts";

export type SendParts = {
  readonly api: Api["raw"];
  readonly host: Pick<ChannelHost, "accept" | "blobs" | "clock" | "log">;
  readonly pace: Pace;
  readonly file: (bytes: AsyncIterable<Uint8Array>, name: string) => InputFile;
  readonly linkPreviews: boolean | undefined;
  readonly rich: RichChats;
  readonly isQuiet: (now: number) => boolean;
};

/** @throws GatewayError "send.*" where the outcome is known; an Error without a code where it is not. */
export async function send(
  piece: Piece,
  attempt: Attempt,
  parts: SendParts,
  signal: AbortSignal,
): Promise<readonly PlatformId[]> {
  const forms = formsOf<Form>(attempt);
  const first = await tried(piece, forms, parts, signal);
  if (first.movedTo === undefined) return first.ids;
  // A group that became a supergroup has another number; nothing was sent to the old one.
  tellMoved(piece.to.chat, first.movedTo, parts);
  const moved = await tried({ ...piece, to: { ...piece.to, chat: first.movedTo } }, forms, parts, signal);
  if (moved.movedTo === undefined) return moved.ids;
  throw new GatewayError("send.not_written", "the group has moved twice while this was sent");
}

type Tried = { readonly ids: readonly PlatformId[]; readonly movedTo?: never } | { readonly movedTo: string };

async function tried(piece: Piece, forms: Forms, parts: SendParts, signal: AbortSignal): Promise<Tried> {
  try {
    const ids = await call(piece, forms, parts, grammySignal(signal));
    parts.pace.passed();
    return { ids };
  } catch (thrown) {
    const failure = failureOf(thrown);
    if (failure.kind === "refused" && failure.movedTo !== undefined)
      return { movedTo: String(failure.movedTo) };
    const isRich = richParameters(piece, forms, parts.rich) !== undefined;
    // An edit that asks for what stands there was made before.
    if (isUnchanged(failure) && piece.replaces !== undefined) return { ids: [piece.replaces] };
    // It has nothing in it that could be seen; a server without rich messages says so of each.
    if (isEmpty(failure) && !isRich) return { ids: [] };
    if (failure.kind === "refused" && failure.retryAfterMs !== undefined)
      parts.pace.blocked(piece.to, failure.retryAfterMs);
    throw sendError(failure, forms, isRich);
  }
}

function tellMoved(from: string, to: string, { host }: SendParts): void {
  // The message does not wait for it; Telegram tells of it by itself as well.
  host.accept([{ type: "chatMoved", id: `moved/${from}/${to}`, from, to }]).catch((thrown: unknown) => {
    host.log.warn({ err: asError(thrown) }, "that a group has a new number could not be stored");
  });
}

async function call(
  piece: Piece,
  forms: Forms,
  parts: SendParts,
  signal: GrammySignal,
): Promise<readonly PlatformId[]> {
  const { to, body } = piece;
  const query = guestQuery(to);
  if (query !== undefined) return await answerGuest(query, piece, forms, parts, signal);
  if (body.kind === "text") return await sendText(piece, body, forms, parts, signal);
  const items: readonly MediaItem[] = body.kind === "album" ? body.items : [body];
  const [only] = items;
  if (!only) throw new GatewayError("send.refused", "an album of no files was to be sent");
  parts.pace.took(to, items.length);
  if (items.length > 1) return idsOf(await sendAlbum(piece, items, forms, parts, signal));
  return idsOf(await sendFile(piece, only, forms, parts, signal));
}

async function sendText(
  piece: Piece,
  body: TextBody,
  forms: Forms,
  parts: SendParts,
  signal: GrammySignal,
): Promise<readonly PlatformId[]> {
  const { api, pace, linkPreviews } = parts;
  const rich = richParameters(piece, forms, parts.rich);
  const text = textParameters(body, forms, linkPreviews);
  const replaced = forms.has("new") ? undefined : messageId(piece.replaces);
  pace.took(piece.to);
  if (replaced !== undefined) {
    await api.editMessageText({ ...messageIn(piece.to, replaced), ...(rich ?? text) }, signal);
    return [String(replaced)];
  }
  const whole = common(piece, forms, parts);
  if (!rich) return idsOf(await api.sendMessage({ ...whole, ...text }, signal));
  try {
    return idsOf(await api.sendRichMessage({ ...whole, ...rich }, signal));
  } catch (thrown) {
    const failure = failureOf(thrown);
    if (failure.kind !== "refused" || failure.code !== 404) throw thrown;
    parts.rich.unknown();
    return idsOf(await api.sendMessage({ ...whole, ...text }, signal));
  }
}

/** Where a message goes, what it answers, and whether it makes a sound. */
function common({ to, replyTo }: Piece, forms: Forms, { host, isQuiet }: SendParts) {
  const replied = forms.has("alone") ? undefined : messageId(replyTo);
  return {
    ...destination(to),
    ...(replied === undefined
      ? {}
      : { reply_parameters: { message_id: replied, allow_sending_without_reply: true } }),
    ...(isQuiet(host.clock.now()) ? { disable_notification: true } : {}),
  };
}

async function sendFile(
  piece: Piece,
  { as, media, caption }: MediaItem,
  forms: Forms,
  parts: SendParts,
  signal: GrammySignal,
): Promise<Message> {
  const { api } = parts;
  const file = fileOf(media, parts);
  const whole = { ...common(piece, forms, parts), ...captionParameters(caption, forms) };
  switch (forms.has("document") ? "file" : as) {
    case "image":
      return await api.sendPhoto({ ...whole, photo: file }, signal);
    case "animation":
      return await api.sendAnimation({ ...whole, animation: file }, signal);
    case "video":
      return await api.sendVideo({ ...whole, ...sides(media), video: file }, signal);
    case "voice":
      return await api.sendVoice({ ...whole, ...duration(media), voice: file }, signal);
    case "audio":
      return await api.sendAudio({ ...whole, ...duration(media), audio: file }, signal);
    case "file":
      return await api.sendDocument({ ...whole, document: file }, signal);
  }
}

async function sendAlbum(
  piece: Piece,
  items: readonly MediaItem[],
  forms: Forms,
  parts: SendParts,
  signal: GrammySignal,
): Promise<readonly Message[]> {
  const media = items.map(({ as, media: block, caption }) => ({
    type: forms.has("document") ? "document" : GROUPED[as],
    media: fileOf(block, parts),
    ...captionParameters(caption, forms),
  }));
  // The types want an album of one kind at a time; Telegram takes photos and videos together.
  const whole = { ...common(piece, forms, parts), media: media as AlbumMedia };
  return await parts.api.sendMediaGroup(whole, signal);
}

/** What the Bot API calls the forms in an album. What moves or is a voice note is in none (limits.ts). */
const GROUPED: Readonly<Record<MediaForm, "photo" | "video" | "audio" | "document">> = {
  image: "photo",
  video: "video",
  audio: "audio",
  animation: "document",
  voice: "document",
  file: "document",
};

type AlbumMedia = Parameters<Api["raw"]["sendMediaGroup"]>[0]["media"];

/** Where the bot is a guest: one text, once, and without buttons, for their press does not say where they stand. */
async function answerGuest(
  query: string,
  { to, body }: Piece,
  forms: Forms,
  { api, pace, linkPreviews }: SendParts,
  signal: GrammySignal,
): Promise<readonly PlatformId[]> {
  if (body.kind !== "text")
    throw new GatewayError("send.refused", "a guest's question is answered with one text, and takes no file");
  const { text, ...more } = textParameters(body, new Set([...forms, "bare"]), linkPreviews);
  const content = { message_text: text, ...more };
  pace.took(to);
  const { inline_message_id } = await api.answerGuestQuery(
    {
      guest_query_id: query,
      result: { type: "article", id: "answer", title: "Answer", input_message_content: content },
    },
    signal,
  );
  return [inline_message_id];
}

function fileOf(media: MediaBlock, { host, file }: SendParts): InputFile {
  return file(host.blobs.open(media.blob), uploadName(media.filename ?? "") ?? media.type);
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

function messageId(ref: string | undefined): number | undefined {
  return ref !== undefined && /^\d+$/.test(ref) ? Number(ref) : undefined;
}

function idsOf(sent: Message | readonly Message[]): readonly PlatformId[] {
  return [sent].flat().map(({ message_id }) => String(message_id));
}
