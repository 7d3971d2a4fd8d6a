import type { ContentBlock } from "../core/blocks.ts";
import type { MessageEvent } from "../core/events.ts";
import type { FileBlobs } from "../store/blobs.ts";

/** What people say aloud, by the labels that channels give it; music and films call nobody. */
const SPOKEN: ReadonlySet<string> = new Set(["voice note", "video note"]);

/** Whether a message holds words of its sender that can only be heard. */
export function isSpoken({ content, forward }: MessageEvent): boolean {
  return (
    !forward && content.some((part) => part.type === "unfetched" && SPOKEN.has(part.declared.label ?? ""))
  );
}

/** Whether one of the names is called in what the sender has written: neither in others' words nor in code. */
export function isCalledBy(
  { content, forward }: Pick<MessageEvent, "content" | "forward">,
  names: readonly string[],
): boolean {
  if (forward || names.length === 0) return false;
  return content.some((part) => part.type === "text" && isNamed(part.text.replaceAll(NOT_SAID, " "), names));
}

/** Markdown's code, up to the end of the text where a fence is never closed, and lines that are quoted. */
const NOT_SAID = /(?<!`)(`{3,})[^]*?(?:\1|(?![^]))|(?<!`)(`+)(?!`)[^\n]*?(?<!`)\2(?!`)|^[ \t]*>.*/gm;

/** Whether one of the names is called in what was heard in a medium. */
export async function isCalledIn(
  blocks: readonly ContentBlock[],
  names: readonly string[],
  blobs: Pick<FileBlobs, "read">,
): Promise<boolean> {
  for (const block of blocks) {
    if (block.type === "text" || block.extract?.as !== "transcript") continue;
    const { blob } = block.extract.whole ?? block.extract;
    if (isNamed(new TextDecoder().decode(await blobs.read(blob)), names)) return true;
  }
  return false;
}

// The root locale, for nobody says in which language is spoken. Letters that differ in case or accent alone are equal.
const { compare } = new Intl.Collator("und", { usage: "search", sensitivity: "base" });
/** Scripts that put no space between words, or none between a name and what is hung on it. */
const RUN_TOGETHER =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/**
 * Whether one of the names stands in a text as whole words, whatever its case and accents; one in a script that runs
 * words together may stand anywhere. Not by Intl.Segmenter, whose time grows with the square of the text.
 */
export function isNamed(text: string, names: readonly string[]): boolean {
  const said = wordsOf(text);
  return names
    .map(wordsOf)
    .some(
      (name) =>
        name.length > 0 && said.some((_word, at) => name.every((word, n) => isIn(said[at + n] ?? "", word))),
    );
}

function isIn(said: string, word: string): boolean {
  return RUN_TOGETHER.test(word) ? said.includes(word) : compare(word, said) === 0;
}

function wordsOf(text: string): readonly string[] {
  // What stands between letters parts them: "perch's" and "perch.it" say the name.
  return text
    .normalize("NFC")
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => /[\p{L}\p{N}]/u.test(word));
}
