import { oneLine } from "../../core/words.ts";
import type { Contents } from "./contents.ts";
import { Manuscript } from "./manuscript.ts";
import { type Relation, relationsOf, targetOf } from "./relations.ts";
import { prefixedValueOf, readXml, valueOf } from "./xml.ts";
import type { Zip } from "./zip.ts";

/** A PowerPoint presentation: a mark for each slide, its title as a heading, its text, tables, notes and comments. */
export async function readPptx(zip: Zip, main: string): Promise<Contents> {
  const relations = await relationsOf(zip, main);
  const slides: string[] = [];
  await readXml(zip.part(main), {
    open: (name, attributes) => {
      const relation = name === "sldId" ? relations.get(prefixedValueOf(attributes, "id") ?? "") : undefined;
      if (relation && !relation.outside) slides.push(relation.target);
    },
  });
  const written = new Manuscript();
  let filled = false;
  for (const [index, part] of slides.entries()) {
    if (written.full) break;
    const links = await relationsOf(zip, part);
    const slide = new Manuscript();
    const hidden = await readSlide(zip, part, slide, links);
    const text = slide.finish();
    const notes = await notesOf(zip, targetOf(links, "notesSlide"));
    const comments = await commentsOf(zip, targetOf(links, "comments"));
    written.mark(`slide ${index + 1}${hidden ? ", hidden" : ""}`);
    for (const block of [text, notes === "" ? "" : `[notes of slide ${index + 1}]\n${notes}`, ...comments]) {
      if (block === "") continue;
      filled = true;
      written.paragraph();
      written.exact(block);
    }
  }
  return { text: filled ? written.finish() : "" };
}

// Fields that only number and date a page.
const UNTOLD_PLACES = new Set(["sldNum", "dt", "ftr", "sldImg", "hdr"]);

/** Writes the text of a slide, or of its notes; gives whether it is hidden. */
async function readSlide(
  zip: Zip,
  part: string,
  written: Manuscript,
  links: ReadonlyMap<string, Relation>,
): Promise<boolean> {
  let hidden = false;
  let inText = false;
  let fallback = 0;
  let place: string | undefined;
  let paragraph: { level: number; bullet: boolean; begun: boolean } | undefined;
  let target: string | undefined;
  await readXml(zip.part(part), {
    open: (name, attributes) => {
      if (name === "Fallback") fallback += 1; // the same again, for programs that cannot show the first
      if (fallback > 0) return;
      if (name === "sld") hidden = /^(0|false)$/.test(valueOf(attributes, "show") ?? "");
      else if (name === "sp") place = undefined;
      else if (name === "ph") place = valueOf(attributes, "type") ?? "body";
      else if (name === "p") {
        written.paragraph();
        paragraph = { level: 0, bullet: false, begun: false };
      } else if (name === "pPr" && paragraph) paragraph.level = Number(valueOf(attributes, "lvl") ?? 0);
      else if (name === "buChar" || name === "buAutoNum")
        paragraph = paragraph && { ...paragraph, bullet: true };
      else if (name === "t") inText = true;
      else if (name === "br") written.lineBreak();
      else if (name === "tbl") written.tableStart();
      else if (name === "hlinkClick") target = links.get(prefixedValueOf(attributes, "id") ?? "")?.target;
      else if (name === "cNvPr") {
        const seen = valueOf(attributes, "descr") ?? "";
        if (seen.trim() === "") return;
        written.paragraph();
        written.exact(`[picture: ${oneLine(seen)}]`);
      }
    },
    close: (name) => {
      if (name === "Fallback") fallback -= 1;
      if (fallback > 0) return;
      if (name === "p") {
        written.paragraph();
        paragraph = undefined;
      } else if (name === "t") inText = false;
      else if (name === "r") {
        if (target !== undefined && /^(https?|mailto):/i.test(target)) written.exact(` (${target})`);
        target = undefined;
      } else if (name === "tc") written.cellEnd();
      else if (name === "tr") written.rowEnd();
      else if (name === "tbl") written.tableEnd();
    },
    text: (text) => {
      if (!inText || fallback > 0 || UNTOLD_PLACES.has(place ?? "")) return;
      if (paragraph && !paragraph.begun) {
        paragraph.begun = true;
        if (place === "title" || place === "ctrTitle") written.heading(2);
        else if (paragraph.bullet || paragraph.level > 0) written.item(paragraph.level);
      }
      written.exact(text);
    },
    enough: () => written.full,
  });
  return hidden;
}

async function notesOf(zip: Zip, part: string | undefined): Promise<string> {
  if (part === undefined) return "";
  const written = new Manuscript();
  await readSlide(zip, part, written, new Map());
  return written.finish();
}

/** Comments of a slide: the old kind has its words in "text", the threaded one in paragraphs. */
async function commentsOf(zip: Zip, part: string | undefined): Promise<readonly string[]> {
  const found: string[] = [];
  if (part === undefined) return found;
  let words: string[] = [];
  let inText = false;
  await readXml(zip.part(part), {
    open: (name) => {
      if (name === "cm" || name === "reply") words = [];
      else if (name === "text" || name === "t") inText = true;
    },
    close: (name) => {
      if (name === "text" || name === "t") inText = false;
      if (name !== "cm" && name !== "reply") return;
      const text = oneLine(words.join(""));
      if (text !== "") found.push(`[comment: ${text}]`);
      words = [];
    },
    text: (text) => {
      if (inText) words.push(text);
    },
  });
  return found;
}
