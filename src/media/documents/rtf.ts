import { decodeAs, labelOf } from "./encodings.ts";
import { Manuscript } from "./manuscript.ts";

// Groups whose words are no text of the document. Those that begin with \* are left out all the same.
const LEFT_OUT = new Set(
  (
    "fonttbl colortbl stylesheet info pict object objdata fldinst filetbl listtable listoverridetable revtbl rsidtbl " +
    "generator themedata colorschememapping datastore latentstyles xmlnstbl nonshppict bkmkstart bkmkend"
  ).split(" "),
);
const CHARACTERS: Readonly<Record<string, string>> = {
  tab: "\t",
  emdash: "—",
  endash: "–",
  lquote: "‘",
  rquote: "’",
  ldblquote: "“",
  rdblquote: "”",
  bullet: "•",
  emspace: " ",
  enspace: " ",
};
const MOST_GROUPS = 1_000;
// Control word with its number, control symbol, bracket, hex character, or a run of text.
const TOKEN = /\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([\da-f]{2})|\\([^a-z])|([{}])|([^\\{}]+)|\\/giy;

// The charsets of fonts (RTF 1.9.1, \\fcharset) as code pages.
const CODE_PAGES: Readonly<Record<number, number>> = {
  128: 932,
  129: 949,
  134: 936,
  136: 950,
  161: 1253,
  162: 1254,
  163: 1258,
  177: 1255,
  178: 1256,
  186: 1257,
  204: 1251,
  222: 874,
  238: 1250,
};

type Group = {
  readonly leftOut: boolean;
  /** Characters that stand in for a Unicode one. */
  readonly skip: number;
  readonly font?: number;
  readonly note?: true;
};

/** The text of an RTF document: paragraphs, tables, characters in its code page. What it embeds is left out. */
export function rtfText(bytes: Uint8Array): string {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  const written = new Manuscript();
  const groups: Group[] = [];
  let group: Group = { leftOut: false, skip: 1 };
  let codePage = "windows-1252";
  const fonts = new Map<number, string>();
  let named: number | undefined;
  /** Characters that stand in for the Unicode one before them. */
  let standIns = 0;
  let pending: number[] = [];
  let inTable = false;
  let tooDeep = 0;

  /** Bytes are gathered, since a character may have two. */
  const flush = (): void => {
    if (pending.length === 0) return;
    const own = group.font === undefined ? undefined : fonts.get(group.font);
    written.exact(decodeAs(Uint8Array.from(pending), own ?? codePage));
    pending = [];
  };
  const say = (words: string): void => {
    flush();
    if (!group.leftOut) written.exact(words);
  };

  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(source); found !== null && !written.full; found = TOKEN.exec(source)) {
    const [, word, number, hex, symbol, bracket, text] = found;
    if (bracket === "{") {
      flush();
      if (groups.length < MOST_GROUPS) groups.push(group);
      else tooDeep += 1;
      standIns = 0;
    } else if (bracket === "}") {
      flush();
      if (tooDeep > 0) tooDeep -= 1;
      else {
        const outer = groups.pop() ?? group;
        if (group.note && !outer.note) written.exact("]");
        group = outer;
      }
      standIns = 0;
    } else if (word !== undefined) control(word, number === undefined ? undefined : Number(number));
    else if (hex !== undefined) byte(Number.parseInt(hex, 16));
    else if (symbol !== undefined) sign(symbol);
    else if (text !== undefined)
      for (const letter of text) if (letter !== "\r" && letter !== "\n") byte(letter.charCodeAt(0));
  }
  flush();
  return written.finish();

  function byte(code: number): void {
    if (standIns > 0) standIns -= 1;
    else if (!group.leftOut) pending.push(code);
  }

  function sign(symbol: string): void {
    if (symbol === "*") group = { ...group, leftOut: true };
    else if (symbol === "~") say("\u00a0");
    else if (symbol === "_") say("-");
    else if (symbol === "\n" || symbol === "\r") paragraph();
    else if (/[\\{}]/.test(symbol)) byte(symbol.charCodeAt(0));
  }

  function control(word: string, number: number | undefined): void {
    if (word === "u" && number !== undefined) {
      say(String.fromCharCode(number < 0 ? number + 65_536 : number));
      standIns = group.skip;
      return;
    }
    if (word === "bin") {
      TOKEN.lastIndex += Math.max(number ?? 0, 0);
      return;
    }
    if (word === "uc") group = { ...group, skip: Math.min(Math.max(number ?? 1, 0), 16) };
    else if (word === "ansicpg") codePage = encodingOf(number ?? 1252);
    else if (word === "f" && group.leftOut) named = number; // in the table of fonts
    else if (word === "fcharset") {
      const page = CODE_PAGES[number ?? 0];
      if (named !== undefined && page !== undefined) fonts.set(named, encodingOf(page));
    } else if (LEFT_OUT.has(word)) group = { ...group, leftOut: true };
    if (group.leftOut) return;
    flush();
    const letter = Object.hasOwn(CHARACTERS, word) ? CHARACTERS[word] : undefined;
    if (letter !== undefined) return written.exact(letter);
    switch (word) {
      case "f":
        group = { ...group, ...(number === undefined ? {} : { font: number }) };
        return;
      case "par":
      case "sect":
      case "page":
        return paragraph();
      case "line":
        return written.lineBreak();
      case "trowd":
        if (!inTable) written.tableStart();
        inTable = true;
        return;
      case "cell":
        return written.cellEnd();
      case "row":
        return written.rowEnd();
      case "pard":
        // A row says \intbl behind it; a paragraph behind the table does not.
        if (
          inTable &&
          !/^(\\[a-z]+-?\d* ?|\s){0,12}\\intbl/.test(source.slice(TOKEN.lastIndex, TOKEN.lastIndex + 200))
        ) {
          inTable = false;
          written.tableEnd();
        }
        return;
      case "footnote":
        group = { ...group, note: true };
        return written.exact(" [note: ");
    }
  }

  function paragraph(): void {
    flush();
    if (!group.leftOut) written.paragraph();
  }
}

function encodingOf(codePage: number): string {
  const names: Readonly<Record<number, string>> = {
    932: "shift_jis",
    936: "gbk",
    949: "euc-kr",
    950: "big5",
    866: "ibm866",
    65001: "utf-8",
  };
  return labelOf(names[codePage] ?? `windows-${codePage}`) ?? "windows-1252";
}
