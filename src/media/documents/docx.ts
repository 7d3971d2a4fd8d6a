import { oneLine } from "../../core/words.ts";
import type { Contents } from "./contents.ts";
import { listsOf, type ListLevel, stylesOf } from "./docx-styles.ts";
import { Manuscript } from "./manuscript.ts";
import { type Relation, relationsOf, targetOf } from "./relations.ts";
import { type Attributes, prefixedValueOf, readXml, valueOf, type XmlReader } from "./xml.ts";
import type { Zip } from "./zip.ts";

type Known = {
  readonly links: ReadonlyMap<string, Relation>;
  readonly headings: ReadonlyMap<string, number>;
  readonly lists: (list: string, level: number) => ListLevel | undefined;
  readonly comments: ReadonlyMap<string, string>;
};

/** A Word document: its text with headings, lists, tables, links, comments; then its notes, its header and its footer. */
export async function readDocx(zip: Zip, main: string): Promise<Contents> {
  const links = await relationsOf(zip, main);
  const part = (type: string): string => targetOf(links, type) ?? "";
  const known: Known = {
    links,
    headings: await stylesOf(zip, part("styles")),
    lists: await listsOf(zip, part("numbering")),
    comments: await notesOf(zip, part("comments"), "comment"),
  };
  const written = new Manuscript();
  await readXml(zip.part(main), bodyReader(written, known));
  for (const [element, type] of [
    ["footnote", "footnotes"],
    ["endnote", "endnotes"],
  ] as const) {
    for (const [id, text] of await notesOf(zip, part(type), element)) {
      written.paragraph();
      written.exact(`[^${noteName(element, id)}]: ${text}`);
    }
  }
  for (const type of ["header", "footer"] as const) {
    // A document has one for each section; what they say alike is told once.
    const texts = new Set<string>();
    for (const relation of links.values()) {
      if (relation.type !== type || relation.outside) continue;
      const margin = new Manuscript();
      await readXml(zip.part(relation.target), bodyReader(margin, known));
      texts.add(margin.finish());
    }
    texts.delete("");
    if (texts.size === 0) continue;
    written.mark(`page ${type}`);
    for (const text of texts) {
      written.paragraph();
      written.exact(text);
    }
  }
  return { text: written.finish() };
}

// What was deleted while changes were tracked; and what stands in for a drawing where that cannot be shown: the same again.
const LEFT_OUT = new Set(["del", "moveFrom", "Fallback", "instrText", "delText"]);

