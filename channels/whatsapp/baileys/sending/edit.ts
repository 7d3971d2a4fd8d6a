import type { proto } from "@whiskeysockets/baileys";
import type { PlatformId } from "../../../../src/core/channel.ts";
import { GatewayError } from "../../../../src/core/errors.ts";
import { formName, stepDown } from "../../../../src/core/forms.ts";
import type { Rendered } from "../../../../src/core/tree.ts";
import { editOf, textIn } from "./compose.ts";
import { type Sending, type SendParts, textContent } from "./contents.ts";
import type { Forms } from "./forms.ts";
import { post } from "./post.ts";

/** Clients pass over later edits without a word. */
const EDITABLE_MS = 15 * 60_000;

/**
 * Puts a text in the place of an earlier one, once: each edit is a message of its own, and many look like a machine.
 * @throws GatewayError "send.refused" with the step-down "new" where it cannot take its place.
 */
export async function sendEdit(
  replaced: PlatformId,
  rendered: Rendered,
  sending: Sending,
  parts: SendParts,
): Promise<PlatformId> {
  const { piece, forms, to, signal } = sending;
  const { outbox, ids, host } = parts;
  const id = ids.idOf(piece, { part: "edit", form: formName(forms) });
  const earlier = await outbox.find(replaced);
  const isOwn = earlier?.editedBy === id;
  const now = host.clock.now();
  if (!earlier || parts.contacts.jidOf(earlier.chat) !== parts.contacts.jidOf(to.chat))
    throw asNew("is not kept any more", forms);
  if (textIn(earlier.message) === undefined) throw asNew("is no text", forms);
  if (earlier.editedBy !== undefined && !isOwn) throw asNew("was edited before", forms);
  if (!isOwn && now - earlier.at > EDITABLE_MS) throw asNew("is older than 15 min", forms);
  await outbox.keep(replaced, { ...earlier, editedBy: id });
  const key = { remoteJid: to.jid, fromMe: true, id: replaced };
  const make = async (): Promise<proto.IMessage> =>
    editOf(key, await textContent(rendered, sending, parts), now);
  await post({ id, to, forms, make, attributes: { edit: "1" } }, parts, signal);
  return replaced;
}

function asNew(why: string, forms: Forms): GatewayError {
  const form = stepDown(forms, "new");
  return new GatewayError(
    "send.refused",
    `a message of ours ${why}, so nothing can take its place`,
    form === undefined ? {} : { stepDown: form },
  );
}
