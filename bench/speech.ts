/** How every answer of the model ends, and no beginning of one. */
export const LAST_WORDS = "as it strikes.";

export const ANSWER = `A kingfisher **corrects for the bend of light** before it dives:

- it judges the angle from its perch,
- it turns its head so that the fish falls on the *second* fovea,
- and it closes a clear lid ${LAST_WORDS}`;

const WORDS = "A kingfisher **corrects** for the bend of light, which it learns by *missing*.".split(" ");

/** An answer of so many words. */
export function answerOfWords(count: number): string {
  const last = LAST_WORDS.split(" ");
  const first = Array.from({ length: count - last.length }, (_, n) => WORDS[n % WORDS.length]);
  return [...first, ...last].join(" ");
}
