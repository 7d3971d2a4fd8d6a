import type { Still } from "../../core/blocks.ts";
import { bytesWords } from "../../core/words.ts";
import type { FileBlobs } from "../../store/blobs.ts";
import type { MediaLimits } from "../limits.ts";
import { zipListing } from "./archive.ts";
import { BROKEN, type Contents, NO_TEXT, PASSWORD, type Unread, unsupported } from "./contents.ts";
import { readDocx } from "./docx.ts";
import { readEpub } from "./epub.ts";
import { GOES_ON } from "./manuscript.ts";
import { isEncryptedOdf, readOdf } from "./odf.ts";
import { readPptx } from "./pptx.ts";
import { relationsOf, targetOf } from "./relations.ts";
import { readXlsx } from "./xlsx.ts";
import { stillOf } from "./stills.ts";
import { PART_BYTES, Zip, type ZipEntry } from "./zip.ts";

const OFFICE = "application/vnd.openxmlformats-officedocument";
const OFFICE_READERS = {
  word: { read: readDocx, mimeType: `${OFFICE}.wordprocessingml.document` },
  xl: { read: readXlsx, mimeType: `${OFFICE}.spreadsheetml.sheet` },
  ppt: { read: readPptx, mimeType: `${OFFICE}.presentationml.presentation` },
} as const;

/** What a zip is: a document of one of the kinds that are zips, or an archive, of which only the entries are told. */
export async function readPackage(
  bytes: Uint8Array,
  { limits, sees }: { readonly limits: MediaLimits; readonly sees: boolean },
  blobs: FileBlobs,
): Promise<Contents | Unread> {
  const zip = await Zip.open(bytes);
  const read = await readKnown(zip);
  if (read === undefined) return zipListing(zip);
  if ("outcome" in read) return read;
  if (read.text.trim() === "" && zip.entries.some(isPicture)) {
    const stills = sees ? await picturesOf(zip, limits, blobs) : [];
    return stills.length > 0 ? { ...read, stills, note: "no text, only pictures" } : NO_TEXT;
  }
  if (zip.incomplete === undefined) return read;
  if (read.text.endsWith(GOES_ON)) return read;
  if (read.text.trim() !== "") return { ...read, text: `${read.text}\n\n${INCOMPLETE[zip.incomplete]}` };
  if (zip.incomplete === "damaged") return BROKEN;
  const limit = bytesWords(PART_BYTES);
  return { outcome: "too_large", key: "media.too_large", values: { size: `> ${limit}`, limit } };
}

const INCOMPLETE = {
  "too large": GOES_ON,
  damaged: "[the file is damaged; not all of it could be read]",
} as const;

function isPicture({ name, folder }: ZipEntry): boolean {
  return !folder && /(^|\/)(media|Pictures|images)\/[^/]+\.(jpe?g|png|gif|tiff?|bmp|webp)$/i.test(name);
}

/** The pictures that a document without words is made of, as far as they decode. */
async function picturesOf(zip: Zip, limits: MediaLimits, blobs: FileBlobs): Promise<readonly Still[]> {
  const stills: Still[] = [];
  for (const { name } of zip.entries.filter(isPicture)) {
    if (stills.length >= limits.pdfPages) break;
    const still = await stillOf(
      await zip.bytes(name),
      `picture ${stills.length + 1}`,
      limits.imagePixels,
      blobs,
    );
    if (still) stills.push(still);
  }
  return stills;
}

async function readKnown(zip: Zip): Promise<Contents | Unread | undefined> {
  if (zip.has("[Content_Types].xml")) return await readOffice(zip);
  const mimeType = zip.has("mimetype") ? (await zip.text("mimetype")).trim() : "";
  if (mimeType === "application/epub+zip" || zip.has("META-INF/container.xml")) {
    const book = await readEpub(zip);
    return "outcome" in book ? book : { ...book, mimeType: "application/epub+zip" };
  }
  if (/^application\/vnd\.oasis\.opendocument\.(text|spreadsheet|presentation)(-[a-z-]+)?$/.test(mimeType)) {
    return (await isEncryptedOdf(zip)) ? PASSWORD : { ...(await readOdf(zip)), mimeType };
  }
  // Pages, Numbers and Keynote keep their words in a format of Apple's own.
  return zip.has("Index/Document.iwa") ? unsupported("Apple iWork") : undefined;
}

/** Which program wrote an Office document, its main part says; where the relations are lost, its usual name. */
async function readOffice(zip: Zip): Promise<Contents | Unread | undefined> {
  const related = targetOf(await relationsOf(zip, ""), "officeDocument");
  const main =
    related ?? ["word/document.xml", "xl/workbook.xml", "ppt/presentation.xml"].find((part) => zip.has(part));
  if (main === undefined) return undefined; // an installer, or a drawing: [Content_Types].xml is older than Office's use
  if (main.endsWith(".bin")) return unsupported("Excel, .xlsb");
  const kind =
    (["word", "xl", "ppt"] as const).find((folder) => main.startsWith(`${folder}/`)) ??
    (await kindOf(zip, main));
  if (kind === undefined) return undefined;
  const { read, mimeType } = OFFICE_READERS[kind];
  const contents = await read(zip, main);
  const macros = zip.entries.some(({ name }) => name.endsWith("vbaProject.bin"));
  return { ...contents, mimeType, ...(macros ? { note: "its macros were left alone" } : {}) };
}

/** The folders are a custom; what a part is, its root element says. */
async function kindOf(zip: Zip, main: string): Promise<keyof typeof OFFICE_READERS | undefined> {
  const root = /<(?:\w+:)?(document|workbook|presentation)[\s>]/.exec(
    (await zip.text(main)).slice(0, 4_096),
  )?.[1];
  if (root === "document") return "word";
  if (root === "workbook") return "xl";
  return root === "presentation" ? "ppt" : undefined;
}
