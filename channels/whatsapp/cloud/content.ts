import type { MediaKind, TextBlock, Unfetched } from "../../../src/core/blocks.ts";
import { safeName } from "../../../src/core/names.ts";
import { oneLine } from "../../../src/core/words.ts";
import {
  type CloudCard,
  type CloudInteractive,
  type CloudLocation,
  type CloudMedia,
  type CloudMessage,
  type CloudOrder,
  type CloudReferral,
  listed,
} from "./payload.ts";

export type Content = readonly (TextBlock | Unfetched)[];

/** What a message says: its words, then its file as announced; what is neither becomes words that name it. */
export function contentOf(message: CloudMessage): Content {
  return [...told(message), ...(message.referral ? referral(message.referral) : [])];
}

/** Its first words or what it is, for whoever answers it later. */
export function inWords(content: Content): string {
  return content
    .map((part) =>
      part.type === "text" ? part.text : `[${part.declared.label ?? part.declared.filename ?? part.kind}]`,
    )
    .join("\n");
}

function told(message: CloudMessage): Content {
  const { type = "", image, video, audio, document, sticker } = message;
  switch (type) {
    case "text":
      return text(message.text?.body ?? "");
    case "image":
      return media("image", image, "photo");
    case "video":
      return media("video", video, undefined);
    case "audio":
      return media("audio", audio, audio?.voice === true ? "voice note" : undefined);
    case "document":
      return media(familyOf(document?.mime_type), document, undefined);
    case "sticker":
      return [
        ...text(sticker?.animated === true ? "[animated sticker]" : "[sticker]"),
        ...media("image", sticker, "sticker"),
      ];
    case "location":
      return text(location(message.location ?? {}));
    case "contacts":
      return text(listed(message.contacts).map(card).join("\n"));
    case "interactive":
      return text(interactive(message.interactive ?? {}));
    case "button":
      return text(message.button?.text ?? "");
    case "order":
      return text(order(message.order ?? {}));
    default:
      return text(unsupported(message));
  }
}

function media(kind: MediaKind, file: CloudMedia | undefined, label: string | undefined): Content {
  if (file?.id === undefined) return text(`[${label ?? kind}, not available]`);
  const filename = safeName(file.filename);
  return [
    ...text(file.caption ?? ""),
    {
      type: "unfetched",
      kind,
      ref: file.id,
      declared: {
        ...(file.mime_type === undefined ? {} : { mimeType: file.mime_type }),
        ...(filename === undefined ? {} : { filename }),
        ...(label === undefined ? {} : { label }),
      },
    },
  ];
}

/** By the declared type, which decides no more than how large it may be. An SVG is a document. */
function familyOf(mimeType = ""): MediaKind {
  const family = mimeType.slice(0, mimeType.indexOf("/"));
  if (mimeType.startsWith("image/svg")) return "file";
  return family === "image" || family === "audio" || family === "video" ? family : "file";
}

function location({ latitude, longitude, name, address }: CloudLocation): string {
  return bracketed([`location ${latitude ?? "?"}, ${longitude ?? "?"}`, name, address]);
}

function card({ name, phones, emails }: CloudCard): string {
  return bracketed([
    `contact ${name?.formatted_name ?? ""}`.trim(),
    ...listed(phones).map(({ phone }) => phone),
    ...listed(emails).map(({ email }) => email),
  ]);
}

function interactive({ button_reply: button, list_reply: row, nfm_reply: form }: CloudInteractive): string {
  const chosen = (button ?? row)?.title;
  if (chosen !== undefined) return chosen;
  return bracketed([`filled-in form ${form?.name ?? ""}`.trim(), form?.response_json ?? form?.body]);
}

function order({ text: said, product_items: items }: CloudOrder): string {
  const lines = listed(items).map((item) => {
    const price = item.item_price === undefined ? "" : ` at ${item.item_price} ${item.currency ?? ""}`;
    return oneLine(`- ${item.quantity ?? 1} × ${item.product_retailer_id ?? "product"}${price}`);
  });
  return ["[order]", ...lines, ...(said === undefined || said === "" ? [] : [said])].join("\n");
}

/** What the Cloud API does not hand over: polls, view-once media, events. */
function unsupported({ type = "unknown", unsupported: what, errors }: CloudMessage): string {
  const kind = UNNAMED.has(type) ? (what?.type ?? "of a kind that is not handed to businesses") : type;
  const details = listed(errors)[0]?.error_data?.details;
  return bracketed([`unsupported message: ${kind.replaceAll("_", " ")}`, details]);
}

const UNNAMED: ReadonlySet<string> = new Set(["unsupported", "unknown", "errors"]);

/** The ad or post behind which somebody writes. */
function referral({ headline, body, source_url: url }: CloudReferral): Content {
  return text(bracketed(["they came here from an ad or a post", headline, body, url]));
}

function bracketed(parts: readonly (string | undefined)[]): string {
  const known = parts.flatMap((part) => (part === undefined || part === "" ? [] : [oneLine(part)]));
  return `[${known.join(", ")}]`;
}

function text(words: string): readonly TextBlock[] {
  return words.trim() === "" ? [] : [{ type: "text", text: words }];
}