function bodyReader(written: Manuscript, known: Known): XmlReader {
  let leftOut = 0;
  let inText = false;
  const paragraphs: Paragraph[] = [];
  const counters = new Map<string, number[]>();
  const linkTargets: (string | undefined)[] = [];

  const open: Record<string, (attributes: Attributes) => void> = {
    p: () => {
      written.paragraph();
      paragraphs.push({ begun: false });
    },
    pStyle: (attributes) => set("style", attributes),
    numId: (attributes) => set("list", attributes),
    ilvl: (attributes) => set("level", attributes),
    outlineLvl: (attributes) => set("outline", attributes),
    t: () => {
      inText = true;
    },
    tab: () => say("\t"),
    ptab: () => say("\t"),
    br: () => written.lineBreak(),
    cr: () => written.lineBreak(),
    noBreakHyphen: () => say("-"),
    hyperlink: (attributes) => {
      const relation = known.links.get(prefixedValueOf(attributes, "id") ?? "");
      linkTargets.push(relation?.outside ? relation.target : undefined);
      if (relation?.outside) say("[");
    },
    footnoteReference: (attributes) => say(`[^${noteName("footnote", valueOf(attributes, "id") ?? "")}]`),
    endnoteReference: (attributes) => say(`[^${noteName("endnote", valueOf(attributes, "id") ?? "")}]`),
    commentReference: (attributes) => {
      const comment = known.comments.get(valueOf(attributes, "id") ?? "");
      if (comment !== undefined && comment !== "") say(` [comment: ${oneLine(comment)}]`);
    },
    docPr: (attributes) => {
      const seen = valueOf(attributes, "descr") ?? "";
      if (seen.trim() !== "") say(`[picture: ${oneLine(seen)}]`);
    },
    tbl: () => written.tableStart(),
  };
  const close: Record<string, () => void> = {
    p: () => {
      paragraphs.pop();
      written.paragraph();
    },
    t: () => {
      inText = false;
    },
    hyperlink: () => {
      const target = linkTargets.pop();
      if (target !== undefined) written.linkEnd(target);
    },
    tc: () => written.cellEnd(),
    tr: () => written.rowEnd(),
    tbl: () => written.tableEnd(),
  };
  return {
    open: (name, attributes) => {
      if (LEFT_OUT.has(name)) leftOut += 1;
      else if (leftOut === 0 && Object.hasOwn(open, name)) open[name]?.(attributes);
    },
    close: (name) => {
      if (LEFT_OUT.has(name)) leftOut -= 1;
      else if (leftOut === 0 && Object.hasOwn(close, name)) close[name]?.();
    },
    text: (text) => {
      if (inText && leftOut === 0) say(text);
    },
    enough: () => written.full,
  };

  function set(field: "style" | "list" | "level" | "outline", attributes: Attributes): void {
    const paragraph = paragraphs.at(-1);
    const value = valueOf(attributes, "val");
    if (paragraph && value !== undefined && !paragraph.begun) paragraph[field] = value;
  }

  function say(words: string): void {
    begin();
    written.exact(words);
  }

  /** What a paragraph is stands before its first words. */
  function begin(): void {
    const paragraph = paragraphs.at(-1);
    if (!paragraph || paragraph.begun) return;
    paragraph.begun = true;
    const heading = headingOf(paragraph, known.headings);
    if (heading !== undefined) written.heading(heading);
    else if (paragraph.list !== undefined && paragraph.list !== "0")
      listItem(paragraph.list, Number(paragraph.level ?? 0));
  }

  function listItem(list: string, level: number): void {
    const kind = known.lists(list, level);
    if (kind?.ordered !== true) return written.item(level);
    const counts = counters.get(list) ?? [];
    counters.set(list, counts.slice(0, level + 1));
    const number = (counts[level] ?? kind.start - 1) + 1;
    counters.get(list)![level] = number; // set in the line before
    written.item(level, number);
  }
}

type Paragraph = { begun: boolean; style?: string; list?: string; level?: string; outline?: string };

function headingOf(paragraph: Paragraph, headings: ReadonlyMap<string, number>): number | undefined {
  if (paragraph.outline !== undefined) {
    const level = Number(paragraph.outline) + 1;
    return level <= 9 ? level : undefined; // 9 stands for body text
  }
  return paragraph.style === undefined ? undefined : headings.get(paragraph.style);
}

/** Texts of the notes or comments of a part, in one line each, by their ids. */
async function notesOf(
  zip: Zip,
  part: string,
  element: "footnote" | "endnote" | "comment",
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  let words: string[] | undefined;
  let id = "";
  let inText = false;
  await readXml(zip.part(part), {
    open: (name, attributes) => {
      if (name === element) {
        id = valueOf(attributes, "id") ?? "";
        const author = valueOf(attributes, "author");
        // Those with a type are the lines that separate notes.
        words =
          valueOf(attributes, "type") === undefined ? [author === undefined ? "" : `${author}: `] : undefined;
      } else if (name === "t") inText = true;
      else if (name === "p") words?.push(" ");
    },
    close: (name) => {
      if (name === "t") inText = false;
      if (name !== element || words === undefined) return;
      found.set(id, words.join("").replaceAll(/\s+/g, " ").trim());
      words = undefined;
    },
    text: (text) => {
      if (inText) words?.push(text);
    },
  });
  return found;
}

function noteName(element: "footnote" | "endnote", id: string): string {
  return element === "footnote" ? id : `e${id}`;
}
