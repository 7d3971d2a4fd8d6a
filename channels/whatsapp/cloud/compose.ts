import type { MediaItem, Piece } from "../../../src/core/channel.ts";
import type { Rendered } from "../../../src/core/tree.ts";
import { inSigns } from "../signs.ts";
import { interactiveOf, writtenOut } from "./choices.ts";
import type { Form, Forms } from "./forms.ts";
import { recipientOf } from "./people.ts";

export type TextBody = Extract<Piece["body"], { readonly kind: "text" }>;

/** What a message says, as the Graph API has it: its type, and what belongs to that. */
export type Content = { readonly type: string; readonly [part: string]: unknown };

export function textContent({ rendered, choices = [] }: TextBody, forms: Forms): Content {
  const text = inSigns(rendered);
  if (choices.length === 0) return plain(text);
  const interactive = forms.has("bare") ? undefined : interactiveOf(text, choices);
  return interactive ? { type: "interactive", interactive } : plain(writtenOut(text, choices));
}

/** `id` is what the upload gave. Nothing can stand below a sound. */
export function mediaContent(
  { as, media, caption }: MediaItem,
  { id, filename, forms }: { readonly id: string; readonly filename: string; readonly forms: Forms },
): Content {
  const below = caption === undefined ? {} : captionOf(caption);
  switch (forms.has("document") ? "file" : as) {
    case "image":
      return { type: "image", image: { id, ...below } };
    case "animation":
    case "video":
      return { type: "video", video: { id, ...below } };
    case "voice":
      return { type: "audio", audio: { id, voice: true } };
    case "audio":
      return { type: "audio", audio: { id } };
    case "file":
      return { type: "document", document: { id, filename: media.filename ?? filename, ...below } };
  }
}

/** The whole request. */
export function messageTo({ to, replyTo }: Piece, content: Content, forms: Forms): object {
  const answers = replyTo !== undefined && replyTo !== "" && !forms.has("alone");
  return {
    messaging_product: "whatsapp",
    recipient_type: "individual",
    ...recipientOf(to),
    ...(answers ? { context: { message_id: replyTo } } : {}),
    ...content,
  };
}

/** What could go through in the place of what was refused, the likeliest first. */
export function simplerForms({ body, replyTo }: Piece): readonly Form[] {
  return [
    ...(body.kind === "text" && (body.choices ?? []).length > 0 ? (["bare"] as const) : []),
    ...(body.kind === "media" && body.as !== "file" ? (["document"] as const) : []),
    ...(replyTo === undefined || replyTo === "" ? [] : (["alone"] as const)),
  ];
}

function plain(body: string): Content {
  return { type: "text", text: { body, preview_url: false } };
}

function captionOf(caption: Rendered): { readonly caption?: string } {
  const words = inSigns(caption);
  return words === "" ? {} : { caption: words };
}
