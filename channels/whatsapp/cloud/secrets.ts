/**
 * What Meta says of a failed call, fit for a log: without tokens, phone numbers and what it quotes, which may be a part of
 * the message; at most 200 characters.
 */
export function withoutSecrets(words: string): string {
  return words
    .replaceAll(/\bEA[A-Za-z0-9]{20,}/g, "<token>")
    .replaceAll(/"[^"]*"|(?<!\w)'[^']*'/g, "“…”")
    .replaceAll(/\+?\d[\d ().-]{6,}\d/g, "<number>")
    .replaceAll(/\s+/g, " ")
    .slice(0, 200)
    .trim();
}
