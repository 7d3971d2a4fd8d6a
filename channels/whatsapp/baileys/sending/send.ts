import type { Attempt, MediaItem, Piece, PlatformId } from "../../../../src/core/channel.ts";
import { formName, formsOf } from "../../../../src/core/forms.ts";
import type { Rendered } from "../../../../src/core/tree.ts";
import { sendAlbum } from "./album.ts";
import { fileContent, type Sending, type SendParts, textContent } from "./contents.ts";
import { destinationOf } from "./destination.ts";
import { sendEdit } from "./edit.ts";
import type { Form } from "./forms.ts";
import { post } from "./post.ts";

/** @throws GatewayError "send.*" where the outcome is known; an Error without a code where it is not. */
export async function send(
  piece: Piece,
  attempt: Attempt,
  parts: SendParts,
  signal: AbortSignal,
): Promise<readonly PlatformId[]> {
  const { body } = piece;
  const to = await destinationOf(piece.to.chat, parts);
  const sending = { piece, forms: formsOf<Form>(attempt), to, signal };
  switch (body.kind) {
    case "text":
      return [await sendText(body.rendered, sending, parts)];
    case "media":
      return [await sendFile(body, sending, parts)];
    case "album":
      return await sendAlbum(body.items, sending, parts);
  }
}

async function sendText(rendered: Rendered, sending: Sending, parts: SendParts): Promise<PlatformId> {
  const { piece, forms, to, signal } = sending;
  if (piece.replaces !== undefined && !forms.has("new"))
    return await sendEdit(piece.replaces, rendered, sending, parts);
  const id = parts.ids.idOf(piece, { form: formName(forms) });
  await post({ id, to, forms, make: () => textContent(rendered, sending, parts) }, parts, signal);
  return id;
}

async function sendFile(item: MediaItem, sending: Sending, parts: SendParts): Promise<PlatformId> {
  const { piece, forms, to, signal } = sending;
  const id = parts.ids.idOf(piece, { form: formName(forms) });
  await post({ id, to, forms, make: () => fileContent(item, sending, parts) }, parts, signal);
  return id;
}
