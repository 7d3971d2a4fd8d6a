import type { Contents } from "./contents.ts";
import { Manuscript } from "./manuscript.ts";
import { type Attributes, readXml, valueOf } from "./xml.ts";
import type { Zip } from "./zip.ts";

/** A cell or row may say that it stands a million times. */
const MOST_REPEATS = 100;

/** A text, a spreadsheet or a presentation of the OpenDocument kind. */
export async function readOdf(zip: Zip): Promise<Contents> {
  const written = new Manuscript();
  const spoken = { any: false };
  await readXml(zip.part("content.xml"), contentReader(written, spoken));
  return { text: spoken.any ? written.finish() : "" };
}

/** Whether its parts are encrypted: they have names and are noise. */
export async function isEncryptedOdf(zip: Zip): Promise<boolean> {
  let encrypted = false;
  await readXml(zip.part("META-INF/manifest.xml"), {
    open: (name) => {
      if (name === "encryption-data") encrypted = true;
    },
  });
  return encrypted;
}

// Changes that were taken back, styles and scripts are no text.
const LEFT_OUT = new Set(["tracked-changes", "automatic-styles", "scripts", "forms", "font-face-decls"]);

function contentReader(written: Manuscript, spoken: { any: boolean }) {
  let leftOut = 0;
  let slide = 0;
  let [inParagraph, inSheets] = [0, false];
  /** How deep the paragraphs around a note or comment are: it stands in the middle of one. */
  const around: number[] = [];
  const lists: { item: boolean }[] = [];
  const links: string[] = [];
  /** Of a spreadsheet: rows stand on lines and not in a Markdown table. */
  let row: string[] | undefined;
  let cell: { words: string[]; repeats: number } | undefined;

  const say = (words: string): void => {
    if (words.trim() !== "") spoken.any = true;
    if (cell) cell.words.push(words);
    else written.exact(words);
  };
  const open = (name: string, attributes: Attributes): void => {
    switch (name) {
      case "spreadsheet":
        inSheets = true;
        return;
      case "h":
        inParagraph += 1;
        return written.heading(Number(valueOf(attributes, "outline-level") ?? 1));
      case "p":
        inParagraph += 1;
        if (cell || inParagraph > 1 || around.length > 0) return say(" ");
        if (lists.at(-1)?.item) {
          lists.at(-1)!.item = false; // there is one: asked just before
          return written.item(lists.length - 1);
        }
        return written.paragraph();
      case "list":
        lists.push({ item: false });
        return;
      case "list-item":
        if (lists.length > 0) lists.at(-1)!.item = true; // as long as it is not empty
        return;
      case "s":
        return say(" ".repeat(Math.min(Number(valueOf(attributes, "c") ?? 1) || 1, MOST_REPEATS)));
      case "tab":
        return say("\t");
      case "line-break":
        return cell ? say(" ") : written.lineBreak();
      case "a": {
        const address = valueOf(attributes, "href") ?? "";
        links.push(/^(https?|mailto):/i.test(address) ? address : "");
        if (links.at(-1) !== "") say("[");
        return;
      }
      case "note":
      case "annotation":
        say(name === "note" ? " [note:" : " [comment:");
        around.push(inParagraph);
        inParagraph = 0; // who wrote it and when are told outside of its paragraphs
        return;
      case "table":
        if (inSheets) written.mark(`sheet ${valueOf(attributes, "name") ?? ""}`);
        else written.tableStart();
        return;
      case "table-row":
        if (inSheets) row = [];
        return;
      case "table-cell":
      case "covered-table-cell":
        if (!inSheets) return;
        cell = { words: [], repeats: Number(valueOf(attributes, "number-columns-repeated") ?? 1) || 1 };
        return;
      case "page":
        slide += 1;
        return written.mark(`slide ${slide}`);
      case "notes":
        return written.mark(`notes of slide ${slide}`);
    }
  };
  const close = (name: string): void => {
    switch (name) {
      case "h":
      case "p":
        inParagraph -= 1;
        if (!cell && inParagraph === 0 && around.length === 0) written.paragraph();
        return;
      case "list":
        lists.pop();
        return;
      case "a":
        if (links.at(-1) !== "") {
          if (cell) say(`](${links.at(-1)})`);
          else written.linkEnd(links.at(-1) ?? "");
        }
        links.pop();
        return;
      case "note":
      case "annotation":
        inParagraph = around.pop() ?? 0;
        return say("]");
      case "table":
        if (!inSheets) written.tableEnd();
        return;
      case "table-row":
        if (!inSheets) return written.rowEnd();
        while (row?.at(-1) === "") row.pop();
        if (row && row.length > 0) written.line(row.join("\t"));
        row = undefined;
        return;
      case "table-cell":
      case "covered-table-cell": {
        if (!inSheets) return written.cellEnd();
        const text = cell?.words.join("").replaceAll(/\s+/g, " ").trim() ?? "";
        for (let n = 0; n < Math.min(cell?.repeats ?? 1, MOST_REPEATS); n += 1) row?.push(text);
        cell = undefined;
        return;
      }
    }
  };
  return {
    open: (name: string, attributes: Attributes): void => {
      if (LEFT_OUT.has(name)) leftOut += 1;
      else if (leftOut === 0) open(name, attributes);
    },
    close: (name: string): void => {
      if (LEFT_OUT.has(name)) leftOut -= 1;
      else if (leftOut === 0) close(name);
    },
    text: (text: string): void => {
      if (leftOut === 0 && inParagraph > 0) say(cell ? text : text.replaceAll(/\s+/g, " "));
    },
    enough: () => written.full,
  };
}
