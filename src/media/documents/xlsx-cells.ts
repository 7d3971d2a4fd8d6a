import { readXml, valueOf } from "./xml.ts";
import type { Zip } from "./zip.ts";

/** How a number is shown, as far as that changes what it says. */
export type CellFormat = "plain" | "date" | "time" | "date and time" | "percent";

export type Cell = {
  readonly type: string;
  readonly style: number;
  readonly value: string;
  readonly formula: string;
};

const DAY_MS = 86_400_000;
const SECONDS = 86_400;

/** What a cell says, in one line; "" where it is empty. */
export function cellText(
  { type, style, value, formula }: Cell,
  book: {
    readonly shared: readonly string[];
    readonly formats: readonly CellFormat[];
    readonly from1904: boolean;
  },
): string {
  if (value === "") return formula === "" ? "" : `=${oneLine(formula)}`; // nobody has worked it out
  switch (type) {
    case "s":
      return oneLine(book.shared[Number(value)] ?? "");
    case "b":
      return value === "1" ? "TRUE" : "FALSE";
    case "n":
      return numberText(Number(value), value, book.formats[style] ?? "plain", book.from1904);
    default:
      return oneLine(value); // inlineStr, str, d (ISO 8601), e (an error)
  }
}

function numberText(number: number, raw: string, format: CellFormat, from1904: boolean): string {
  if (!Number.isFinite(number)) return oneLine(raw);
  if (format === "plain") return exact(number);
  if (format === "percent") return `${exact(number * 100)}%`;
  return dateText(number, format, from1904) ?? exact(number);
}

/** 15 digits are what Excel keeps; more are the noise of doubles: 0.30000000000000004. */
function exact(value: number): string {
  return String(Number(value.toPrecision(15)));
}

/** Days since the end of 1899 as ISO 8601 without a zone. 1900 was a leap year to Lotus, and so it is to Excel. */
function dateText(days: number, format: CellFormat, from1904: boolean): string | undefined {
  if (days < 0 || days > 2_958_466) return undefined; // the year 9999
  const epoch = from1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, days < 60 ? 31 : 30);
  const seconds = Math.round(days * SECONDS);
  const iso = new Date(epoch + (seconds / SECONDS) * DAY_MS).toISOString();
  const time = iso.slice(11, 19).replace(/:00$/, "");
  if (format === "time" || days < 1) return time;
  return format === "date" && seconds % SECONDS === 0 ? iso.slice(0, 10) : `${iso.slice(0, 10)} ${time}`;
}

/** The formats of a workbook by the number that cells name them with. */
export async function formatsOf(zip: Zip, part: string): Promise<readonly CellFormat[]> {
  const own = new Map<number, CellFormat>();
  const formats: CellFormat[] = [];
  let inCells = false;
  await readXml(zip.part(part), {
    open: (name, attributes) => {
      if (name === "numFmt")
        own.set(Number(valueOf(attributes, "numFmtId")), formatOf(valueOf(attributes, "formatCode") ?? ""));
      else if (name === "cellXfs") inCells = true;
      else if (name === "xf" && inCells) {
        const id = Number(valueOf(attributes, "numFmtId") ?? 0);
        formats.push(own.get(id) ?? builtIn(id));
      }
    },
    close: (name) => {
      if (name === "cellXfs") inCells = false;
    },
  });
  return formats;
}

// ECMA-376 part 1, 18.8.30: formats without a code of their own; 27–36 and 50–58 are dates in East Asian ones.
function builtIn(id: number): CellFormat {
  if (id === 9 || id === 10) return "percent";
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 36) || (id >= 50 && id <= 58)) return "date";
  if ((id >= 18 && id <= 21) || (id >= 45 && id <= 47)) return "time";
  return id === 22 ? "date and time" : "plain";
}

function formatOf(code: string): CellFormat {
  // Words in quotes, escaped letters, colours and currencies in brackets are not fields.
  const fields = code.replaceAll(/"[^"]*"|\\.|_.|\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, "").toLowerCase();
  const date = /[yd]|mmm/.test(fields);
  const time = /[hs]/.test(fields);
  if (date && time) return "date and time";
  if (date) return "date";
  if (time) return "time";
  return fields.includes("%") ? "percent" : "plain";
}

function oneLine(text: string): string {
  return text.replaceAll(/[\t\r\n]+/g, " ").trim();
}
