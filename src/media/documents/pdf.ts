import { oneLine } from "../../core/words.ts";
import type { FileBlobs } from "../../store/blobs.ts";
import type { MediaLimits } from "../limits.ts";
import type { MediaPart } from "../part.ts";
import { BROKEN, type Contents, EMPTY, NO_TEXT, PASSWORD, type Unread } from "./contents.ts";
import { drawPages, isBlank } from "./pdf-scan.ts";
import type { PDFDocumentProxy, PDFPageProxy } from "unpdf/pdfjs";

/** A book has hundreds of pages; what has more is told to have been cut. */
const MOST_PAGES = 1_000;
const LONGEST_CHARACTERS = 16_000_000;
/** A gap on a line that is so many times as wide as its letters are high lies between columns. */
const COLUMN_GAP = 1.5;

/**
 * A PDF: its text with a mark for each page, in the order in which it was written, which follows columns; filled-in
 * fields and comments. Pages without text become pictures where somebody sees them. Scripts and attachments stay shut.
 */
export async function readPdf(
  bytes: Uint8Array,
  { limits, sees, part }: { readonly limits: MediaLimits; readonly sees: boolean; readonly part?: MediaPart },
  blobs: FileBlobs,
): Promise<Contents | Unread> {
  const { getDocumentProxy } = await import("unpdf");
  let document: PDFDocumentProxy;
  try {
    document = await getDocumentProxy(new Uint8Array(bytes), {
      // a copy: pdf.js takes its buffer over
      verbosity: 0,
      isEvalSupported: false,
      enableXfa: false,
      maxImageSize: Math.min(limits.imagePixels, SCAN_PIXELS),
    });
  } catch (error) {
    return error instanceof Error && error.name === "PasswordException" ? PASSWORD : BROKEN;
  }
  try {
    const pages: string[] = [];
    let characters = 0;
    let damaged = false;
    const before = part?.from ?? 0;
    if (part !== undefined && before >= document.numPages) return noSuchPage(before + 1, document.numPages);
    const last = Math.min(document.numPages, before + Math.min(part?.count ?? MOST_PAGES, MOST_PAGES));
    for (let number = before + 1; number <= last; number += 1) {
      try {
        const page = await document.getPage(number);
        pages.push(await textOf(page));
        page.cleanup();
      } catch {
        damaged = true;
        pages.push("");
        if (pages.every((page) => page === "") && pages.length >= 20) break; // a page count that nothing stands behind
      }
      characters += pages.at(-1)?.length ?? 0;
      if (characters > LONGEST_CHARACTERS) break;
    }
    const how = { damaged, sees, mostStills: limits.pdfPages, ...(part === undefined ? {} : { before }) };
    return await contentsOf(document, pages, how, blobs);
  } finally {
    await document.destroy();
  }
}

/** Pixels of a scanned page that are decoded: A4 at 400 dots per inch has 16 million. */
const SCAN_PIXELS = 25_000_000;

function noSuchPage(number: number, pages: number): Contents {
  const text = `[there is no page ${number}: the document has ${pages} ${pages === 1 ? "page" : "pages"}]`;
  return { text, mimeType: "application/pdf", part: true };
}

async function contentsOf(
  document: PDFDocumentProxy,
  pages: readonly string[],
  {
    damaged,
    sees,
    mostStills,
    before,
  }: {
    readonly damaged: boolean;
    readonly sees: boolean;
    readonly mostStills: number;
    /** Pages that were passed over, where a part was asked for. */
    readonly before?: number;
  },
  blobs: FileBlobs,
): Promise<Contents | Unread> {
  const first = (before ?? 0) + 1;
  const blank = pages.flatMap((page, index) => (page === "" ? [index + first] : []));
  const scanned = blank.length === pages.length;
  if (scanned && damaged) return BROKEN;
  const stills = sees && blank.length > 0 ? await drawPages(document, blank, mostStills, blobs) : [];
  if (scanned && stills.length === 0) return (await isBlank(document)) ? EMPTY : NO_TEXT;
  const drawn = new Set(stills.map(({ label }) => label));
  const count = `${document.numPages} ${document.numPages === 1 ? "page" : "pages"}`;
  const notes = [
    scanned ? `a scan without text, ${count}` : count,
    ...(before === undefined
      ? []
      : [pages.length === 1 ? `page ${first} alone` : `pages ${first} to ${before + pages.length} alone`]),
    ...(stills.length > 0
      ? [`${stills.length === blank.length ? "" : "some "}pages without text are shown as pictures`]
      : []),
    ...(damaged ? ["damaged: some pages could not be read"] : []),
  ];
  const shown = pages.map((page, index) => {
    const label = `page ${index + first}`;
    if (page !== "") return `[${label}]\n${page}`;
    return `[${label}: no text${drawn.has(label) ? ", shown as a picture" : ""}]`;
  });
  if (before === undefined && pages.length < document.numPages)
    shown.push(`[pages ${pages.length + 1} to ${document.numPages} were not read]`);
  return {
    text: scanned ? "" : shown.join("\n\n"),
    mimeType: "application/pdf",
    note: notes.join("; "),
    ...(stills.length > 0 ? { stills } : {}),
    ...(before === undefined ? {} : { part: true }),
  };
}

async function textOf(page: PDFPageProxy): Promise<string> {
  const { items } = await page.getTextContent();
  const parts: string[] = [];
  for (const item of items) {
    if (!("str" in item)) continue;
    const blank = item.str.trim() === "";
    // pdf.js puts a blank as wide as the gap between two words; its own height is 0.
    const height = Math.hypot(Number(item.transform[2]), Number(item.transform[3])) || 10;
    parts.push(blank && item.width > height * COLUMN_GAP ? "\t" : item.str);
    if (item.hasEOL) parts.push("\n");
  }
  const text = parts
    .join("")
    .replaceAll(/[ \t]+\n/g, "\n")
    .trim();
  const said = await annotationsOf(page);
  return [text, ...said].filter((part) => part !== "").join("\n");
}

/** What was filled into the fields of a form, and comments. */
async function annotationsOf(page: PDFPageProxy): Promise<readonly string[]> {
  // pdf.js gives them without a type.
  const found = (await page.getAnnotations()) as readonly {
    readonly subtype?: string;
    readonly fieldName?: unknown;
    readonly fieldValue?: unknown;
    readonly contentsObj?: { readonly str?: unknown };
  }[];
  return found.flatMap(({ subtype, fieldName, fieldValue, contentsObj }) => {
    if (subtype === "Widget") {
      const value = Array.isArray(fieldValue) ? fieldValue.join(", ") : fieldValue;
      if (typeof value !== "string" || value.trim() === "" || value === "Off") return [];
      return [`[field ${oneLine(String(fieldName))}: ${oneLine(value)}]`];
    }
    const comment = contentsObj?.str;
    if (subtype === "Link" || typeof comment !== "string" || comment.trim() === "") return [];
    return [`[comment: ${oneLine(comment)}]`];
  });
}
