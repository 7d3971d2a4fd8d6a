import { zip, type ZipPart } from "./zip.ts";

const RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/** A relation by its id: the last word of its type, where it points, and whether that is outside of the package. */
export type TestRelation = readonly [id: string, type: string, target: string, outside?: "outside"];

function relations(list: readonly TestRelation[]): string {
  const each = list.map(
    ([id, type, target, outside]) =>
      `<Relationship Id="${id}" Type="${RELATION}/${type}" Target="${target}"${outside ? ` TargetMode="External"` : ""}/>`,
  );
  return `<?xml version="1.0"?><Relationships>${each.join("")}</Relationships>`;
}

function office(main: string, more: readonly ZipPart[]): Buffer {
  return zip([
    { name: "[Content_Types].xml", data: "<Types/>" },
    { name: "_rels/.rels", data: relations([["r1", "officeDocument", main]]) },
    ...more,
  ]);
}

/** A Word document of this body. */
export function docx(
  body: string,
  links: readonly TestRelation[] = [],
  more: readonly ZipPart[] = [],
): Buffer {
  const data = `<?xml version="1.0"?><w:document xmlns:w="w" xmlns:r="r"><w:body>${body}</w:body></w:document>`;
  return office("word/document.xml", [
    { name: "word/document.xml", data },
    { name: "word/_rels/document.xml.rels", data: relations(links) },
    ...more,
  ]);
}

/** A paragraph of Word: its properties, its words. */
export function p(words: string, properties = ""): string {
  return `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${words}</w:t></w:r></w:p>`;
}

/** A workbook of these sheets, each given by its rows. */
export function xlsx(
  sheets: readonly { readonly name: string; readonly rows: string; readonly state?: string }[],
  more: readonly ZipPart[] = [],
): Buffer {
  const listed = sheets.map(
    ({ name, state }, n) =>
      `<sheet name="${name}" sheetId="${n + 1}" r:id="s${n + 1}"${state ? ` state="${state}"` : ""}/>`,
  );
  return office("xl/workbook.xml", [
    { name: "xl/workbook.xml", data: `<workbook xmlns:r="r"><sheets>${listed.join("")}</sheets></workbook>` },
    {
      name: "xl/_rels/workbook.xml.rels",
      data: relations([
        ...sheets.map((_, n) => [`s${n + 1}`, "worksheet", `worksheets/sheet${n + 1}.xml`] as const),
        ["r8", "sharedStrings", "sharedStrings.xml"],
        ["r9", "styles", "styles.xml"],
      ]),
    },
    ...sheets.map(({ rows }, n) => ({
      name: `xl/worksheets/sheet${n + 1}.xml`,
      data: `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
    })),
    ...more,
  ]);
}

/** A presentation of these slides, each given by its shapes; relations by the number of the slide. */
export function pptx(
  slides: readonly string[],
  links: Readonly<Record<number, readonly TestRelation[]>> = {},
  more: readonly ZipPart[] = [],
): Buffer {
  const listed = slides.map((_, n) => `<p:sldId id="${256 + n}" r:id="s${n + 1}"/>`);
  return office("ppt/presentation.xml", [
    {
      name: "ppt/presentation.xml",
      data: `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst>${listed.join("")}</p:sldIdLst></p:presentation>`,
    },
    {
      name: "ppt/_rels/presentation.xml.rels",
      data: relations(slides.map((_, n) => [`s${n + 1}`, "slide", `slides/slide${n + 1}.xml`] as const)),
    },
    ...slides.map((data, n) => ({
      name: `ppt/slides/slide${n + 1}.xml`,
      data: `<p:sld xmlns:p="p" xmlns:a="a" xmlns:r="r"${data.startsWith("HIDDEN") ? ` show="0"` : ""}>${data.replace("HIDDEN", "")}</p:sld>`,
    })),
    ...Object.entries(links).map(([n, list]) => ({
      name: `ppt/slides/_rels/slide${n}.xml.rels`,
      data: relations(list),
    })),
    ...more,
  ]);
}

/** An OpenDocument file: "text", "spreadsheet" or "presentation", and its body. */
export function odf(kind: string, body: string, more: readonly ZipPart[] = []): Buffer {
  return zip([
    { name: "mimetype", data: `application/vnd.oasis.opendocument.${kind}` },
    {
      name: "content.xml",
      data: `<?xml version="1.0"?><office:document-content xmlns:office="o" xmlns:text="t" xmlns:table="b" xmlns:draw="d" xmlns:xlink="x" xmlns:dc="c" xmlns:presentation="n"><office:automatic-styles><x>4711</x></office:automatic-styles><office:body><office:${kind}>${body}</office:${kind}></office:body></office:document-content>`,
    },
    ...more,
  ]);
}

/** A book of these chapters, each the body of a page; read in their order. */
export function epub(title: string, chapters: readonly string[], more: readonly ZipPart[] = []): Buffer {
  const items = chapters.map((_, n) => `<item id="c${n}" href="text/chapter%20${n}.xhtml"/>`);
  // The order of the list is not the one to read in.
  const manifest = items.toReversed().join("");
  const spine = chapters.map((_, n) => `<itemref idref="c${n}"/>`).join("");
  return zip([
    { name: "mimetype", data: "application/epub+zip" },
    {
      name: "META-INF/container.xml",
      data: `<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>`,
    },
    {
      name: "OEBPS/book.opf",
      data: `<package><metadata><dc:title xmlns:dc="d">${title}</dc:title></metadata><manifest>${manifest}</manifest><spine>${spine}</spine></package>`,
    },
    ...chapters.map((body, n) => ({
      name: `OEBPS/text/chapter ${n}.xhtml`,
      data: `<?xml version="1.0"?><html xmlns="h"><head><title>x</title></head><body>${body}</body></html>`,
    })),
    ...more,
  ]);
}
