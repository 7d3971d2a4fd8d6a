/**
 * An answer of which it is known what it says: every word and every line of code is there once. `ordered` are words in
 * the order in which they are read; `loose` stand where an order is nobody's promise: cells, and captions within blocks.
 */
export type Spoken = {
  readonly markdown: string;
  readonly ordered: readonly string[];
  readonly loose: readonly string[];
  readonly code: readonly string[];
};

/** Ends an ordered word, and a loose one; nothing else has a digit before it. */
export const ORDERED = "z";
const LOOSE = "q";

const BASES = [
  "word",
  "Naïve",
  "日本語",
  "مرحبا",
  "שלום",
  "👨‍👩‍👧‍👦",
  "🇩🇪",
  "👍🏽",
  "snake_case_",
  "e\u0301",
  "ไทย",
  "long".repeat(20),
  "🦊".repeat(12),
];
/** Broken and hostile syntax that says nothing and must do nothing. */
const JUNK = [
  "**",
  "*",
  "_",
  "__",
  "~~",
  "`",
  "``",
  "[",
  "](",
  ")",
  "]",
  "!",
  "<b>",
  "</div>",
  "<!--",
  "-->",
  "&amp;",
  "&#0;",
  "\\",
  "\\*",
  "\\`",
  "$",
  "$$",
  "<script>",
  "[^9]",
  "http://",
  "***",
  ">",
  "#",
  "\u202e",
  "\u200f",
];
const CODE = [
  "  indented = true",
  "x = `a` + **b** * _c_",
  "![no](chart.png) [l](u)",
  "<b>&amp; \\* $x$",
  "CODE70503***6304",
  "# no title",
  "> no quote",
  "| no | table |",
  "日本語 = 'ñ' 👩‍🚀",
  "        deep(er)",
  "- no list",
  "~~~",
];

export function spokenAnswer(next: () => number): Spoken {
  const below = (count: number): number => Math.floor(next() * count);
  const pick = <T>(of: readonly T[]): T => of[below(of.length)] as T; // within the length
  const ordered: string[] = [];
  const loose: string[] = [];
  const code: string[] = [];
  const notes: string[] = [];

  const word = (): string => {
    const said = `${pick(BASES)}${ordered.length}${ORDERED}`;
    ordered.push(said);
    return said;
  };
  const looseWord = (): string => {
    const said = `${pick(BASES)}${loose.length}${LOOSE}`;
    loose.push(said);
    return said;
  };
  const codeWord = (): string => {
    const said = `code${ordered.length}${ORDERED}`;
    ordered.push(said);
    return `\`${pick(["", "*a* ", "_ ", "[x](y) "])}${said}\``;
  };
  const some = (most: number, make: () => string, between: string): string =>
    Array.from({ length: 1 + below(most) }, make).join(between);
  const inline = (depth: number): string => {
    const inner = (): string => (depth > 1 ? word() : some(2, () => inline(depth + 1), " "));
    const made = [
      () => some(4, word, " "),
      () => some(3, word, pick([" ", ". ", ", ", "! ", " – "])),
      () => `${word()} ${pick(JUNK)} ${word()}`,
      () => `**${inner()}**`,
      () => `*${inner()}*`,
      () => `***${inner()}***`,
      () => `~~${inner()}~~`,
      () => codeWord(),
      () =>
        `[${inner()}](${pick(["https://example.org/a_(b)?x=1&y=2", "javascript:alert", "./a.md", "mailto:a@b.de"])})`,
    ];
    return (depth === 0 ? `${word()} ` : "") + pick(made)();
  };
  const line = (): string => some(2, () => inline(0), " ");
  const fence = (): string => {
    const sign = pick(["```", "~~~~", "`````"]);
    const lines = Array.from({ length: 1 + below(12) }, () => pick(CODE)).map((text) => {
      const said = `${text} line${code.length}`;
      code.push(said);
      return said;
    });
    return `${sign}${pick(["", "ts", "c++ x=1", "x".repeat(300)])}\n${lines.join("\n")}\n${sign}`;
  };
  const table = (): string => {
    const columns = 1 + below(4);
    const row = (): string =>
      `| ${Array.from({ length: columns }, () => (below(3) === 0 ? `**${looseWord()}**` : looseWord())).join(" | ")} |`;
    const rule = `|${Array.from({ length: columns }, () => pick([":--", "--:", ":-:", "---"])).join("|")}|`;
    return [row(), rule, some(8, row, "\n")].join("\n");
  };
  const indent = (text: string, by: string): string => text.replaceAll("\n", `\n${by}`);
  const block = (depth: number): string => {
    const inner = (): string => (depth > 1 ? line() : some(2, () => block(depth + 1), "\n\n"));
    const made = [
      () => some(3, line, "\n"),
      () => some(6, line, " "),
      () => `${"#".repeat(1 + below(6))} ${line()}`,
      fence,
      () => `> ${indent(inner(), "> ")}`,
      () =>
        some(
          4,
          () => `- ${indent(pick([inner, inner, () => `[ ] ${line()}`, () => `[x] ${line()}`])(), "  ")}`,
          "\n",
        ),
      () => some(3, () => `1. ${indent(inner(), "   ")}`, "\n\n"),
      table,
      () => `${word()}\n\n---\n\n${word()}`,
      () => `$$\n${word()}\n$$`,
      () => `<div>\n${word()}\n</div>`,
      () =>
        depth === 0
          ? `![${word()} ${word()}](chart.png)`
          : `${word()} ![${looseWord()}](outputs/chart.png) ${word()}`,
      () => `${word()} ![${looseWord()}](missing.png)`,
      () => {
        notes.push(`n${notes.length}`);
        return `${word()}[^n${notes.length - 1}] ${word()}`;
      },
    ];
    return pick(made)();
  };
  const body = some(6, () => block(0), "\n\n");
  const list = notes.map((name) => `[^${name}]: ${word()} ${word()}`);
  return { markdown: [body, ...list].join("\n\n"), ordered, loose, code };
}
