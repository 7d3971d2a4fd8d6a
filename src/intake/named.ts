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
const words = new Intl.Segmenter("und", { granularity: "word" });
const { compare } = new Intl.Collator("und", { usage: "search", sensitivity: "base" });

/** Whether one of the names stands in a text as whole words, whatever its case and accents. */
export function isNamed(text: string, names: readonly string[]): boolean {
  const said = wordsOf(text);
  return names
    .map(wordsOf)
    .some(
      (name) =>
        name.length > 0 &&
        said.some((_word, at) => name.every((word, n) => compare(word, said[at + n] ?? "") === 0)),
    );
}

function wordsOf(text: string): readonly string[] {
  // Marks between letters go first: Unicode takes "perch's" and "perch.it" for one word.
  const plain = text.replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, " ");
  return Array.from(words.segment(plain), ({ segment }) => segment).filter(
    (segment) => segment.trim() !== "",
  );
}
