import type { BlobRef, Extract } from "../../core/blocks.ts";
import type { FileBlobs } from "../../store/blobs.ts";

/** At most this much of a document's text is put before the model: 100 KB of UTF-8. */
export const INLINE_BYTES = 102_400;

/** For the words of the cut. */
const MARK_BYTES = 300;
/** A document says at its beginning what it is, and at its end what comes of it. */
const HEAD_SHARE = 0.75;
/** A line end is taken for the cut that is no further off. */
const NEAR_BYTES = 2_000;
/** More than the longest grapheme that is anything but a joke. */
const GRAPHEME_BYTES = 256;

/** Text in UTF-8 as it is put before the model: whole, or its head and tail. `blob` is where the whole lies. */
export async function extractOf(
  as: Extract["as"],
  bytes: Uint8Array,
  blob: BlobRef,
  blobs: FileBlobs,
): Promise<Extract> {
  if (bytes.length <= INLINE_BYTES) return { as, blob, bytes: bytes.length };
  const lines = linesIn(bytes) + (bytes.at(-1) === 10 ? 0 : 1);
  const shown = headAndTail(bytes, lines);
  const whole = { blob, bytes: bytes.length, lines };
  return { as, blob: await blobs.put(shown), bytes: shown.length, whole };
}

/**
 * The head and the tail of a text that is over 100 KB of UTF-8, together within it, with the cut said: how much and
 * which lines are not there, so that one can read on from there. Cut at line ends, else between graphemes.
 */
function headAndTail(whole: Uint8Array, lines: number): Uint8Array {
  const room = INLINE_BYTES - MARK_BYTES;
  const headEnd = cutBefore(whole, Math.floor(room * HEAD_SHARE));
  const tailStart = cutBehind(whole, whole.length - (room - Math.floor(room * HEAD_SHARE)));
  const first = linesIn(whole, headEnd) + 1;
  const last = Math.max(linesIn(whole, tailStart), first);
  const where = first === last ? `in line ${first}` : `lines ${first} to ${last}`;
  const mark = `\n\n[… left out here: ${tailStart - headEnd} of ${whole.length} bytes, ${where} of ${lines} …]\n\n`;
  return Buffer.concat([whole.subarray(0, headEnd), Buffer.from(mark), whole.subarray(tailStart)]);
}

/** How many line ends stand before `end`. */
function linesIn(bytes: Uint8Array, end = bytes.length): number {
  let count = 0;
  for (let at = bytes.indexOf(10); at >= 0 && at < end; at = bytes.indexOf(10, at + 1)) count += 1;
  return count;
}

function cutBefore(bytes: Uint8Array, at: number): number {
  const lineEnd = bytes.lastIndexOf(10, at - 1);
  return lineEnd >= at - NEAR_BYTES ? lineEnd + 1 : graphemesWithin(bytes, at).before;
}

function cutBehind(bytes: Uint8Array, at: number): number {
  const lineEnd = bytes.indexOf(10, at - 1);
  return lineEnd >= 0 && lineEnd <= at + NEAR_BYTES ? lineEnd + 1 : graphemesWithin(bytes, at).behind;
}

/** The ends of graphemes next to a place, on both sides. */
function graphemesWithin(
  bytes: Uint8Array,
  at: number,
): { readonly before: number; readonly behind: number } {
  const [from, to] = [characterStart(bytes, at - GRAPHEME_BYTES), characterStart(bytes, at + GRAPHEME_BYTES)];
  const text = Buffer.from(bytes.subarray(from, to)).toString("utf8");
  let [before, behind] = [characterStart(bytes, at), characterStart(bytes, at + 3)];
  let end = from;
  for (const { segment } of new Intl.Segmenter("en", { granularity: "grapheme" }).segment(text)) {
    if (end <= at && end > from) before = end;
    if (end >= at) {
      behind = end;
      break;
    }
    end += Buffer.byteLength(segment);
  }
  return { before, behind };
}

/** The start of the character that a byte belongs to. */
function characterStart(bytes: Uint8Array, at: number): number {
  let start = Math.min(Math.max(at, 0), bytes.length);
  while (start > 0 && start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  return start;
}
