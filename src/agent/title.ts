import type { ContentBlock } from "../core/blocks.ts";
import { firstWords } from "./words.ts";

// As DeerFlow has it: at most six words and 60 characters.
const WORDS = 6;
const CHARACTERS = 60;

/**
 * A few words for what a thread is about, from the first that was said in it; "" where nothing was. No model is asked: in a
 * chat there is one thread, and its title is only a help to tell it from the one before.
 */
export function titleOf(content: readonly ContentBlock[]): string {
  const said = content
    .map((block) => (block.type === "text" ? block.text : (block.caption ?? block.filename ?? "")))
    // Lines in brackets are frames of ours; in a group the agent itself is named first.
    .flatMap((text) =>
      text
        .split("\n")
        .map((line) => line.replace(/^(?:\s*@\w+[,:]?(?=\s|$))+/, "").trim())
        .filter((line) => line !== "" && !/^[[>]/.test(line)),
    );
  const title = firstWords(said[0] ?? "", WORDS);
  return title.length <= CHARACTERS
    ? title
    : `${title
        .slice(0, CHARACTERS - 2)
        .toWellFormed()
        .trimEnd()} …`;
}
