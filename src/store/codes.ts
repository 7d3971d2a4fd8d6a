import { randomInt } from "node:crypto";

/** People read codes aloud and type them: nothing that is taken for another. */
const LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const LENGTH = 8;

/** Eight random letters and digits, 40 bits: for what lasts hours, and whose guesses are counted or bound to a person. */
export function randomCode(): string {
  return Array.from({ length: LENGTH }, () => LETTERS.charAt(randomInt(LETTERS.length))).join("");
}

/** Whether it can be such a code. What comes back as one may be any text; for one with a NUL PostgreSQL does not even look. */
export function isCode(text: string): boolean {
  return text.length === LENGTH && Array.from(text).every((letter) => LETTERS.includes(letter));
}
