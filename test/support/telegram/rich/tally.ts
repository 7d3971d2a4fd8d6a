import { badRequest } from "../refusal.ts";

// Bot API "Rich Message Limits".
const CHARACTERS = 32_768;
const BLOCKS = 500;
const DEPTH = 16;
const MEDIA = 50;
const COLUMNS = 20;

/** Counts what a rich message has, and holds Telegram's five limits. */
export class Tally {
  #characters = 0;
  #blocks = 0;
  #media = 0;

  /** Of text that is shown, code points; also of formulas and of what stands for an emoji. */
  text(text: string): void {
    if (/\p{Surrogate}/u.test(text)) throw badRequest("strings must be encoded in UTF-8");
    this.#characters += Array.from(text).length;
  }

  /** A block, a list item or a table row. */
  block(): void {
    this.#blocks += 1;
  }

  media(): void {
    this.#media += 1;
  }

  columns(count: number): void {
    if (count > COLUMNS) throw badRequest("RICH_MESSAGE_TABLE_COLS_TOO_MANY");
  }

  /** `level` is 1 for what stands in nothing: blocks in blocks, and formatting in both, go deeper. */
  depth(level: number): void {
    if (level > DEPTH) throw badRequest("RICH_MESSAGE_DEPTH_INVALID");
  }

  /** @throws Refusal when all together is too much, or nothing. */
  check(): void {
    if (this.#characters > CHARACTERS) throw badRequest("RICH_MESSAGE_TEXT_TOO_LONG");
    if (this.#blocks > BLOCKS) throw badRequest("RICH_MESSAGE_BLOCKS_TOO_MANY");
    if (this.#media > MEDIA) throw badRequest("RICH_MESSAGE_MEDIA_TOO_MANY");
    if (this.#characters === 0 && this.#media === 0) throw badRequest("RICH_MESSAGE_CONTENT_REQUIRED");
  }
}
