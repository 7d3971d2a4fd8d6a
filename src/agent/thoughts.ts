const OPEN = "<think>";
const CLOSE = "</think>";

/**
 * A text without the thoughts that it begins with. Of a text that still grows nothing is given while it may be one, or
 * the beginning of their mark.
 */
export function withoutThoughts(text: string, grows = false): string {
  const begun = text.trimStart();
  if (grows && begun !== "" && OPEN.startsWith(begun)) return "";
  if (!begun.startsWith(OPEN)) return text;
  const end = begun.indexOf(CLOSE);
  return end < 0 ? "" : begun.slice(end + CLOSE.length).trimStart();
}
