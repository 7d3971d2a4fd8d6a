import type { MediaKind } from "../core/blocks.ts";

export type Sniffed = { readonly mimeType: string; readonly kind: MediaKind };

/**
 * What bytes are, by their signature; what somebody declared is only a hint where bytes cannot tell.
 * `head` is the first 4,100 bytes or all there are.
 */
export async function sniff(
  head: Uint8Array,
  hint: {
    readonly mimeType?: string | undefined;
    readonly filename?: string | undefined;
    readonly bytes: number;
  },
): Promise<Sniffed> {
  const { fileTypeFromBuffer } = await import("file-type");
  // FF FE begins UTF-16 and MPEG audio alike; and file-type throws on some truncated containers.
  const found = isUtf16(head) ? undefined : await fileTypeFromBuffer(head).catch(() => undefined);
  const mimeType = found ? canonical(found.mime, hint.mimeType) : await fromText(head, hint);
  return { mimeType, kind: kindOf(mimeType) };
}

/** One name for one thing, and the sound of a voice note where the container alone cannot say that it has no picture. */
function canonical(mime: string, declared: string | undefined): string {
  if (mime === "audio/ogg; codecs=opus") return "audio/ogg";
  if (mime === "video/webm" && declared?.startsWith("audio/")) return "audio/webm";
  if (mime === "video/mp4" && declared?.startsWith("audio/")) return "audio/mp4";
  return mime;
}

async function fromText(
  head: Uint8Array,
  hint: { mimeType?: string | undefined; filename?: string | undefined },
): Promise<string> {
  if (!isText(head)) return "application/octet-stream";
  const start = new TextDecoder().decode(head).trimStart().slice(0, 200).toLowerCase();
  if (/^(<\?xml[^>]*>\s*)?(<!--[^>]*-->\s*)?(<!doctype svg[^>]*>\s*)?<svg[\s>]/.test(start))
    return "image/svg+xml";
  if (/^<(!doctype html|html)[\s>]/.test(start)) return "text/html";
  const { lookup } = await import("mime-types");
  const byName = hint.filename === undefined ? false : lookup(hint.filename);
  const named = byName === false ? hint.mimeType : byName;
  return named !== undefined && isTextType(named) ? named : "text/plain";
}

/** Whether bytes read as text: a BOM, or UTF-8 without NUL but for a character that the head cuts in two. */
function isText(head: Uint8Array): boolean {
  if (isUtf16(head)) return true;
  if (head.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    // A legacy code page: text if hardly anything in it is a control character.
    const controls = head.filter((byte) => byte < 9 || (byte > 13 && byte < 32)).length;
    return controls * 100 <= head.length;
  }
}

/** A mark of UTF-16 with text behind it: hardly a control character, and no character that does not exist. */
function isUtf16(head: Uint8Array): boolean {
  const [a, b] = head;
  const encoding = a === 0xff && b === 0xfe ? "utf-16le" : a === 0xfe && b === 0xff ? "utf-16be" : undefined;
  if (encoding === undefined) return false;
  const text = new TextDecoder(encoding).decode(head.subarray(0, head.length - (head.length % 2)));
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const odd = text.match(/[\u0000-\u0008\u000e-\u001f\ufffd\p{Cn}\p{Co}]/gu)?.length ?? 0;
  return odd * 100 <= text.length;
}

export function isTextType(mimeType: string): boolean {
  return (
    mimeType.startsWith("text/") ||
    /^application\/(json|xml|yaml|x-yaml|toml|javascript|x-javascript|typescript|sql|x-sh|csv|rtf|.*\+json|.*\+xml)$/.test(
      mimeType,
    )
  );
}

function kindOf(mimeType: string): MediaKind {
  const [family] = mimeType.split("/");
  return family === "image" || family === "audio" || family === "video" ? family : "file";
}
