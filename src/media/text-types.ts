import { decodeUtf, hasFill, oddities, utfOf } from "./utf.ts";
import type { Hint } from "./hint.ts";

/** The head of a text that is nothing else: in Unicode, or with not one byte that only binary files have. */
export function sureText(head: Uint8Array): string | undefined {
  const utf = utfOf(head);
  if (utf && utf.markBytes > 0) return decodeUtf(head, utf);
  if (head.some(isControl) || hasFill(head)) return undefined;
  return decodeUtf8(head) ?? Buffer.from(head).toString("latin1");
}

/** The head of what is probably a text: UTF-16 without its mark, stray NULs, or hardly a control character. */
export function unsureText(head: Uint8Array): string | undefined {
  const utf = utfOf(head);
  if (utf) return decodeUtf(head, utf);
  const bytes = head.filter((byte) => byte !== 0);
  if (bytes.length * 2 < head.length || hasFill(head)) return undefined;
  const controls = bytes.filter(isControl).length;
  // Many NULs are only forgiven where all else is flawless.
  if (controls * 100 > bytes.length || (controls > 0 && bytes.length < head.length)) return undefined;
  const text = decodeUtf8(bytes) ?? Buffer.from(bytes).toString("latin1");
  return bytes.length < head.length && oddities(text) > 0 ? undefined : text;
}

/** Which kind of text. The text itself says it where it has a sign of its own; else its name, else what was declared. */
export async function textType(head: string, hint: Hint): Promise<string> {
  const text = head.replace(/^\ufeff/, "").trimStart();
  const signed = bySign(text);
  if (signed !== undefined) return signed;
  const named = (await byName(hint.filename, text)) ?? plainDeclared(hint.mimeType, text);
  if (named !== undefined) return named;
  if (isJson(text, hint.bytes <= head.length)) return "application/json";
  if (hint.filename === undefined || !/\.\w+$/.test(hint.filename))
    return isCsv(text) ? "text/csv" : "text/plain";
  return "text/plain";
}

/** Whether it is read as characters and shown as what it says. */
export function isTextType(mimeType: string): boolean {
  return (
    mimeType.startsWith("text/") ||
    /^application\/(json|xml|yaml|x-yaml|toml|javascript|x-javascript|typescript|sql|x-sh|csv|rtf|.*\+json|.*\+xml)$/.test(
      mimeType,
    )
  );
}

/**
 * Whether a text begins as a mail, alone or the first in a mailbox: the lines before the first blank one are headers, of
 * a sender or a way and of something else that letters have.
 */
export function isMail(head: string): boolean {
  const lines = head.replace(/^From [^\n]*\n/, "").split(/\r?\n/);
  const end = lines.findIndex((line) => line.trim() === "");
  const headers = (end < 0 ? lines.slice(0, -1) : lines.slice(0, end)).filter((line) => !/^[ \t]/.test(line));
  if (headers.length < 2 || !headers.every((line) => /^[!-9;-~]+:/.test(line))) return false;
  const has = (names: RegExp): boolean => headers.some((line) => names.test(line));
  return (
    has(/^(from|return-path|received|delivered-to):/i) && has(/^(subject|date|message-id|mime-version|to):/i)
  );
}

function isControl(byte: number): boolean {
  // Text has tabs, line ends, form feeds, and escapes of colours.
  return (
    (byte < 32 && byte !== 9 && byte !== 10 && byte !== 12 && byte !== 13 && byte !== 27) || byte === 127
  );
}

/** Undefined where it is not UTF-8; a character that the head cuts in two is left out. */
function decodeUtf8(head: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
  } catch {
    return undefined;
  }
}

const XML_PROLOG = /^(?:<\?[^>]*\?>|<!--[^]*?-->|<!doctype(?:[^>[]|\[[^\]]*\])*>|\s+)*/i;

function bySign(text: string): string | undefined {
  if (text.startsWith("{\\rtf")) return "application/rtf";
  if (text.startsWith("%!PS")) return "application/postscript";
  if (/^BEGIN:VCARD\s/i.test(text)) return "text/vcard";
  if (/^BEGIN:VCALENDAR\s/i.test(text)) return "text/calendar";
  if (/^<!doctype html[\s>]/i.test(text)) return "text/html";
  const root = text.replace(XML_PROLOG, "");
  if (/^<(?:\w+:)?svg[\s>]/.test(root)) return "image/svg+xml";
  if (/^<(?:html|head|body)[\s>]/i.test(root)) return "text/html";
  if (isMail(text)) return "message/rfc822";
  return undefined;
}

async function byName(filename: string | undefined, text: string): Promise<string | undefined> {
  if (filename === undefined) return undefined;
  const { lookup } = await import("mime-types");
  const type = lookup(filename);
  return type === false ? undefined : plainDeclared(type, text);
}

/** What a name or a platform may say of a text: not what has a sign of its own that is missing here. */
function plainDeclared(type: string | undefined, text: string): string | undefined {
  const [bare = ""] = (type ?? "").split(";");
  const known = bare.trim().toLowerCase();
  if (/^text\/(x-)?vcard$|^text\/calendar$|rtf$/.test(known)) return undefined;
  if (known === "message/rfc822") return /^[!-9;-~]+:/.test(text) ? known : undefined;
  if (/[/+]xml$/.test(known) && !text.startsWith("<")) return undefined; // .rs is Rust, not "rls-services+xml"
  return known !== "text/plain" && isTextType(known) ? known : undefined;
}

function isJson(text: string, whole: boolean): boolean {
  if (!/^(\{\s*("|\}|$)|\[\s*(\[|\{|"|-?\d|true|false|null|\]|$))/.test(text)) return false;
  if (!whole) return /^(\{\s*"[^"\n]*"\s*:|\[\s*(\{\s*"|\[|"[^"\n]*"\s*,|-?\d[\d.eE+-]*\s*,))/.test(text);
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Lines that have as many separators, the same one, as each other. */
function isCsv(text: string): boolean {
  const lines = text
    .replaceAll(/"(?:[^"]|"")*"/g, "q")
    .split(/\r?\n/)
    .filter((line) => line !== "")
    .slice(0, 20);
  const whole = text.length > 3_000 ? lines.slice(0, -1) : lines;
  return [",", ";", "\t"].some((separator) => {
    const counts = new Set(whole.map((line) => line.split(separator).length - 1));
    const [count = 0] = counts;
    return counts.size === 1 && count >= 1 && whole.length >= 2 && whole.length + count >= 4;
  });
}
