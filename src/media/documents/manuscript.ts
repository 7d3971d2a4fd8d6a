/** More text than anybody reads, and little enough to hold: what stands behind it is left out, and that is said. */
const LONGEST_CHARACTERS = 16_000_000;
const LONGEST_LINK = 300;
/** Stands at the end of what was cut off there. */
export const GOES_ON = "[the document goes on; the rest was not read]";

/**
 * Text as it is written down from a document's structure: paragraphs, headings, list items, tables, each reader in its
 * own order. Bounded: once `full`, all else is dropped.
 */
export class Manuscript {
  full = false;
  readonly #parts: string[] = [];
  #length = 0;
  /** Of the block that is being written. */
  #prefix = "";
  #line: string[] = [];
  #lineLength = 0;
  #spaced = true;
  #blank = true;
  #tight = false;
  #lastWasItem = false;
  #table: { cells: string[]; cell: string[]; rows: number; depth: number } | undefined;

  /** A line of ours, where the document's own parts begin: "[page 3]". */
  mark(words: string): void {
    this.#end();
    this.#put(`[${words.replaceAll(/[[\]\n]/g, " ")}]`, "\n\n");
  }

  /** What follows is a block of its own. */
  paragraph(): void {
    if (this.#blank && this.#prefix !== "") return; // a paragraph in a list item is the item
    this.#end();
  }

  heading(level: number): void {
    this.#end();
    if (!this.#table) this.#prefix = `${"#".repeat(Math.min(Math.max(level, 1), 6))} `;
  }

  /** `depth` counts from 0; `number` where the list is an ordered one. */
  item(depth: number, number?: number | string): void {
    this.#end();
    if (this.#table) return;
    this.#prefix = `${"  ".repeat(Math.min(depth, 12))}${number === undefined ? "-" : `${number}.`} `;
    this.#tight = true;
  }

  /** A line end within a block. */
  lineBreak(): void {
    this.#add(this.#table ? " " : "\n");
    this.#spaced = true;
  }

  /** Words in which runs of white space are one space, as in HTML. */
  text(words: string): void {
    const collapsed = words.replaceAll(/\s+/g, " ");
    this.exact(this.#spaced && collapsed.startsWith(" ") ? collapsed.slice(1) : collapsed);
  }

  /** Words with their white space. */
  exact(words: string): void {
    if (words === "") return;
    this.#add(this.#table ? words.replaceAll(/[\n\t]/g, " ") : words);
    if (this.#blank && words.trim() !== "") this.#blank = false;
    this.#spaced = /\s$/.test(words.slice(-1));
  }

  /** The end of a link, whose words follow a "[". Addresses are told as text; nobody goes there. */
  linkEnd(address: string): void {
    const told = address.replaceAll(/\s/g, "");
    this.exact(`](${told.length > LONGEST_LINK ? `${told.slice(0, LONGEST_LINK)}…` : told})`);
  }

  /** A table in a cell of another is told as words of that cell. */
  tableStart(): void {
    this.#end();
    if (this.#table) this.#table.depth += 1;
    else this.#table = { cells: [], cell: [], rows: 0, depth: 1 };
  }

  cellEnd(): void {
    if (this.#table === undefined) return;
    this.#end();
    if (this.#table.depth > 1) return;
    this.#table.cells.push(this.#table.cell.join(" "));
    this.#table.cell = [];
  }

  rowEnd(): void {
    const table = this.#table;
    if (table === undefined || table.depth > 1) return;
    if (this.#lineLength > 0 || table.cell.length > 0) this.cellEnd();
    const { cells } = table;
    table.cells = [];
    if (cells.every((cell) => cell === "")) return;
    this.#put(
      `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`,
      table.rows === 0 ? "\n\n" : "\n",
    );
    if (table.rows === 0) this.#put(`|${" --- |".repeat(cells.length)}`, "\n");
    table.rows += 1;
  }

  tableEnd(): void {
    if (this.#table === undefined) return;
    this.#table.depth -= 1;
    if (this.#table.depth > 0) return;
    this.#table.depth = 1;
    this.rowEnd();
    this.#table = undefined;
  }

  /** A line by itself, directly under the one before: a row of a sheet. */
  line(words: string): void {
    this.#end();
    if (words !== "") this.#put(words, "\n");
  }

  finish(): string {
    while (this.#table) this.tableEnd();
    this.#end();
    if (this.full) this.#parts.push(`\n\n${GOES_ON}`);
    return this.#parts.join("");
  }

  #add(words: string): void {
    if (this.full) return;
    const room = LONGEST_CHARACTERS - this.#length - this.#lineLength;
    this.#line.push(words.length > room ? words.slice(0, room) : words);
    this.#lineLength += words.length;
    if (words.length <= room) return;
    this.#blank = false;
    this.#end();
    this.full = true;
  }

  #end(): void {
    const words = this.#line.join("").trimEnd();
    const [prefix, tight] = [this.#prefix, this.#tight];
    this.#line = [];
    this.#lineLength = 0;
    this.#prefix = "";
    this.#tight = false;
    this.#blank = true;
    this.#spaced = true;
    if (words.trim() === "") return;
    if (this.#table) {
      this.#table.cell.push(words.trim());
      return;
    }
    this.#put(prefix + words, tight && this.#lastWasItem ? "\n" : "\n\n");
    this.#lastWasItem = tight;
  }

  #put(block: string, gap: string): void {
    if (this.full) return;
    this.#lastWasItem = false;
    if (this.#parts.length > 0) this.#parts.push(gap);
    this.#parts.push(block);
    this.#length += block.length + gap.length;
    if (this.#length > LONGEST_CHARACTERS) this.full = true;
  }
}
