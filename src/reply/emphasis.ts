// CommonMark tells where an emphasis begins and ends by the blanks and punctuation beside its signs. Texts without blanks
// between words would show the signs of `**注意：**请看`; beside their letters, and for their punctuation, the rule is
// left out, as the extension "CJK-friendly emphasis" does.

const CJK = String.raw`[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}\u3000-\u303f\uff00-\uffef]`;
const MARK = String.raw`[\p{P}\p{S}]`;

const BEFORE_END = new RegExp(String.raw`(?!\*)${MARK}(?=\*+${CJK})|(?=${CJK})${MARK}(?=\*+[^\s*])`, "gu");
const BEGINS_WITH_CJK = new RegExp(String.raw`^\*+(?=${CJK})${MARK}`, "u");
const ENDS_WITH_CJK = new RegExp(`${CJK}$`, "u");
/** Stars between digits multiply, or stand in a code. */
const BETWEEN_DIGITS = /(?<=\d)\*+(?=\d)/g;
const MATH = /\$(?![\s$])[^\\$`]*[^\\$`\s]\$(?!\d)/g;

/** Whether stars open an emphasis here although punctuation follows them and a letter stands before. */
export function opensBeside(source: string, before: string): boolean {
  return source.startsWith("*") && (ENDS_WITH_CJK.test(before) || BEGINS_WITH_CJK.test(source));
}

/** Whether they are no signs at all. */
export function multiplies(source: string, before: string): boolean {
  return /\d$/.test(before) && /^\*+\d/.test(source);
}

/**
 * What is searched for the end of an emphasis: the stars in `$a*b$` open and close nothing, and punctuation that hides
 * an end is a letter. Keeps the length.
 */
export function maskForEmphasis(source: string): string {
  const masked = source.includes("$") ? source.replaceAll(MATH, asLetters) : source;
  if (!masked.includes("*")) return masked;
  return masked.replaceAll(BETWEEN_DIGITS, asLetters).replaceAll(BEFORE_END, asLetters);
}

function asLetters(hidden: string): string {
  return "a".repeat(hidden.length);
}
