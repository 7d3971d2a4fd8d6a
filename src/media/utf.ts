/** A form of Unicode, and how many bytes of a mark stand before the text. */
export type Utf = {
  readonly encoding: "utf-8" | "utf-16le" | "utf-16be" | "utf-32le" | "utf-32be";
  readonly markBytes: number;
};

/**
 * By its mark; UTF-32 also without one, and UTF-16 where every other byte of the head is zero as in Latin writing.
 * Undefined says that there is no such sign: UTF-8 without a mark, a legacy code page, or no text at all.
 */
export function utfOf(head: Uint8Array): Utf | undefined {
  const [a, b, c, d] = head;
  if (a === 0xef && b === 0xbb && c === 0xbf) return { encoding: "utf-8", markBytes: 3 };
  // Before UTF-16, whose mark it begins with; UTF-16 with a NUL for its first character is no text.
  if (a === 0xff && b === 0xfe && c === 0 && d === 0) return { encoding: "utf-32le", markBytes: 4 };
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return { encoding: "utf-32be", markBytes: 4 };
  const marked = a === 0xff && b === 0xfe ? "utf-16le" : a === 0xfe && b === 0xff ? "utf-16be" : undefined;
  // FF FE begins MPEG audio as well: what follows the mark must read as text.
  if (marked) return ifPlain(head, { encoding: marked, markBytes: 2 });
  return unmarked(head);
}

/** `bytes` from the beginning, mark and all; the mark is left out, what cannot be read becomes U+FFFD. */
export function decodeUtf(bytes: Uint8Array, { encoding, markBytes }: Utf): string {
  const text = bytes.subarray(markBytes);
  switch (encoding) {
    case "utf-8":
    case "utf-16le":
    case "utf-16be":
      return new TextDecoder(encoding).decode(text);
    case "utf-32le":
      return decodeUtf32(text, true);
    case "utf-32be":
      return decodeUtf32(text, false);
  }
}

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const ODD = /[\u0000-\u0008\u000b\u000e-\u001a\u001c-\u001f\u007f\ufffd\p{Cn}\p{Co}\p{Cs}]/gu;

/** How many characters there are that no text has many of: controls, replaced ones, ones that do not exist. */
export function oddities(text: string): number {
  return text.match(ODD)?.length ?? 0;
}

const FILL = Buffer.alloc(16, 0xff);

/** Whether there is a run of FF: the blank of memories and of packets, and no text in any encoding. */
export function hasFill(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(FILL);
}

function unmarked(head: Uint8Array): Utf | undefined {
  const wide = (["utf-32le", "utf-32be"] as const).find((encoding) => isUtf32(head, encoding));
  if (wide) return ifPlain(head, { encoding: wide, markBytes: 0 });
  const units = Math.floor(head.length / 2);
  if (units < 4) return undefined;
  let [even, odd] = [0, 0];
  for (let at = 0; at < units * 2; at += 2) {
    if (head[at] === 0) even += 1;
    if (head[at + 1] === 0) odd += 1;
  }
  const [many, few] = [0.4 * units, 0.02 * units];
  if (odd >= many && even <= few) return ifPlain(head, { encoding: "utf-16le", markBytes: 0 });
  if (even >= many && odd <= few) return ifPlain(head, { encoding: "utf-16be", markBytes: 0 });
  return undefined;
}

/** Characters end at U+10FFFF: of their four bytes one is zero, and the one beside it hardly more. */
function isUtf32(head: Uint8Array, encoding: "utf-32le" | "utf-32be"): boolean {
  const [first, second] = encoding === "utf-32le" ? [3, 2] : [0, 1];
  for (let at = 0; at + 4 <= head.length; at += 4)
    if (head[at + first] !== 0 || (head[at + second] ?? 0) > 0x10) return false;
  return head.length >= 8;
}

function ifPlain(head: Uint8Array, utf: Utf): Utf | undefined {
  const whole = head.subarray(0, head.length - (head.length % 4));
  const text = decodeUtf(whole, utf).replace(/[\ud800-\udbff\ufffd]$/, ""); // the head may cut a pair in two
  return oddities(text) * 100 <= text.length ? utf : undefined;
}

function decodeUtf32(bytes: Uint8Array, little: boolean): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const parts: string[] = [];
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const point = view.getUint32(at, little);
    const exists = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    parts.push(exists ? String.fromCodePoint(point) : "\ufffd");
  }
  return parts.join("");
}
