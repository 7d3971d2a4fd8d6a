import chardet from "chardet";
import { decodeUtf, hasFill, oddities, utfOf } from "../utf.ts";
import { BEFORE_WINDOWS, decodeAs, labelOf } from "./encodings.ts";

const HEAD_BYTES = 4_100;
const SAMPLE_BYTES = 65_536;
/** In a text, at most so many in a hundred characters are none that a text has; in a short one so many in ten, if few. */
const MOST_ODD = 4;

/**
 * Bytes as text, whatever their encoding; undefined where they are no text in any that we know. `declared` is what they
 * say of themselves: it decides where they are not UTF-8.
 */
export function decodeText(bytes: Uint8Array, declared?: string): string | undefined {
  const utf = utfOf(bytes.subarray(0, HEAD_BYTES));
  if (utf) return readable(decodeUtf(bytes, utf));
  const wide = wideWithoutMark(bytes);
  if (wide !== undefined) {
    const text = decodeAs(bytes, wide);
    if (reads(text)) return text;
  }
  if (hasFill(bytes)) return undefined;
  // NULs that belong to no wide character are gaps: of a log that was cut off by a crash, of fields of a fixed length.
  const gapless = bytes.includes(0) ? bytes.filter((byte) => byte !== 0) : bytes;
  return readable(decodeNarrow(gapless, declared));
}

function readable(text: string): string | undefined {
  return reads(text) ? text : undefined;
}

/** Whether text is text, by a sample of its beginning and its end. */
function reads(text: string): boolean {
  const half = SAMPLE_BYTES / 2;
  const sample = text.length <= SAMPLE_BYTES ? text : text.slice(0, half) + text.slice(-half);
  const odd = oddities(sample);
  return odd * 100 <= sample.length * MOST_ODD || (odd <= MOST_ODD && odd * 10 <= sample.length);
}

/** What an encoding without NULs makes of bytes: UTF-8 if that is what they mostly are, else as detected. */
function decodeNarrow(bytes: Uint8Array, declared: string | undefined): string {
  const sample = sampleOf(bytes);
  // Japanese mail: seven bits, so valid UTF-8, and its escapes give it away.
  const raw = Buffer.from(sample.buffer, sample.byteOffset, sample.byteLength);
  if (["\u001b$@", "\u001b$B", "\u001b(J"].some((escape) => raw.includes(escape)))
    return decodeAs(bytes, "iso-2022-jp");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return decodeAs(bytes, encodingOf(sample, declared));
  }
}

/** Of bytes that are not all UTF-8. */
function encodingOf(sample: Uint8Array, declared: string | undefined): string {
  const text = new TextDecoder().decode(sample, { stream: true }); // its last character may be half of one
  const bad = text.match(/\ufffd/g)?.length ?? 0;
  const good = text.match(/[\u0080-\ufffc\ufffe\uffff]/g)?.length ?? 0;
  // A few bad bytes make a log no other encoding: letters of several bytes hardly ever come about by chance.
  if (good > 0 && good >= bad * 10) return "utf-8";
  const label = declared === undefined ? undefined : labelOf(declared);
  if (label !== undefined && label !== "utf-8") return label;
  const detected = chardet.analyse(sample);
  const sure = detected.some(({ name, confidence }) => DOUBLE_BYTE.has(name) && confidence >= 50);
  return good * 2 >= bad && !sure ? "utf-8" : detect(sample, detected);
}

const DOUBLE_BYTE: ReadonlySet<string> = new Set(["Shift_JIS", "EUC-JP", "GB18030", "Big5", "EUC-KR"]);
/** With so much confidence chardet says that a double-byte encoding is possible, and no more. */
const POSSIBLE = 10;

/** The encoding whose text has the fewest oddities, among those that chardet holds about equally likely. */
function detect(sample: Uint8Array, detected: ReturnType<typeof chardet.analyse>): string {
  const candidates = detected.flatMap(({ name, confidence }) => {
    const encoding = labelOf(name);
    if (encoding === undefined || confidence === 0) return [];
    const text = decodeAs(sample, encoding);
    const double = DOUBLE_BYTE.has(name);
    // The last character of a sample may be half of one.
    return text.slice(0, -1).includes("\ufffd") || !reads(text)
      ? []
      : [{ encoding, confidence, text, double }];
  });
  const best = candidates.find(({ double, confidence }) => !double || confidence > POSSIBLE);
  if (best?.double) return best.encoding;
  const short = candidates.filter(({ double }) => double);
  if ((best?.confidence ?? 0) <= 20 && short.length > 0 && isDense(sample)) return eastAsian(sample, short);
  const western = { encoding: "windows-1252", confidence: 0, text: decodeAs(sample, "windows-1252") };
  const close = candidates.filter(
    ({ double, confidence }) => !double && confidence + 6 >= (best?.confidence ?? 0),
  );
  const [least] = [...(best ? [] : [western]), ...close].toSorted(
    (a, b) => strangeness(a.text) - strangeness(b.text),
  );
  const { encoding, text } = least ?? western;
  return olderThan(text, sample) ?? encoding;
}

