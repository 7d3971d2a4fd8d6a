import type { AttachmentOutcome, Extract, MediaBlock } from "../core/blocks.ts";
import type { FileBlobs } from "../store/blobs.ts";
import { BROKEN, type Contents, EMPTY, PASSWORD, type Unread, unsupported } from "./documents/contents.ts";
import { tarListing } from "./documents/archive.ts";
import { formatName, oleFormat, promisesSignature } from "./documents/formats.ts";
import { extractOf } from "./documents/inline.ts";
import { readPackage } from "./documents/packages.ts";
import { readPdf } from "./documents/pdf.ts";
import { readText } from "./documents/plain.ts";
import { tidy } from "./documents/tidy.ts";
import type { MediaLimits } from "./limits.ts";
import type { MediaPart } from "./part.ts";
import { isTextType } from "./text-types.ts";
import { type Fetched, type File, setAside, type Taken, unusable } from "./taken.ts";

export type DocumentJob = {
  readonly fetched: Fetched;
  readonly limits: MediaLimits;
  /** Whether pages of a scan are worth being drawn. */
  readonly sees: boolean;
  readonly part?: MediaPart;
};

/** A document with the text that could be taken out of it, or the sentence that says why there is none. */
export async function takeDocument(job: DocumentJob, blobs: FileBlobs): Promise<Taken> {
  const { file } = job.fetched;
  const bytes = await blobs.read(file.blob);
  const read = await understand(bytes, job, blobs);
  if ("outcome" in read) return await notRead(read, job.fetched, blobs);
  const text = tidy(read.text);
  if (text.trim() === "" && read.stills === undefined) return await notRead(EMPTY, job.fetched, blobs);
  const block = await blockOf({ ...read, text }, file, bytes, blobs);
  return { blocks: [block], outcome: outcomeOf(block) };
}

/** By the bytes alone: names and declared types are wrong as often as not. */
async function understand(
  bytes: Uint8Array,
  { fetched: { file }, limits, sees, part }: DocumentJob,
  blobs: FileBlobs,
): Promise<Contents | Unread> {
  try {
    const head = Buffer.from(bytes.subarray(0, 1_024)).toString("latin1");
    if (["PK\u0003\u0004", "PK\u0005\u0006", "PK\u0007\u0008"].some((mark) => head.startsWith(mark)))
      return await readPackage(bytes, { limits, sees }, blobs);
    if (isPdf(head, bytes))
      return await readPdf(bytes, { limits, sees, ...(part === undefined ? {} : { part }) }, blobs);
    if (head.startsWith("\u00d0\u00cf\u0011\u00e0\u00a1\u00b1\u001a\u00e1")) {
      const format = oleFormat(bytes);
      return format === "encrypted" ? PASSWORD : unsupported(format);
    }
    if (file.mimeType === "application/x-tgsticker") return unsupported("Telegram, .tgs"); // packed with gzip
    const gzipped = head.startsWith("\u001f\u008b");
    if (gzipped || file.mimeType === "application/x-tar") {
      return (await tarListing(bytes, gzipped)) ?? unsupported(gzipped ? "gzip" : "tar");
    }
    const text = mayBeText(file.mimeType) ? await readText(bytes, file) : undefined;
    if (text !== undefined) return text;
    if (isTextType(file.mimeType)) return { outcome: "unreadable", key: "media.undecodable" };
    if (file.mimeType === "application/octet-stream" && promisesSignature(file.filename)) return BROKEN;
    return unsupported(formatName(file.mimeType, file.filename));
  } catch {
    return BROKEN; // each format has its libraries, and each of them its own errors for what is damaged
  }
}

/** Mail programs and servers leave lines before the mark, and readers allow it; in a text it may be quoted. */
function isPdf(head: string, bytes: Uint8Array): boolean {
  if (/^(\u00ef\u00bb\u00bf)?\s*%PDF-/.test(head)) return true;
  return /[\r\n]%PDF-\d\.\d/.test(head) && Buffer.from(bytes.buffer, bytes.byteOffset).includes("endobj");
}

/** The head of a file may not show that it is text: UTF-16 without a mark, or a log that begins with a gap. */
function mayBeText(mimeType: string): boolean {
  return isTextType(mimeType) || /^(message\/|application\/(octet-stream|pgp))/.test(mimeType);
}

async function blockOf(
  { text, mimeType, note, stills, part }: Contents,
  file: File,
  original: Uint8Array,
  blobs: FileBlobs,
): Promise<MediaBlock> {
  return {
    type: "file",
    ...file,
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(text.trim() === "" ? {} : { extract: await textExtract(text, file, original, blobs) }),
    ...(note === undefined ? {} : { note }),
    ...(stills === undefined ? {} : { stills }),
    ...(part === undefined ? {} : { part }),
  };
}

/** A file that is its own text word for word is not stored a second time. */
async function textExtract(
  text: string,
  file: File,
  original: Uint8Array,
  blobs: FileBlobs,
): Promise<Extract> {
  const bytes = Buffer.from(text);
  const blob = bytes.equals(original) ? file.blob : await blobs.put(bytes);
  return await extractOf("text", bytes, blob, blobs);
}

function outcomeOf({ extract }: MediaBlock): AttachmentOutcome {
  if (extract === undefined) return "seen"; // pages of a scan
  return extract.whole === undefined ? "extracted" : "shortened";
}

/** The sentence; and of an archive what is in it, for the model. */
async function notRead(
  { outcome, key, values = {}, listing }: Unread,
  { file, called }: Fetched,
  blobs: FileBlobs,
): Promise<Taken> {
  if (listing === undefined || outcome !== "unsupported") return unusable(called, outcome, key, values);
  const block = await blockOf({ ...listing, text: tidy(listing.text) }, file, new Uint8Array(), blobs);
  return setAside(called, outcome, key, values, block);
}
