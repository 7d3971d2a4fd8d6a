/** Puts a word in the place of everything that looks like a bot's token, wherever it comes from. */
export function withoutTokens(words: string): string {
  return words.replaceAll(/\d+(?::|%3A)[\w-]{30,}/gi, "<token>");
}
