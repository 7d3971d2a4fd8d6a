import type { MediaBlock } from "../core/blocks.ts";
import type { FileBlobs } from "../store/blobs.ts";
import { isTextType } from "./sniff.ts";
import type { Fetched, Taken } from "./taken.ts";

/** At most this much of a document's text is put before the model: 100 KB of UTF-8. */
const INLINE_BYTES = 102_400;

/** A document with the text that could be taken out of it; without any it stays a file that the model is told of. */
export async function takeDocument(fetched: Fetched, blobs: FileBlobs): Promise<Taken> {
  const text = await textOf(fetched, blobs);
  if (text === undefined || text.trim() === "")
    return { blocks: [{ type: "file", ...fetched }], outcome: "seen" };
  const whole = new TextEncoder().encode(text);
  const shortened = whole.length > INLINE_BYTES;
  const kept = shortened ? headAndTail(whole) : whole;
  const extract = { blob: await blobs.put(kept), bytes: kept.length, ...(shortened ? { shortened } : {}) };
  const block: MediaBlock = { type: "file", ...fetched, extract };
  return { blocks: [block], outcome: shortened ? "shortened" : "extracted" };
}

async function textOf(fetched: Fetched, blobs: FileBlobs): Promise<string | undefined> {
  if (isTextType(fetched.mimeType)) return decodeText(await blobs.read(fetched.blob));
  if (fetched.mimeType === "application/pdf") return await pdfText(await blobs.read(fetched.blob));
  return undefined;
}

/** UTF-8 or UTF-16 by their marks; what is neither is read as Windows-1252, which every byte is a character of. */
function decodeText(bytes: Uint8Array): string {
  const [a, b] = bytes;
  if (a === 0xff && b === 0xfe) return clean(new TextDecoder("utf-16le").decode(bytes));
  if (a === 0xfe && b === 0xff) return clean(new TextDecoder("utf-16be").decode(bytes));
  try {
    return clean(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return clean(new TextDecoder("windows-1252").decode(bytes));
  }
}

function clean(text: string): string {
  return text.replaceAll("\0", "").replaceAll("\r\n", "\n");
}

/** The text of a PDF with a mark for each page; undefined where it cannot be read, and the file stays a file. */
async function pdfText(bytes: Uint8Array): Promise<string | undefined> {
  const { extractText, getDocumentProxy } = await import("unpdf");
  try {
    const document = await getDocumentProxy(new Uint8Array(bytes)); // it takes the buffer over
    const { text } = await extractText(document, { mergePages: false });
    const pages = text.map((page, index) => `[page ${index + 1}]\n${page.trim()}`);
    return text.every((page) => page.trim() === "") ? undefined : pages.join("\n\n");
  } catch {
    return undefined; // a password or a broken file: what it is, is still told
  }
}

/** The first and last halves of what fits, cut at whole characters, with the cut said. */
function headAndTail(whole: Uint8Array): Uint8Array {
  const half = INLINE_BYTES / 2 - 100;
  const decoder = new TextDecoder();
  const head = decoder.decode(whole.subarray(0, half)).replace(/\ufffd+$/, "");
  const tail = decoder.decode(whole.subarray(whole.length - half)).replace(/^\ufffd+/, "");
  const cut = whole.length - 2 * half;
  return new TextEncoder().encode(`${head}\n\n[… ${cut} bytes of ${whole.length} left out …]\n\n${tail}`);
}
