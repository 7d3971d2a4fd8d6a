import type { proto } from "@whiskeysockets/baileys";
import type { MediaItem, Piece, PlatformId } from "../../../../src/core/channel.ts";
import { GatewayError, hasCode } from "../../../../src/core/errors.ts";
import { formName } from "../../../../src/core/forms.ts";
import { inAlbum } from "./compose.ts";
import { albumContent, fileContent, type Sending, type SendParts } from "./contents.ts";
import type { Form, Forms } from "./forms.ts";
import { post } from "./post.ts";

/**
 * Sends an album: the message that holds it together, then each file in order. What was accepted is not sent again. A file
 * that is refused goes as a document, and what comes behind it as single files: an album with a hole is never shown whole.
 * @throws GatewayError "send.refused" or "send.unanswered" once the others stand there, where one of them cannot.
 */
export async function sendAlbum(
  items: readonly MediaItem[],
  sending: Sending,
  parts: SendParts,
): Promise<readonly PlatformId[]> {
  let parent = await held(items, sending, parts);
  const sent: PlatformId[] = [];
  const failed: GatewayError[] = [];
  for (const [n, item] of items.entries()) {
    const piece = n === 0 ? sending.piece : withoutReply(sending.piece);
    const outcome = await sendChild(item, String(n), parent, { ...sending, piece }, parts);
    if (outcome.id !== undefined) sent.push(outcome.id);
    else failed.push(outcome.error);
    if (!outcome.asPlanned) parent = undefined;
  }
  const [first] = failed;
  if (!first) return sent;
  const words = `${failed.length} of ${items.length} files of an album did not arrive: ${first.message}`;
  throw new GatewayError(first.code, words, { cause: first });
}

/** The key of the message that holds it together; without it the files stand one by one. */
async function held(
  items: readonly MediaItem[],
  sending: Sending,
  parts: SendParts,
): Promise<proto.IMessageKey | undefined> {
  const { piece, forms, to, signal } = sending;
  if (forms.has("document")) return undefined;
  const id = parts.ids.idOf(piece, { part: "album", form: formName(forms) });
  // The first file carries what is answered.
  const make = (): Promise<proto.IMessage> =>
    albumContent(items, { ...sending, piece: withoutReply(piece) }, parts);
  const error = await ended(post({ id, to, forms, make }, parts, signal));
  return error ? undefined : { remoteJid: to.jid, fromMe: true, id };
}

type Child = { readonly asPlanned: boolean } & (
  | { readonly id: PlatformId }
  | { readonly id?: undefined; readonly error: GatewayError }
);

async function sendChild(
  item: MediaItem,
  part: string,
  parent: proto.IMessageKey | undefined,
  sending: Sending,
  parts: SendParts,
): Promise<Child> {
  const { piece, forms, to, signal } = sending;
  const { ids, outbox } = parts;
  const idIn = (inForm: Forms): string => ids.idOf(piece, { part, form: formName(inForm) });
  const documents = new Set<Form>([...forms, "document"]);
  // An earlier attempt may have come to that.
  if ((await outbox.find(idIn(documents)))?.accepted)
    return { id: idIn(documents), asPlanned: forms.has("document") };
  const sendIn = async (
    inForm: Forms,
    album: proto.IMessageKey | undefined,
  ): Promise<GatewayError | undefined> => {
    const make = async (): Promise<proto.IMessage> => {
      const message = await fileContent(item, { ...sending, forms: inForm }, parts);
      return album ? inAlbum(message, album) : message;
    };
    return await ended(post({ id: idIn(inForm), to, forms: inForm, make }, parts, signal));
  };
  const error = await sendIn(forms, parent);
  if (!error) return { id: idIn(forms), asPlanned: true };
  // What may have arrived is not sent a second time.
  if (error.code !== "send.refused" || forms.has("document")) return { error, asPlanned: false };
  const again = await sendIn(documents, undefined);
  return again ? { error: again, asPlanned: false } : { id: idIn(documents), asPlanned: false };
}

function withoutReply({ replyTo: _answered, ...piece }: Piece): Piece {
  return piece;
}

/** What ended it for good, so that the others may go. @throws whatever else ended it. */
async function ended(posting: Promise<void>): Promise<GatewayError | undefined> {
  try {
    await posting;
    return undefined;
  } catch (thrown) {
    if (hasCode(thrown, "send.refused") || hasCode(thrown, "send.unanswered")) return thrown;
    throw thrown;
  }
}