/** The encoding of before Windows in which a text is plain that is strange as it is read. */
function olderThan(text: string, sample: Uint8Array): string | undefined {
  const strange = strangeness(text);
  if (strange < 3) return undefined;
  return BEFORE_WINDOWS.find((older) => strangeness(decodeAs(sample, older)) * 4 < strange);
}

/**
 * Beyond ASCII: symbols, quotes and another script within words; letters of Icelandic, and capitals, where no other
 * language has them.
 */
const STRANGE = new RegExp(
  [
    String.raw`\p{Ll}(?!\p{ASCII})[^\s\p{L}\p{M}\p{P}\d]|(?!\p{ASCII})[^\s\p{L}\p{M}\p{P}\d]\p{Ll}`,
    String.raw`\p{L}[‘“”„‚†‡‰§]\p{L}`,
    String.raw`\p{sc=Latin}[\p{sc=Greek}\p{sc=Cyrillic}]|[\p{sc=Greek}\p{sc=Cyrillic}]\p{sc=Latin}`,
    String.raw`[þðýÞÐÝ]|(?![a-z][A-Z])\p{Ll}\p{Lu}`,
  ].join("|"),
  "gu",
);

function strangeness(text: string): number {
  return text.match(STRANGE)?.length ?? 0;
}

/** Whether bytes above 7F stand in rows, as in the East: Western text has them one by one. */
function isDense(sample: Uint8Array): boolean {
  return /[\u0080-\u00ff]{4}/.test(Buffer.from(sample).toString("latin1"));
}

/** Of a few characters: by their script, and by the rows in which a standard has its common ones. */
function eastAsian(
  sample: Uint8Array,
  candidates: readonly { readonly encoding: string; readonly text: string }[],
): string {
  const textIn = (encoding: string): string =>
    candidates.find((other) => other.encoding === encoding)?.text ?? "";
  const japanese = ["shift_jis", "euc-jp"].find((encoding) =>
    /[\p{sc=Hira}\p{sc=Kana}]/u.test(fullWidth(textIn(encoding))),
  );
  if (japanese !== undefined) return japanese;
  const leads = leadsOf(sample);
  const within = (from: number, to: number): boolean => leads.every((lead) => lead >= from && lead <= to);
  if (textIn("euc-kr") !== "" && leads.length >= 4 && within(0xb0, 0xc8)) return "euc-kr";
  if (textIn("gb18030") !== "" && within(0xa1, 0xf7)) return "gb18030";
  if (textIn("big5") !== "" && within(0xa1, 0xc6)) return "big5";
  return candidates[0]?.encoding ?? "windows-1252";
}

/** Without the half-width kana, which Shift_JIS makes of most bytes. */
function fullWidth(text: string): string {
  return text.replaceAll(/[\uff61-\uff9f]/g, "");
}

function leadsOf(sample: Uint8Array): readonly number[] {
  const leads: number[] = [];
  for (let at = 0; at < sample.length - 1; at += 1) {
    const byte = sample[at] ?? 0;
    if (byte < 0x80) continue;
    leads.push(byte);
    at += 1;
  }
  return leads;
}

/** The part of a file that says something of its encoding: from its first byte above 7F. */
function sampleOf(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= SAMPLE_BYTES) return bytes;
  const first = bytes.findIndex((byte) => byte > 0x7f || byte === 0x1b);
  // A line of ASCII before it, since a character of two bytes may have its second in there.
  return bytes.subarray(Math.max(first, 0), Math.max(first, 0) + SAMPLE_BYTES);
}

/** UTF-16 without a mark in a script other than Latin: only its blanks and digits have NULs, and all on one side. */
function wideWithoutMark(bytes: Uint8Array): string | undefined {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  const zeros: [number, number] = [0, 0];
  for (const [at, byte] of sample.entries()) if (byte === 0) zeros[(at % 2) as 0 | 1] += 1; // one of the two
  const [even, odd] = zeros;
  const encoding = odd > even ? "utf-16le" : "utf-16be";
  const [many, few] = [Math.max(even, odd), Math.min(even, odd)];
  if (many * 20 > sample.length / 2 && few * 20 < many) return encoding;
  return many > few && isEastAsianIn(sample, encoding) ? encoding : undefined;
}

/** Whether bytes that are not only ASCII are writing of the East, which has no blanks and so hardly a NUL. */
function isEastAsianIn(sample: Uint8Array, encoding: string): boolean {
  const text = decodeAs(sample.subarray(0, sample.length - (sample.length % 2)), encoding);
  const eastern = text.match(/[\p{sc=Hira}\p{sc=Kana}\p{sc=Han}\p{sc=Hangul}\u3000-\u303f\uff00-\uffef]/gu);
  const high = sample.filter((byte) => byte > 0x7f).length;
  return oddities(text) === 0 && (eastern?.length ?? 0) * 2 > text.length && high * 10 > sample.length;
}
