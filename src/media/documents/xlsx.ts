import { oneLine } from "../../core/words.ts";
import type { Contents } from "./contents.ts";
import { Manuscript } from "./manuscript.ts";
import { type Relation, relationsOf, targetOf } from "./relations.ts";
import { type CellFormat, cellText, formatsOf } from "./xlsx-cells.ts";
import { prefixedValueOf, readXml, valueOf } from "./xml.ts";
import type { Zip } from "./zip.ts";

const LONGEST_SHARED_CHARACTERS = 64_000_000;

type Sheet = { readonly name: string; readonly part: string; readonly hidden: boolean };
type Book = {
  readonly shared: readonly string[];
  readonly formats: readonly CellFormat[];
  readonly from1904: boolean;
};

/** An Excel workbook: a mark for each sheet, rows as lines, cells with tabs between, values as they are shown. */
export async function readXlsx(zip: Zip, main: string): Promise<Contents> {
  const relations = await relationsOf(zip, main);
  const { sheets, from1904 } = await sheetsOf(zip, main, relations);
  const book: Book = {
    shared: await sharedOf(zip, targetOf(relations, "sharedStrings") ?? ""),
    formats: await formatsOf(zip, targetOf(relations, "styles") ?? ""),
    from1904,
  };
  const written = new Manuscript();
  let filled = false;
  for (const { name, part, hidden } of sheets) {
    if (written.full) break;
    written.mark(`sheet ${name}${hidden ? ", hidden" : ""}`);
    if (await readSheet(zip, part, book, written)) filled = true;
    for (const comment of await commentsOf(zip, part)) {
      written.line(comment);
      filled = true;
    }
  }
  return { text: filled ? written.finish() : "" };
}

async function sheetsOf(
  zip: Zip,
  main: string,
  relations: ReadonlyMap<string, Relation>,
): Promise<{ readonly sheets: readonly Sheet[]; readonly from1904: boolean }> {
  const sheets: Sheet[] = [];
  let from1904 = false;
  await readXml(zip.part(main), {
    open: (element, attributes) => {
      if (element === "workbookPr") from1904 = /^(1|true)$/.test(valueOf(attributes, "date1904") ?? "");
      if (element !== "sheet") return;
      const relation = relations.get(prefixedValueOf(attributes, "id") ?? "");
      if (!relation || relation.outside) return;
      sheets.push({
        name: valueOf(attributes, "name") ?? "",
        part: relation.target,
        hidden: (valueOf(attributes, "state") ?? "visible") !== "visible",
      });
    },
  });
  return { sheets, from1904 };
}

/** Texts that cells share. Phonetic readings beside them are no part of them. */
async function sharedOf(zip: Zip, part: string): Promise<readonly string[]> {
  const found: string[] = [];
  let words: string[] = [];
  let characters = 0;
  let [inText, phonetic] = [false, false];
  await readXml(zip.part(part), {
    open: (name) => {
      if (name === "si") words = [];
      else if (name === "rPh") phonetic = true;
      else if (name === "t") inText = true;
    },
    close: (name) => {
      if (name === "si") found.push(words.join(""));
      else if (name === "rPh") phonetic = false;
      else if (name === "t") inText = false;
    },
    text: (text) => {
      if (!inText || phonetic) return;
      words.push(text);
      characters += text.length;
    },
    enough: () => characters > LONGEST_SHARED_CHARACTERS,
  });
  return found;
}

/** Gives whether there was anything in it. */
async function readSheet(zip: Zip, part: string, book: Book, written: Manuscript): Promise<boolean> {
  let row: string[] = [];
  let column = 0;
  let cell: { type: string; style: number; value: string; formula: string } | undefined;
  let collecting: "value" | "formula" | undefined;
  let filled = false;
  await readXml(zip.part(part), {
    open: (name, attributes) => {
      if (name === "row") {
        row = [];
        column = 0;
      } else if (name === "c") {
        column = columnOf(valueOf(attributes, "r")) ?? column;
        cell = {
          type: valueOf(attributes, "t") ?? "n",
          style: Number(valueOf(attributes, "s") ?? 0),
          value: "",
          formula: "",
        };
      } else if (name === "v" || name === "t") collecting = "value";
      else if (name === "f") collecting = "formula";
      else if (name === "rPh") collecting = undefined;
    },
    close: (name) => {
      if (name === "v" || name === "t" || name === "f") collecting = undefined;
      else if (name === "c" && cell) {
        const text = cellText(cell, book);
        cell = undefined;
        if (text !== "") {
          while (row.length < column) row.push("");
          row[column] = text;
        }
        column += 1;
      } else if (name === "row" && row.length > 0) {
        written.line(row.join("\t"));
        filled = true;
      }
    },
    text: (text) => {
      if (cell && collecting) cell[collecting] += text;
    },
    enough: () => written.full,
  });
  return filled;
}

/** The column of "BC12", counted from 0; undefined where that is none, or none that a sheet has. */
function columnOf(reference: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}(?=\d)/.exec(reference ?? "")?.[0];
  if (letters === undefined) return undefined;
  let number = 0;
  for (const letter of letters) number = number * 26 + letter.charCodeAt(0) - 64;
  return number <= 16_384 ? number - 1 : undefined; // XFD is the last
}

async function commentsOf(zip: Zip, sheet: string): Promise<readonly string[]> {
  const part = targetOf(await relationsOf(zip, sheet), "comments");
  const found: string[] = [];
  if (part === undefined) return found;
  let [at, words, inText] = ["", "", false];
  await readXml(zip.part(part), {
    open: (name, attributes) => {
      if (name === "comment") [at, words] = [valueOf(attributes, "ref") ?? "", ""];
      else if (name === "t") inText = true;
    },
    close: (name) => {
      if (name === "t") inText = false;
      else if (name === "comment" && words.trim() !== "")
        found.push(`[comment on ${oneLine(at)}: ${oneLine(words)}]`);
    },
    text: (text) => {
      if (inText) words += text;
    },
  });
  return found;
}
